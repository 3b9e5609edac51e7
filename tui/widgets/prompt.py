"""A line at the foot of a screen that asks for one thing: a line number, words to find."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui.widgets.query_input import QueryInput


class Prompt(Horizontal):
    """Hidden until it asks. What is typed into it stays its own until it is answered with enter."""

    @dataclass
    class Answered(Message):
        """Enter was pressed; `purpose` is what `ask` was given."""

        purpose: str
        text: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._purpose = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="prompt-label", markup=False)
        yield QueryInput("", id="prompt-input")

    @property
    def is_open(self) -> bool:
        return bool(self.display) and self._purpose != ""

    def ask(self, purpose: str, label: str, value: str = "") -> None:
        """Show the line and give it the focus."""
        self._purpose = purpose
        self.query_one("#prompt-label", Static).update(f"{label} ")
        field = self.query_one(QueryInput)
        field.value = value
        field.cursor_position = len(value)
        self.display = True
        field.focus()

    def close(self) -> None:
        self._purpose = ""
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self._purpose, event.value))
