"""One line of the screen that never needs a new layout: tabs and state, titles, notices, key hints."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.text import cells_of, fitted


class Line(Static):
    """One row of text, a left and a right part; the left gives way when they do not fit."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, fill: str = " ") -> None:
        super().__init__(id=id, markup=False)
        self._fill = fill
        self._left: Content = Content()
        self._right: Content = Content()

    def set(self, left: Content | str, right: Content | str = "") -> None:
        """Show two parts; nothing is written when they are what is shown already."""
        left = Content(left) if isinstance(left, str) else left
        right = Content(right) if isinstance(right, str) else right
        if not (left.is_same(self._left) and right.is_same(self._right)):
            self._left, self._right = left, right
            self._fit()

    @property
    def left(self) -> Content:
        return self._left

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width = self.size.width
        left, right = self._left, self._right
        if right.cell_length + 1 > width:
            right = Content() if left else right.truncate(width, ellipsis=True)
        room = width - right.cell_length
        if left.cell_length > room:
            left = left.truncate(max(room, 0), ellipsis=True)
        gap = max(room - left.cell_length, 0)
        filling = fitted("", gap) if self._fill == " " else self._fill * (gap // max(cells_of(self._fill), 1))
        self.update(Content.assemble(left, (filling, "$secondary"), right), layout=False)
