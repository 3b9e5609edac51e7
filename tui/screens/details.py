"""One thing told in full, and a question with yes and no: two small windows over a screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.widgets.line import Line


class Details(ModalScreen[bool], inherit_bindings=False):
    """A text that scrolls. Esc or q give False; Enter or y True, which means `yes` where that says what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss(False)", show=False),
        Binding("enter,y", "dismiss(True)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,ctrl+d,space", "scroll(10)", show=False),
        Binding("pageup,ctrl+u", "scroll(-10)", show=False),
    ]

    def __init__(self, title: str, text: Content, *, yes: str = "") -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical(id="details"):
            yield Line(id="details-title", fill="─")
            with VerticalScroll(id="details-scroll", can_focus=False):
                yield Static(self._text, id="details-text", markup=False)
            yield Line(id="details-keys", fill="─")

    def on_mount(self) -> None:
        self.query_one("#details-title", Line).set(f"─ {self._title} ", "─")
        keys = f"─ ↵ {self._yes} · esc no " if self._yes else "─ esc closes "
        self.query_one("#details-keys", Line).set(keys, " ↑ ↓ more ─")

    def action_scroll(self, by: int) -> None:
        self.query_one("#details-scroll", VerticalScroll).scroll_relative(y=by, animate=False)
