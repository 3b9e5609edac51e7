"""The first line: where one is, and whether the memory is live."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message

from tui.bindings import Keymap
from tui.state import DeckState, summary
from tui.widgets.line import Line

TABS = ("search", "sessions", "status", "files")
ALL, KEYS, ONE = "all", "keys", "one"
ROOMY = 120


class TopBar(Line):
    """Screens on the left, the one in force in brackets; the state of the memory on the right."""

    class TabClicked(Message):
        """A screen's name was clicked."""

        def __init__(self, screen: str) -> None:
            super().__init__()
            self.screen = screen

    def __init__(self, screen: str, keymap: Keymap) -> None:
        super().__init__(id="top")
        self._screen = screen
        self._keymap = keymap
        self._state = DeckState()
        self._tab_at: list[str] = []

    def show(self, state: DeckState) -> None:
        self._state = state
        self._tell()

    def on_resize(self) -> None:
        self._tell()

    def on_click(self, event: events.Click) -> None:
        if event.x < len(self._tab_at) and self._tab_at[event.x]:
            self.post_message(self.TabClicked(self._tab_at[event.x]))

    def _tell(self) -> None:
        roomy = self.size.width >= ROOMY
        parts = [Content.styled(*part) for part in summary(self._state, roomy=roomy)]
        here = self._tabs(ONE)
        while len(parts) > 1 and here.cell_length + 1 + _joined(parts).cell_length > self.size.width:
            del parts[1]
        state = _joined(parts)
        every = (self._tabs(how) for how in (ALL, KEYS))
        tabs = next((tabs for tabs in every if tabs.cell_length <= self.size.width - state.cell_length - 1), None)
        self.set(tabs or self._tabs(ONE), state)

    def _tabs(self, how: str) -> Content:
        """The screens: all by name, the others by their key alone, or only the one in force."""
        parts: list[Content | tuple[str, str]] = []
        self._tab_at = []
        for tab in TABS:
            here = tab == self._screen
            if how == ONE and not here:
                continue
            key = self._keymap.key(f"app.{tab}")
            name = f"{key} {tab.capitalize()}" if here or how == ALL else key
            text = f"[{name}]" if here else f" {name} "
            parts.append((text, "bold $primary" if here else "$text-muted"))
            self._tab_at += [tab] * len(text)
        return Content.assemble(*parts)


def _joined(parts: list[Content]) -> Content:
    return Content("  ").join(parts)
