"""A view of blocks of rows, such as messages: any number of them, of which only those on the screen are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from core import record
from tui.row_steps import Place, back, last_page, step

R = TypeVar("R")
BLOCKS_KEPT = 256


class BlockView(ScrollView, Generic[R], can_focus=True, inherit_bindings=False):
    """The top row is row `skip` of block `top` (0-based). The scroll offset counts blocks, so no map of rows is needed.

    Subclasses say how many blocks there are (`count`), make the rows of one (`make`), and draw a row (`draw`).
    """

    ALLOW_SELECT = False

    @record()
    class Scrolled(Message):
        """Other rows came into view, or the cursor moved."""

        view: ScrollView

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, BlockView.Scrolled)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._skip = 0
        self._made: LRUCache[int, Sequence[R]] = LRUCache(BLOCKS_KEPT)
        self._drawn: list[tuple[int, int, R]] | None = None
        self._bottom: Place | None = None
        self._fitted = Size(0, 0)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        raise NotImplementedError

    def make(self, index: int) -> Sequence[R]:
        """The rows of a block, at least one."""
        raise NotImplementedError

    def draw(self, index: int, number: int, row: R, *, is_top: bool) -> Strip:
        """Row `number` of a block; it is cut and padded afterwards. `is_top` is the first row of the view."""
        raise NotImplementedError

    # Places

    @property
    def height(self) -> int:
        return self.scrollable_content_region.height

    @property
    def width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def top(self) -> int:
        """The block at the top of the view, 0-based."""
        return min(round(self.scroll_y), max(self.count - 1, 0))

    @property
    def skip(self) -> int:
        """How many rows of the top block are above the view."""
        return self._skip

    def rows_of(self, index: int) -> Sequence[R]:
        made = self._made.get(index)
        if made is None:
            made = self.make(index)
            self._made[index] = made
        return made

    def in_view(self) -> list[tuple[int, int, R]]:
        """(block, number of the row in it, row) from the top of the view down."""
        if self._drawn is None:
            drawn: list[tuple[int, int, R]] = []
            index, skip = self.top, self._skip
            while len(drawn) < self.height and index < self.count:
                drawn += [(index, n, row) for n, row in enumerate(self.rows_of(index)) if n >= skip]
                index, skip = index + 1, 0
            self._drawn = drawn[: self.height]
        return self._drawn

    def place(self, index: int, skip: int = 0) -> None:
        """Put row `skip` of a block on top, or the last page if that is nearer."""
        if self.height:
            index, skip = min((max(index, 0), skip), self._last_place())
        self._drawn = None
        size = Size(self.width, self._last_place()[0] + self.height)
        if size != self.virtual_size:
            self.virtual_size = size
        self._skip = skip
        self.scroll_to(y=index, animate=False, force=True, immediate=True)
        self._skip = min(skip, max(len(self.rows_of(index)) - 1, 0)) if index < self.count else 0
        self._drawn = None
        self.refresh()
        self.post_message(self.Scrolled(self))

    def scroll_rows(self, by: int) -> None:
        """So many rows down, or up where `by` is negative."""
        self.place(*step(self.rows_of, self.count, (self.top, self._skip), by))

    def show_block(self, index: int, *, context: int = 2) -> None:
        """Bring a block into view, whole if there is room: below some rows of context, if it was not there."""
        seen = [number for block, number, _ in self.in_view() if block == index]
        if len(seen) == len(self.rows_of(index)):
            self.refresh()
            self.post_message(self.Scrolled(self))
            return
        rows = len(self.rows_of(index))
        above = max(min(context, self.height - rows), 0)
        self.place(*self.up_from(index, above))

    def forget(self) -> None:
        """Everything has to be made anew."""
        self._made.clear()
        self._drawn = None
        self._bottom = None

    def remake(self, index: int) -> None:
        """The rows of one block are no longer what they were; the place stays."""
        self._made.discard(index)
        self._drawn = None
        self._bottom = None
        self.place(self.top, self._skip)

    def up_from(self, index: int, rows: int) -> Place:
        """The place `rows` above a block's first row."""
        return back(self.rows_of, (index, 0), rows)

    def _last_place(self) -> Place:
        """The place from which the last row is at the bottom of the view."""
        if self._bottom is None and self.count:
            self._bottom = last_page(self.rows_of, self.count, self.height)
        return self._bottom or (0, 0)

    # Drawing, and changes from outside

    def render_line(self, y: int) -> Strip:
        rows, width, base = self.in_view(), self.width, self.visual_style.rich_style
        if y >= len(rows) or width <= 0:
            return Strip.blank(max(width, 0), base)
        index, number, row = rows[y]
        return self.draw(index, number, row, is_top=y == 0).adjust_cell_length(width, base).simplify()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._drawn = None
        if round(old_value) != round(new_value):
            self._skip = 0
            self.post_message(self.Scrolled(self))
        super().watch_scroll_y(old_value, new_value)

    def on_resize(self) -> None:
        size = self.scrollable_content_region.size
        if size != self._fitted:
            is_wider = size.width != self._fitted.width
            self._fitted = size
            top, skip = self.top, self._skip
            self.forget()
            self.place(top, 0 if is_wider else skip)

    def watch_show_vertical_scrollbar(self) -> None:
        # The bar takes a column, and no resize tells.
        self.call_after_refresh(self.on_resize)

    def notify_style_update(self) -> None:
        self._drawn = None
        super().notify_style_update()

    def _style(self, name: str) -> Style:
        return self.get_visual_style(name, partial=True)
