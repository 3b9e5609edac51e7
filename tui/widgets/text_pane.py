"""A text that is read: as tall as it is or as there is room for, scrolled without a new layout of the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from tui.text import fitted, shown
from tui.wrapping import wrapped

FEWEST_CELLS = 12
"""Words beside a label have at least this room, even where labels leave less."""

Text = Content | Callable[[int], Content]
"""What a pane shows: a text that is wrapped at blanks, or how it is laid out in so many cells."""


class LabelRow(NamedTuple):
    """A label and words; without a label (None) the words begin at the left edge."""

    label: str | None
    words: str
    style: str = ""
    label_style: str = "$text-muted"


def laid_out(rows: Sequence[LabelRow], label_cells: int, width: int) -> Content:
    """The rows in `width` cells; words that go on below stay clear of the labels."""
    lines: list[Content] = []
    for row in rows:
        first = "" if row.label is None else fitted(row.label, label_cells)
        indent = " " * len(first)
        for number, part in enumerate(wrapped(shown(row.words), max(width - len(indent), FEWEST_CELLS))):
            lines.append(Content.assemble((indent if number else first, row.label_style), (part, row.style)))
    return Content("\n").join(lines)


class TextPane(ScrollView, can_focus=False, inherit_bindings=False):
    """Its keys are the screen's."""

    ALLOW_SELECT = False

    def __init__(self, text: Text = Content(), *, id: str | None = None) -> None:  # noqa: B008 -- never changed
        super().__init__(id=id)
        self._text: Text = text
        self._shown: tuple[int, Content] | None = None
        self._strips: list[Strip] = []

    def show(self, text: Text) -> None:
        """Show another text: nothing is drawn if it looks the same, and the layout stays if it has as many rows."""
        self._text = text
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        before, rows = self._shown, len(self._strips)
        self._lay_out(width)
        if self._shown != before:
            self._fit_bar()
            self.refresh(layout=len(self._strips) != rows)

    def move(self, where: str) -> None:
        """One of up, down, page_up, page_down, first, last."""
        page = max(self.scrollable_content_region.height - 1, 1)
        rows = {"up": -1, "down": 1, "page_up": -page, "page_down": page}.get(where)
        target = (0 if where == "first" else self.max_scroll_y) if rows is None else self.scroll_y + rows
        self.scroll_to(y=target, animate=False, force=True, immediate=True)

    @property
    def has_more(self) -> bool:
        """Whether not all rows are in view at once."""
        return len(self._strips) > self.scrollable_content_region.height

    def _lay_out(self, width: int) -> None:
        text = self._text(width) if callable(self._text) else self._text
        if self._shown is None or self._shown[0] != width or not text.is_same(self._shown[1]):
            self._shown = (width, text)
            self._strips = Visual.to_strips(self, text, width, None, self.visual_style) if text else []

    def _fit_bar(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._strips))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._lay_out(max(width, 1))
        return len(self._strips)

    def render_line(self, y: int) -> Strip:
        width, index = self.scrollable_content_region.width, round(self.scroll_y) + y
        style = self.visual_style.rich_style
        if width <= 0 or index >= len(self._strips):
            return Strip.blank(max(width, 0), style)
        return self._strips[index].adjust_cell_length(width, style).simplify()

    def on_resize(self) -> None:
        if (width := self.scrollable_content_region.width) > 0:
            self._lay_out(width)
            self._fit_bar()

    def on_unmount(self) -> None:
        # Textual may hold a widget long after it is gone; without its lines it is small.
        self._strips, self._shown = [], None

    def notify_style_update(self) -> None:
        self._shown = None
        if (width := self.scrollable_content_region.width) > 0:
            self._lay_out(width)
        super().notify_style_update()
