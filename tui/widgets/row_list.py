"""A list of rows that are drawn from values, and only while they are seen: hits, documents, commands, the log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from core import record

T = TypeVar("T")

_KEPT = 512
"""Drawn rows that are kept: some screens of them."""


class RowList(ScrollView, Generic[T], can_focus=True, inherit_bindings=False):
    """Rows of one or two lines, of a list as long as it may be. Its keys are the screen's; the row in force has `▌` in
    its first column, free for that; a marked one has `*`.

    Subclasses say how an item looks (`row`) and what stays the same of it when the list changes (`key`).
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--row", "row-list--current", "row-list--cursor"}
    ALLOW_SELECT = False

    highlighted: var[int | None] = var[int | None](None, init=False)
    """The index of the row in force."""
    wide: var[bool] = var(False, init=False)

    @record()
    class Moved(Message):
        """Another row is in force; `item` None when the list is empty."""

        item: object | None

    @record()
    class Chosen(Message):
        """A row was clicked."""

        item: object

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.items: tuple[T, ...] = ()
        self.marked: set[str] = set()
        self._drawn_width = 0
        self._contents: LRUCache[int, Content] = LRUCache(_KEPT)
        self._told: tuple[object, object] = (None, None)
        self._fitted = Size(0, 0)

    def row(self, item: T, width: int) -> Content:
        """How an item looks in `width` cells; its first cell is blank."""
        raise NotImplementedError

    def key(self, item: T) -> str:
        """What stays the same of an item in the next list."""
        raise NotImplementedError

    def row_at(self, index: int, width: int) -> Content:
        """How the row of an index looks."""
        return self.row(self.items[index], width)

    def rests(self, index: int) -> bool:
        """Whether the cursor may be on a row; it goes over headings."""
        return True

    @property
    def row_height(self) -> int:
        """Lines of a row, the same for all."""
        return 1

    @property
    def current(self) -> T | None:
        index = self.highlighted
        return self.items[index] if index is not None and index < len(self.items) else None

    def show(self, items: Sequence[T], *, keep: str | None = None) -> None:
        """Show other items with the row of key `keep` in force where it stood in the view.

        Where it is gone that is the next of the rows below it which are still there, else the next above it, else the
        first. Nothing is drawn if what is seen looks the same.
        """
        before, above = self._seen(), (self.highlighted or 0) - self._top
        old, self.items = self.items, tuple(items)
        if self.marked:
            self.marked &= {self.key(item) for item in self.items}
        self._contents.clear()
        found = None if keep is None else self.place_of(keep)
        if keep is not None and found is None:
            found = self._beside(old, keep)
        self._fit_bar()
        self.highlighted = self._resting(found or 0, 1) if self.items else None
        self._scroll_to_row(0 if found is None else found - above)
        if self._seen() != before:
            self.refresh()
        self._tell()

    def _beside(self, old: Sequence[T], gone: str) -> int | None:
        """The row that was next to one that is gone among the old ones."""
        keys = [self.key(item) for item in old]
        if gone not in keys:
            return None
        at = keys.index(gone)
        places = {self.key(item): index for index, item in enumerate(self.items) if self.rests(index)}
        return next((places[key] for key in (*keys[at:], *reversed(keys[:at])) if key in places), None)

    def place_of(self, key: str) -> int | None:
        """The index of the row of a key."""
        return next((index for index, item in enumerate(self.items) if self.key(item) == key), None)

    def mark(self) -> None:
        """Mark the row in force, or take its mark away, and go one row down."""
        item = self.current
        if item is not None:
            self.marked ^= {self.key(item)}
            self._refresh_row(self.highlighted)
            self.move("down")

    @property
    def marked_items(self) -> list[T]:
        """The marked rows from top to bottom."""
        return [item for item in self.items if self.key(item) in self.marked]

    def move(self, where: str) -> None:
        """One of up, down, page_up, page_down, first, last; the ends do not wrap around."""
        if not self.items:
            return
        at, last = self.highlighted or 0, len(self.items) - 1
        page = max(self._rows_in_view - 1, 1)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -at, "last": last - at}
        step = steps.get(where, 0)
        self.highlighted = self._resting(min(max(at + step, 0), last), step)

    def _resting(self, index: int, towards: int) -> int:
        """The row at or next to `index` that the cursor may be on, looked for in the direction of the move first."""
        after, before = range(index, len(self.items)), range(index, -1, -1)
        rows = chain(after, before) if towards >= 0 else chain(before, after)
        return next(filter(self.rests, rows), index)

    def watch_highlighted(self, before: int | None, highlighted: int | None) -> None:
        self._refresh_row(before)
        self._refresh_row(highlighted)
        if highlighted is not None:
            self._bring_into_view()
            self._tell()

    def _tell(self) -> None:
        item = self.current
        told = (None if item is None else self.key(item), item)
        if told != self._told:
            self._told = told
            self.post_message(self.Moved(item))

    # Scrolling

    @property
    def _top(self) -> int:
        """The index of the first row in view."""
        return round(self.scroll_y) // self.row_height

    @property
    def _rows_in_view(self) -> int:
        return max(self.scrollable_content_region.height // self.row_height, 1)

    def _fit_bar(self) -> None:
        size = Size(self.scrollable_content_region.width, len(self.items) * self.row_height)
        if size != self.virtual_size:
            self.virtual_size = size

    def _scroll_to_row(self, top: int) -> None:
        """Have row `top` first in view, as far as there are rows below and the row in force stays in view."""
        top = min(top, len(self.items) - self._rows_in_view)
        self.scroll_to(y=max(top, 0) * self.row_height, animate=False, force=True, immediate=True)
        self._bring_into_view()

    def _bring_into_view(self) -> None:
        at = self.highlighted
        if at is None:
            return
        first = at
        while first > 0 and not self.rests(first - 1):
            first -= 1
        top = min(max(self._top, at - self._rows_in_view + 1), first)
        if top != self._top:
            self.scroll_to(y=top * self.row_height, animate=False, force=True, immediate=True)

    # Drawing

    def _content(self, index: int) -> Content:
        width = self.scrollable_content_region.width or 80
        if width != self._drawn_width:  # it may come and go before a resize is told
            self._contents.clear()
            self._drawn_width = width
        content = self._contents.get(index)
        if content is None:
            content = self._contents[index] = self.row_at(index, width)
        return content

    def _seen(self) -> list[tuple[bool, bool, str, object]]:
        """What is in view, for comparison."""
        rows = range(self._top, min(self._top + self._rows_in_view + 1, len(self.items)))
        contents = ((index, self._content(index)) for index in rows)
        return [(index == self.highlighted, self._is_marked(index), c.plain, c.spans) for index, c in contents]

    def _is_marked(self, index: int) -> bool:
        return bool(self.marked) and self.rests(index) and self.key(self.items[index]) in self.marked

    def _refresh_row(self, index: int | None) -> None:
        if index is not None:
            self.refresh_lines(index * self.row_height, self.row_height)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index, line = divmod(round(self.scroll_y) + y, self.row_height)
        if width <= 0 or index >= len(self.items):
            return Strip.blank(max(width, 0), self.get_visual_style("row-list--row").rich_style)
        current, marked = index == self.highlighted, self._is_marked(index)
        style = self.get_visual_style("row-list--row", *(["row-list--current"] if current else []))
        strips = Visual.to_strips(self, self._content(index), width, self.row_height, style)
        if line >= len(strips):
            return Strip.blank(width, style.rich_style)
        strip = strips[line].extend_cell_length(width, style.rich_style).simplify()
        first = next(iter(strip), None)
        if not (current or marked) or first is None or strip.cell_length < 2:
            return strip
        colour = self.get_component_rich_style("row-list--cursor", partial=True).color
        cursor = (first.style or RichStyle()) + RichStyle(color=colour, bold=True, reverse=marked and current)
        return Strip([Segment("*" if marked else "▌", cursor), *strip.crop(1)], strip.cell_length)

    # Changes from outside

    def watch_wide(self) -> None:
        self._fit_anew()

    def on_resize(self) -> None:
        if self.scrollable_content_region.size != self._fitted:
            self._fit_anew()

    def _fit_anew(self) -> None:
        self._fitted = self.scrollable_content_region.size
        self._contents.clear()
        self._fit_bar()
        self._scroll_to_row(self._top)
        self.refresh()

    def notify_style_update(self) -> None:
        self._contents.clear()
        super().notify_style_update()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = (round(self.scroll_y) + event.y) // self.row_height
        if index < len(self.items) and self.rests(index):
            self.highlighted = index
            self.post_message(self.Chosen(self.items[index]))
