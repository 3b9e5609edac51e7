"""A line at the foot of a screen that asks for one thing: a line number, words to find."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from core import record
from tui.widgets.query_input import QueryInput


class Prompt(Horizontal):
    """Hidden until it asks. What is typed into it stays its own until it is answered with enter.

    Closed, it gives the focus back to what had it.
    """

    @record()
    class Answered(Message):
        """Enter was pressed; `purpose` is what `ask` was given."""

        purpose: str
        text: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._purpose = ""
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="prompt-label", markup=False)
        yield QueryInput("", id="prompt-input")

    @property
    def is_open(self) -> bool:
        return bool(self.display) and self._purpose != ""

    def ask(self, purpose: str, label: str, value: str = "") -> None:
        """Show the line and give it the focus."""
        if not self.is_open:
            self._before = self.screen.focused
        self._purpose = purpose
        self.query_one("#prompt-label", Static).update(f"{label} ")
        field = self.query_one(QueryInput)
        field.value = value
        field.cursor_position = len(value)
        self.display = True
        # At once: what is typed next must not be taken for keys of the screen.
        self.screen.set_focus(field)

    def close(self) -> None:
        before, self._before = self._before, None
        self._purpose = ""
        self.display = False
        self.screen.set_focus(before if before is not None and before.focusable else None)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self._purpose, event.value))
