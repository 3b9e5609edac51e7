"""What is offered once an excerpt was saved: to open it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from core import Written
from tui.screens.window import Window, window_bindings
from tui.text import shown, shown_path
from tui.widgets.line import Line


class Saved(Window[str], inherit_bindings=False):
    """Answers with "files", "editor", "cite" or ""."""

    BINDINGS = window_bindings(
        "saved",
        {
            "hit.open": "dismiss('files')",
            "open.editor": "dismiss('editor')",
            "copy.citation": "dismiss('cite')",
            "app.back": "dismiss('')",
            "app.leave": "dismiss('')",
        },
    )

    def __init__(self, written: Written, messages: int) -> None:
        super().__init__()
        self._written = written
        self._messages = messages

    def compose(self) -> ComposeResult:
        with Vertical(id="saved"):
            yield Line(id="saved-title", fill="─")
            yield Static(id="saved-text", markup=False)

    def on_mount(self) -> None:
        count = f"{self._messages} message{'' if self._messages == 1 else 's'}"
        self.query_one("#saved-title", Line).set(f"─ saved {count} ", f" {self.key_of('app.back')} goes on ─")
        rows: list[Content] = [Content.styled(shown_path(str(self._written.citation)), "bold $primary"), Content()]
        if self._written.warning:
            rows += [Content.styled(shown(self._written.warning), "$warning"), Content()]
        offers = {
            "hit.open": "show it in files", "open.editor": "open it in $EDITOR", "copy.citation": "copy its citation",
        }  # fmt: skip
        for name, says in offers.items():
            rows.append(Content.assemble((f"{self.key_of(name)}  ", "bold $primary"), says))
        self.query_one("#saved-text", Static).update(Content("\n").join(rows))
