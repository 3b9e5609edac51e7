"""What is offered once an excerpt was saved: to open it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from core import Written
from tui.text import shown
from tui.widgets.line import Line


class Saved(ModalScreen[str], inherit_bindings=False):
    """Answers with "files", "editor", "cite" or ""."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss('files')", show=False),
        Binding("e,f6", "dismiss('editor')", show=False),
        Binding("y,ctrl+y", "dismiss('cite')", show=False),
        Binding("escape,q", "dismiss('')", show=False, priority=True),
    ]

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
        self.query_one("#saved-title", Line).set(f"─ saved {count} ", " esc goes on ─")
        rows: list[Content] = [Content.styled(shown(str(self._written.citation)), "bold $primary"), Content()]
        if self._written.warning:
            rows += [Content.styled(shown(self._written.warning), "$warning"), Content()]
        for key, says in (("↵", "show it in files"), ("e", "open it in $EDITOR"), ("y", "copy its citation")):
            rows.append(Content.assemble((f"{key}  ", "bold $primary"), says))
        self.query_one("#saved-text", Static).update(Content("\n").join(rows))
