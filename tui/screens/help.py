"""Help: the keys of a screen, from the table of bindings."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical

from tui.bindings import Keymap, in_note, on_screen
from tui.screens.window import Window, window_bindings
from tui.widgets.line import Line
from tui.widgets.text_pane import LabelRow, TextPane, laid_out

_AREAS = {
    "search": "search", "sessions": "sessions", "files": "files", "status": "status", "first_run": "what is read",
    "browse": "rows and preview", "note": "in the note", "preview": "preview", "deck": "moving", "app": "everywhere",
}  # fmt: skip
_LABEL_CELLS = 16


class Help(Window[None], inherit_bindings=False):
    """Esc, Enter, and the keys that leave and that ask for help close it."""

    BINDINGS = window_bindings(
        "help", dict.fromkeys(("app.back", "app.help", "app.leave", "hit.open"), "dismiss(None)")
    )

    def __init__(self, screen: str, keymap: Keymap, notes: list[str]) -> None:
        super().__init__()
        self._screen = screen
        self._keymap = keymap
        self._notes = notes

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Line(id="help-title", fill="─")
            rows = help_rows(self._screen, self._keymap, self._notes)
            yield TextPane(partial(laid_out, rows, _LABEL_CELLS), id="help-text")

    def on_mount(self) -> None:
        up, down, back = (self.key_of(name) for name in ("list.up", "list.down", "app.back"))
        self.query_one("#help-title", Line).set(f"─ keys · {self._screen} ", f" {up} {down} more · {back} closes ─")

    def action_move(self, where: str) -> None:
        self.query_one(TextPane).move(where)


def help_rows(screen: str, keymap: Keymap, notes: list[str]) -> list[LabelRow]:
    """All bindings that are reachable on a screen, area by area; keys that also work while typing come first."""
    rows: list[LabelRow] = []
    area = ""
    notes_keys = in_note() if screen != "first_run" else ()
    for binding in (*on_screen(screen), *notes_keys):
        if _AREAS[binding.scope] != area:
            area = _AREAS[binding.scope]
            rows += [LabelRow(None, ""), LabelRow(None, area, "bold")]
        keys = keymap.all_shown(binding, typed_last=True)
        rows.append(LabelRow(f"  {keys}", binding.says, label_style="$primary"))
    typing = (
        "While a text field has the focus, letters are text; keys with ^, arrows, tab, ↵, esc and F-keys still work."
    )
    rows += [LabelRow(None, ""), *(LabelRow(None, note, "$text-muted") for note in (typing, *notes))]
    return rows[1:]
