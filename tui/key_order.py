"""Keys in their order: each goes to what the keys before it have opened, however fast they come.

Textual hands every key to the widget that has the focus when it comes. What comes in one piece, over a slow line or
from a macro, would go to the widget of the first: a letter meant for a search would be a key of the screen before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.worker import Worker

LONGEST_SECONDS = 4.0
"""How long keys wait for one whose effect does not end; then all go on, so that one can leave a screen that hangs."""
LOOK_SECONDS = 0.01
_ROUNDS = 3
"""A key, what its widget tells the screen because of it, what gets the focus because of that: each goes up once."""


def pressed(event: Event, bound: Container[str]) -> list[Event]:
    """What was pressed: alt with a letter is escape and the letter, which come in the same bytes, where not `bound`."""
    if not isinstance(event, Key) or not event.key.startswith("alt+") or not event.character:
        return [event]
    if event.key in bound:
        return [Key(event.key, None)]  # a text field takes one with a character for that
    return [Key("escape", "\x1b"), Key(event.character, event.character)]


class KeyOrder:
    """Keys and pastes of an app, given to `pass_on` one at a time: the next when the one before has had its effect.

    A call goes behind the key through the queues of its widget, of what that is in, and of the app. Messages stay in
    order in each, so the call comes back after the key and after all that the key has set off there.
    """

    def __init__(self, app: App[Any], pass_on: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._pass_on = pass_on
        self._waiting: deque[Event] = deque()
        self._workers: list[Worker[Any]] = []
        self._number = 0
        self._late: asyncio.TimerHandle | None = None

    @staticmethod
    def is_typed(event: Event) -> bool:
        """Whether it comes from the keyboard, and not from a widget that had it."""
        return isinstance(event, Key | Paste) and not event.is_forwarded

    async def come(self, event: Event) -> None:
        """Pass a key on, now or in its turn."""
        self._waiting.append(event)
        if self._late is None:
            await self._next(self._number)

    def settle(self) -> None:
        """Let no key pass until what has begun by now is there."""
        self._follow(self._path())

    def hold(self, worker: Worker[Any]) -> None:
        """What a worker does belongs to the key that has started it: no other passes before it is done."""
        self._workers.append(worker)
        if self._late is None:
            self.settle()

    async def _next(self, number: int, most: int | None = 1) -> None:
        """The effect of a key has ended: pass on the next, or as many as there are when it took too long."""
        if number != self._number:
            return
        if most is not None and self._workers:
            self._workers = [worker for worker in self._workers if not worker.is_finished]
            if self._workers:
                look_again = partial(self._app.call_later, self._next, number)
                asyncio.get_running_loop().call_later(LOOK_SECONDS, look_again)
            else:
                self.settle()
            return
        self._workers.clear()
        if self._late is not None:
            self._late.cancel()
            self._late = None
        path = self._path()
        passing = [self._waiting.popleft() for _ in range(len(self._waiting))[:most]]
        for event in passing:
            try:
                await self._pass_on(event)
            finally:
                self._follow(path)

    def _path(self) -> list[MessagePump]:
        """The queues through which a key goes: from the widget that gets it up to the app."""
        return [*(self._app.focused or self._app.screen).ancestors_with_self]

    def _follow(self, path: Sequence[MessagePump]) -> None:
        self._number += 1
        if self._late is not None:
            self._late.cancel()
        too_late = partial(self._app.call_later, self._next, self._number, None)
        self._late = asyncio.get_running_loop().call_later(LONGEST_SECONDS, too_late)
        self._step(self._number, _ROUNDS, path)

    def _step(self, number: int, left: int, path: Sequence[MessagePump], at: int = 0) -> None:
        """Go on with the next queue of the path that still takes something, or with the next round."""
        if number != self._number:
            return
        for following, pump in enumerate(path[at:], at + 1):
            if pump.call_later(self._step, number, left, path, following):
                return
        then = self._path()
        if left == _ROUNDS or (left > 1 and then[0] is not path[0]):
            self._step(number, left - 1, then)
        else:
            self._app.call_later(self._next, number)
