"""Help: the keys of a screen, from the table of bindings."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.bindings import KeyBinding, Keymap, in_note, key_works_typing, on_screen, shown_key
from tui.screens.window import Window, window_bindings
from tui.text import fitted
from tui.widgets.line import Line

_AREAS = {
    "search": "search", "sessions": "sessions", "files": "files", "status": "status", "first_run": "what is read",
    "browse": "rows and preview", "note": "in the note", "preview": "preview", "deck": "moving", "app": "everywhere",
}  # fmt: skip
_KEY_CELLS = 12


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
            with VerticalScroll(id="help-scroll", can_focus=False):
                yield Static(help_content(self._screen, self._keymap, self._notes), id="help-text", markup=False)

    def on_mount(self) -> None:
        self.query_one("#help-title", Line).set(
            f"─ keys · {self._screen} ", f" ↑ ↓ more · {self.key_of('app.back')} closes ─"
        )

    def action_move(self, where: str) -> None:
        move(self.query_one("#help-scroll", VerticalScroll), where)


def move(pane: VerticalScroll, where: str) -> None:
    """Scroll a pane of text: up, down, page_up, page_down, first, last."""
    page = max(pane.size.height - 1, 1)
    rows = {"up": -1, "down": 1, "page_up": -page, "page_down": page}.get(where)
    if rows is not None:
        pane.scroll_relative(y=rows, animate=False)
    else:
        pane.scroll_to(y=0 if where == "first" else pane.max_scroll_y, animate=False)


def help_content(screen: str, keymap: Keymap, notes: list[str]) -> Content:
    """All bindings that are reachable on a screen, area by area; keys that also work while typing come first."""
    rows: list[Content] = []
    area = ""
    notes_keys = in_note() if screen != "first_run" else ()
    for binding in (*on_screen(screen), *notes_keys):
        if _AREAS[binding.scope] != area:
            area = _AREAS[binding.scope]
            rows += [Content(""), Content.styled(area, "bold")]
        keys = fitted(_keys(binding, keymap), _KEY_CELLS)
        rows.append(Content.assemble((f"  {keys}", "$primary"), f"  {binding.says}"))
    rows += [Content(""), Content.styled("While a text field has the focus, letters are text;", "$text-muted")]
    rows.append(Content.styled("keys with ^, arrows, Tab, Enter, Esc and F-keys still work.", "$text-muted"))
    rows += [Content.styled(note, "$text-muted") for note in notes]
    return Content("\n").join(rows[1:])


def _keys(binding: KeyBinding, keymap: Keymap) -> str:
    keys = sorted(keymap.keys[binding.id], key=lambda key: not key_works_typing(key))
    return " ".join(shown_key(key) for key in keys)
