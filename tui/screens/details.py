"""One thing told in full, and a question with yes and no: two small windows over a screen."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tui.screens.window import Window, window_bindings
from tui.widgets.line import Line
from tui.widgets.text_pane import TextPane


class Details(Window[bool], inherit_bindings=False):
    """A text that scrolls. The keys that go back or leave give False; Enter True, which means `yes` where that says
    what it does.
    """

    BINDINGS = window_bindings(
        "details", {"hit.open": "dismiss(True)", "app.back": "dismiss(False)", "app.leave": "dismiss(False)"}
    )

    def __init__(self, title: str, text: Content, *, yes: str = "") -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical(id="details"):
            yield Line(id="details-title", fill="─")
            yield TextPane(self._text, id="details-text")
            yield Line(id="details-keys", fill="─")

    def on_mount(self) -> None:
        back = self.key_of("app.back")
        keys = f"─ {self.key_of('hit.open')} {self._yes} · {back} no " if self._yes else f"─ {back} closes "
        self.query_one("#details-title", Line).set(f"─ {self._title} ", "─")
        self.query_one("#details-keys", Line).set(keys, "─")

    def on_resize(self) -> None:
        """Leave room for the line with the keys, and say in it whether there is more."""
        self.bound("#details-text", beside=4)
        self.call_after_refresh(self._tell_more)

    def _tell_more(self) -> None:
        line = self.query_one("#details-keys", Line)
        line.set(line.left, " ↑ ↓ more ─" if self.query_one(TextPane).has_more else "─")

    def action_move(self, where: str) -> None:
        self.query_one(TextPane).move(where)
