"""A screen with a list that a text field narrows, and guidance in its place where there is nothing to list."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.content import Content
from textual.widgets import Static

from tui.screens.base import DeckScreen
from tui.widgets.query_input import QueryInput
from tui.widgets.row_list import RowList

T = TypeVar("T")


class ListedScreen(DeckScreen, Generic[T]):
    """Subclasses compose a `RowList` within `#panes`, a `QueryInput#query` and a `Static#empty`."""

    def __init__(self) -> None:
        super().__init__()
        self._guidance = Content()

    @property
    def rows(self) -> RowList[T]:
        return self.query_one(RowList)

    @property
    def input(self) -> QueryInput:
        return self.query_one("#query", QueryInput)

    @property
    def has_rows(self) -> bool:
        return self.rows.current is not None and bool(self.query_one("#panes").display)

    def show_empty(self, content: Content | None) -> None:
        """Put guidance in the place of the list and what it shows, or take it away."""
        empty, panes = self.query_one("#empty", Static), self.query_one("#panes")
        if content is not None:
            if not content.is_same(self._guidance):
                self._guidance = content
                empty.update(content, layout=False)
            if not self.typing:
                self.set_focus(None)
        elif not panes.display and self.focused is None:
            self.call_after_refresh(self.rows.focus)
        self.set_class(content is not None, "-empty")
        empty.display = content is not None
        panes.display = content is None
        self.hint()
