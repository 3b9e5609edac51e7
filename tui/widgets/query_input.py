"""The text field that searches and filters are typed into."""

from __future__ import annotations

from textual.widgets import Input

TEXT_LIMIT = 2000


class QueryInput(Input):
    """A one-line field without blinking, validation or suggestions; pasted line ends become blanks."""

    ALLOW_SELECT = False

    def __init__(self, placeholder: str, *, value: str = "", id: str | None = None) -> None:
        super().__init__(
            value=value,
            placeholder=placeholder,
            id=id,
            compact=True,
            select_on_focus=False,
            max_length=TEXT_LIMIT,
        )
        self.cursor_blink = False
