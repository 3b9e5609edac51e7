"""The preview: any part of any file, drawn line by line from a LineSource, with the cited lines marked."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from core import LineSource, Outline, record
from tui.finding import needle_spans
from tui.row_steps import Place, back, last_page, step
from tui.widgets.page import Page as Page
from tui.widgets.page import drawn_line

_KINDS = (
    *("heading", "code", "marker", "bold", "link", "key", "string", "digits", "literal"),
    *("term", "number", "cited", "best", "found", "note"),
)


class Preview(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws only the rows on the screen; the top row is line `top` and, of a wrapped line, its row `skip`.

    The vertical scroll offset counts lines, not rows, so that a wrapped file needs no map of its rows.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"preview--{kind}" for kind in _KINDS}
    ALLOW_SELECT = False

    wrap: var[bool] = var(True)

    @record()
    class Scrolled(Message):
        """Other lines came into view."""

        preview: Preview

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Preview.Scrolled)

    @record()
    class Wanted(Message):
        """Lines are to be drawn that have to be read first, beside the app's loop (`source.line`), then `remake`d."""

        preview: Preview

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Preview.Wanted)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.page: Page | None = None
        self.needle = ""
        self.pointed = 0
        self._offset = 0
        self._selected = (0, 0)
        self._skip = 0
        self._left = 0
        self.wanted: set[int] = set()
        self._rows: LRUCache[int, list[Content]] = LRUCache(512)
        self._drawn: list[tuple[int, bool, Content]] | None = None
        self._bottom: Place | None = None
        self._fitted = Size(0, 0)
        self._kept_top = 0

    # What is shown

    def show(self, page: Page) -> None:
        """Show a document from its cited lines on; close the one shown before.

        The same citation shown again, of a file that changed meanwhile, leaves the place where it is.
        """
        before = self.page
        if before is not None and before.source is page.source and page.outline is None:
            page = replace(page, outline=before.outline)
        if before == page:
            return
        if before is not None and before.source is not page.source:
            before.source.close()
        self.page = page
        self._forget()
        if before is not None and before.place == page.place:
            self._place(self.top_line - 1, self._skip)
        else:
            self.pointed, self._offset, self._selected = 0, 0, (0, 0)
            self.go_to(page.best or page.first or 1)

    def add_outline(self, source: LineSource, outline: Outline) -> None:
        """The outline of the document was read, beside what is shown of it."""
        if self.page is not None and self.page.source is source:
            self.page = replace(self.page, outline=outline)
            self._forget()
            self.refresh()
            self.post_message(self.Scrolled(self))

    def remake(self) -> None:
        """Lines that were wanted have been read."""
        self._drawn = self._bottom = None
        self._place(*self._top)

    def clear(self) -> None:
        if self.page is not None:
            self.page.source.close()
        self.page = None
        self.pointed, self._offset, self._selected = 0, 0, (0, 0)
        self._forget()
        self._place(0, 0)

    def go_to(self, line: int) -> None:
        """Bring a line into the upper part of the view, below some lines of context."""
        page = self.page
        if page is None:
            return
        line = min(max(line, 1), max(page.source.line_count, 1))
        start = page.first if page.first <= line <= page.last else line
        self._place(*self._above(start - 1, min(5, self._height // 4)))
        if line not in self._lines_in_view():
            self._place(*self._above(line - 1, self._height // 3))

    def point_at(self, line: int, offset: int = 0) -> None:
        """Go to a line and mark it with `>`: what someone asked for or found, `offset` bytes into it if that is far.

        Where words are marked, the row comes into view that has them.
        """
        if offset or self._offset or (self.page is not None and self.page.offset):
            self._forget()
        self.pointed, self._offset = min(max(line, 1), self._line_count), offset
        row = self._row_with_needle(self.pointed)
        if row > 0:
            last = step(self._rows_of, self._line_count, self._top, self._height - 1)
            if not self._top <= (self.pointed - 1, row) <= last:
                self._place(*back(self._rows_of, (self.pointed - 1, row), self._height // 3))
        elif self.pointed not in self._first_rows_in_view():
            self.go_to(self.pointed)
        self._drawn = None
        self.refresh()

    @property
    def pointed_at(self) -> tuple[int, int] | None:
        """The line pointed at and how many bytes into it, while it is in view."""
        return (self.pointed, self._offset) if self.pointed in self._lines_in_view() else None

    def _row_with_needle(self, line: int) -> int:
        """The first row of a line that has the words looked for; 0 for none."""
        if not self.needle or not line:
            return 0
        rows = self._rows_of(line - 1)
        return next((n for n, row in enumerate(rows) if needle_spans(row.plain, self.needle)), 0)

    def select(self, first: int, last: int) -> None:
        """Select lines; `last` is the end that moves. (0, 0) selects nothing."""
        count = self._line_count
        self._selected = (min(first, count), min(last, count))
        if last:
            self.point_at(last)
        else:
            self.pointed, self._offset = 0, 0
            self._forget()
            self.refresh()

    @property
    def selection(self) -> tuple[int, int] | None:
        """The first and last line that are selected."""
        first, last = sorted(self._selected)
        return (first, last) if first else None

    def mark_words(self, needle: str) -> None:
        """Mark words wherever they stand; "" takes the marks away."""
        pointed = self.pointed
        if not needle:
            self.pointed, self._offset = 0, 0
        if needle != self.needle or pointed != self.pointed:
            self.needle = needle
            self._forget()
            self.refresh()

    def _above(self, index: int, rows: int) -> tuple[int, int]:
        """The start of a whole line at most `rows` rows above line `index`."""
        above, skip = back(self._rows_of, (index, 0), rows)
        return (above + 1, 0) if skip else (above, 0)

    @property
    def _top(self) -> Place:
        return self.top_line - 1, self._skip

    @property
    def top_line(self) -> int:
        """The first line in view, 1-based."""
        return round(self.scroll_y) + 1

    @property
    def current_line(self) -> int:
        """The line that an editor should open: the one pointed at or the best line while in view, else the first."""
        if self.page is None:
            return 1
        seen = self._lines_in_view()
        return next((line for line in (self.pointed, self.page.best) if line in seen), self.top_line)

    @property
    def percent(self) -> int:
        """How far the last line in view is through the document."""
        if self.page is None or not self.page.source.line_count:
            return 100
        rows = self._page_rows()
        return round(100 * (rows[-1][0] if rows else self.top_line) / self.page.source.line_count)

    # Moving

    def move(self, where: str) -> None:
        """One of up, down, page_up, page_down, first, last, left, right."""
        if not self._line_count:
            return
        page = max(self._height - 1, 1)
        if self.selection is not None and where not in ("left", "right"):
            self._extend({"up": -1, "down": 1, "page_up": -page, "page_down": page}.get(where, 0), where)
            return
        match where:
            case "up":
                self._step(-1)
            case "down":
                self._step(1)
            case "page_up":
                self._step(-page)
            case "page_down":
                self._step(page)
            case "first":
                self._place(0, 0)
            case "last":
                self._place(*self._bottom_place())
            case "left" | "right" if not self.wrap:
                self._left = max(0, self._left + (8 if where == "right" else -8))
                self._drawn = None
                self.refresh()

    def _extend(self, by: int, where: str) -> None:
        anchor, end = self._selected
        end = min(max(end + by, 1), self._line_count) if by else 1 if where == "first" else self._line_count
        self.select(anchor, end)
        self.post_message(self.Scrolled(self))

    def _place(self, index: int, skip: int) -> None:
        """Put row `skip` of line `index` (0-based) on top, or the last page if that is nearer."""
        index, skip = min((index, skip), self._bottom_place())
        self._drawn = None
        self._fit_bar()
        self._skip = skip
        self.scroll_to(y=index, animate=False, force=True, immediate=True)
        self._skip, self._kept_top = skip, index
        self.refresh()
        self.post_message(self.Scrolled(self))

    def _step(self, rows: int) -> None:
        """So many rows down, or up where `rows` is negative."""
        self._place(*step(self._rows_of, self._line_count, self._top, rows))

    def _bottom_place(self) -> Place:
        if self._bottom is None and self._line_count:
            self._bottom = last_page(self._rows_of, self._line_count, self._height)
        return self._bottom or (0, 0)

    # Rows

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    @property
    def _line_count(self) -> int:
        return self.page.source.line_count if self.page is not None else 0

    @property
    def _gutter(self) -> int:
        return max(3, len(str(self._line_count))) + 2

    def _rows_of(self, index: int) -> list[Content]:
        """The rows of line `index` (0-based): one, or several when it is wrapped."""
        cached = self._rows.get(index)
        if cached is not None:
            return cached
        assert self.page is not None
        if not self.page.source.ready(index + 1):
            self.wanted.add(index + 1)
            self.post_message(self.Wanted(self))
            return [Content.styled("…", self._style("note"))]
        content = drawn_line(self.page, index + 1, self.needle, self._style, self._offset_in(index + 1))
        width = max(self.scrollable_content_region.width - self._gutter, 4)
        rows = content.wrap(width) if self.wrap and content.cell_length > width else [content]
        self._rows[index] = rows
        return rows

    def _offset_in(self, line: int) -> int:
        """How many bytes into a line what is drawn of it begins, or nearly so."""
        if line == self.pointed:
            return self._offset
        return self.page.offset if self.page is not None and line == self.page.best else 0

    def _lines_in_view(self) -> set[int]:
        return {line for line, _, _ in self._page_rows()}

    def _first_rows_in_view(self) -> set[int]:
        return {line for line, first, _ in self._page_rows() if first}

    def _page_rows(self) -> list[tuple[int, bool, Content]]:
        """(line, whether it is the line's first row, text) from the top of the view down."""
        if self._drawn is None:
            drawn: list[tuple[int, bool, Content]] = []
            index, skip = self._top
            while len(drawn) < self._height and index < self._line_count:
                drawn += [(index + 1, n == 0, row) for n, row in enumerate(self._rows_of(index)) if n >= skip]
                index, skip = index + 1, 0
            self._drawn = drawn[: self._height]
        return self._drawn

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.visual_style
        rows = self._page_rows()
        if y >= len(rows) or self.page is None or width <= 0:
            return Strip.blank(width, base.rich_style)
        line, first_row, content = rows[y]
        cited = self.page.first <= line <= self.page.last
        digits = self._gutter - 2
        number = f"{line:>{digits}}" if first_row else " " * digits
        kind = "best" if line == self.page.best else "cited" if cited else "number"
        first, last = self.selection or (0, 0)
        edge = "V" if first <= line <= last else "▌" if cited else " "
        point = ">" if first_row and line == self.pointed else " "
        gutter = Segment(f"{edge}{number}{point}", (base + self._style(kind)).rich_style)
        text = Strip(content.render_segments(base))
        if self._left and not self.wrap:
            text = text.crop(self._left)
        return Strip([gutter, *text]).adjust_cell_length(width, base.rich_style)

    def _style(self, kind: str) -> Style:
        return self.get_visual_style(f"preview--{kind}", partial=True)

    def _forget(self) -> None:
        self.wanted.clear()
        self._rows.clear()
        self._drawn = None
        self._bottom = None

    def _fit_bar(self) -> None:
        size = Size(self.scrollable_content_region.width, self._bottom_place()[0] + self._height)
        if size != self.virtual_size:
            self.virtual_size = size

    # Changes from outside

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._drawn = None
        if round(old_value) != round(new_value):
            self._skip = 0
            if self.scrollable_content_region.size == self._fitted:  # otherwise a resize has moved it
                self._kept_top = round(new_value)
            self.post_message(self.Scrolled(self))
        super().watch_scroll_y(old_value, new_value)

    def watch_wrap(self) -> None:
        top = self.top_line
        self._left = 0
        self._forget()
        self._place(top - 1, 0)

    def on_resize(self) -> None:
        size = self.scrollable_content_region.size
        if size != self._fitted:
            self._fitted, top = size, self._kept_top
            self._forget()
            self._place(top, 0)
            self._kept_top = top  # of a document that fits for the time being, for when it does not

    def watch_show_vertical_scrollbar(self) -> None:
        # The bar takes a column, and no resize tells.
        self.call_after_refresh(self.on_resize)

    def notify_style_update(self) -> None:
        self._forget()
        super().notify_style_update()
