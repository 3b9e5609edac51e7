"""The last line: the keys that work now, from the table of bindings."""

from __future__ import annotations

from textual.content import Content

from tui.bindings import Keymap, hints
from tui.text import cells_of
from tui.widgets.line import Line

ALWAYS = ("screen", "help", "palette")
"""Labels that stand at the right end and stay when room is short."""


class KeyHints(Line):
    """As many hints as fit; those of every screen at the right end."""

    def __init__(self, screen: str, keymap: Keymap) -> None:
        super().__init__(id="hints")
        self._screen = screen
        self._keymap = keymap
        self._typing = True
        self._rows = True
        self._asking = False

    def show(self, *, typing: bool, rows: bool, asking: bool = False) -> None:
        """Whether letters go into a text field, whether a row is there, and whether a line at the foot asks."""
        self._typing, self._rows, self._asking = typing, rows, asking
        self._tell()

    def on_resize(self) -> None:
        self._tell()

    def _tell(self) -> None:
        rows = hints(self._screen, self._keymap, typing=self._typing, rows=self._rows)
        always = [row for row in rows if row[1] in ALWAYS]
        right = _drawn(always)
        room = self.size.width - right.cell_length - 2
        left: list[tuple[str, str]] = []
        if self._asking:
            rows = [("↵", "go"), (self._keymap.key("app.back", typing=True), "back")]
        for key, label in rows:
            need = cells_of(f"{key} {label}") + 2
            if (key, label) in always or need > room:
                continue
            left.append((key, label))
            room -= need
        self.set(_drawn(left), right)


def _drawn(rows: list[tuple[str, str]]) -> Content:
    return Content("  ").join(
        Content.assemble((key, "bold $primary"), (f" {label}", "$text-muted")) for key, label in rows
    )
