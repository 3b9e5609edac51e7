"""What the windows over the screens share: keys from the table, and nothing of them kept once they are closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.bindings import BY_ID, WINDOWS
from tui.heap import forget_widgets

if TYPE_CHECKING:
    from tui.app import MemdeckApp

Answer = TypeVar("Answer")
TALLEST = 30
"""Rows of text at most that a window shows at once."""

_MOVES = {
    "list.down": "move('down')", "list.up": "move('up')", "list.page_down": "move('page_down')",
    "list.page_up": "move('page_up')", "list.first": "move('first')", "list.last": "move('last')",
}  # fmt: skip


def window_bindings(window: str, actions: Mapping[str, str]) -> list[BindingType]:
    """The keys of a window: `actions` by id, and those that move, which have one meaning everywhere."""
    found: list[BindingType] = []
    for name in WINDOWS[window]:
        row, action = BY_ID[name], actions.get(name) or _MOVES.get(name)
        if action is not None:
            found.append(Binding(row.keys, action, row.says, id=name, show=False, priority=row.priority))
    return found


class Window(ModalScreen[Answer], Generic[Answer], inherit_bindings=False):
    """A window that gives an answer when it is dismissed."""

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close the window with its answer. A second key that came before it had left changes nothing."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    @property
    def deck(self) -> MemdeckApp:
        return cast("MemdeckApp", self.app)

    def key_of(self, name: str) -> str:
        """The first key of an id that works in any window, as people write it."""
        return self.deck.keymap.key(name, typing=True)

    def bound(self, pane: str, *, beside: int) -> None:
        """Let a pane of text be as tall as its text, so far as the terminal has room for it and `beside` more lines."""
        self.query_one(pane).styles.max_height = max(min(self.size.height - beside, TALLEST), 1)

    def on_unmount(self) -> None:
        forget_widgets(self.app)
