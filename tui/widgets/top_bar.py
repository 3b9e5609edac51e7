"""The first line: where one is, and whether the memory is live."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message

from tui.bindings import BY_ID, Keymap
from tui.state import DeckState, summary
from tui.widgets.line import Line

TABS = ("search", "sessions", "status", "files")
ROOMY = 120
_SHORT = 60


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
        state = Content("  ").join(Content.styled(*part) for part in summary(self._state, roomy=roomy))
        self.set(self._tabs(), state)

    def _tabs(self) -> Content:
        parts: list[Content | tuple[str, str]] = []
        self._tab_at = []
        for tab in TABS:
            here = tab == self._screen
            if self.size.width < _SHORT and not here:
                continue
            key = self._keymap.shown(BY_ID[f"app.{tab}"])
            text = f"[{key} {tab.capitalize()}]" if here else f" {key} {tab.capitalize()} "
            parts.append((text, "bold $primary" if here else "$text-muted"))
            self._tab_at += [tab] * len(text)
        return Content.assemble(*parts)
