"""Help: the keys of a screen, from the table of bindings."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.bindings import KeyBinding, Keymap, key_works_typing, on_screen, shown_key
from tui.text import fitted
from tui.widgets.line import Line

_AREAS = {
    "search": "search", "sessions": "sessions", "files": "files", "status": "status", "first_run": "what is read",
    "browse": "rows and preview", "preview": "preview", "deck": "moving", "app": "everywhere",
}  # fmt: skip
_KEY_CELLS = 12


class Help(ModalScreen[None], inherit_bindings=False):
    """Any of Esc, q, ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss(None)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,ctrl+d,space", "scroll(10)", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", show=False),
    ]

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
        self.query_one("#help-title", Line).set(f"─ keys · {self._screen} ", " ↑ ↓ more · esc closes ─")

    def action_scroll(self, by: int) -> None:
        self.query_one("#help-scroll", VerticalScroll).scroll_relative(y=by, animate=False)


def help_content(screen: str, keymap: Keymap, notes: list[str]) -> Content:
    """All bindings that are reachable on a screen, area by area; keys that also work while typing come first."""
    rows: list[Content] = []
    area = ""
    for binding in on_screen(screen):
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
