"""Work that follows typing once it rests, so that a letter costs a letter on a slow line."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

REST_SECONDS = 0.08
"""How long typing rests before a list follows it."""


class TypingRest:
    """Does one thing when the last call of `wait` is a moment ago, or at once on `now`."""

    def __init__(self, owner: Widget, action: Callable[[], object]) -> None:
        self._owner, self._action = owner, action
        self._timer: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        return self._timer is not None

    def wait(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._owner.set_timer(REST_SECONDS, self.now)

    def now(self) -> None:
        """Do it if it is waited for."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            self._action()
