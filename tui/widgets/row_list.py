"""A list of rows that are drawn from values: the part that hits, documents and commands have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

T = TypeVar("T")

PAGE = 200
"""Rows that are added at a time; the next ones come when the end is reached."""


class RowList(OptionList, Generic[T], inherit_bindings=False):
    """Rows of one or two lines. Its keys are the screen's; the row in force has `▌` in its first column, free
    for that; a marked one has `*`.

    Subclasses say how an item looks (`row`) and what stays the same of it when the list changes (`key`).
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--cursor"}

    @dataclass
    class Moved(Message):
        """Another row is in force; `item` None when the list is empty."""

        item: object | None

    @dataclass
    class Chosen(Message):
        """A row was clicked or entered."""

        item: object

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self.items: tuple[T, ...] = ()
        self._prompts: list[Content] = []
        self._drawn_for: tuple[int, bool] = (0, False)
        self._told: tuple[object, object] = (None, None)
        self.marked: set[str] = set()
        self.wide = False

    def row(self, item: T, width: int) -> Content:
        """How an item looks in `width` cells; its first cell is blank."""
        raise NotImplementedError

    def key(self, item: T) -> str:
        """What stays the same of an item in the next list."""
        raise NotImplementedError

    @property
    def row_height(self) -> int:
        """Lines of a row."""
        return 1

    @property
    def current(self) -> T | None:
        index = self.highlighted
        return self.items[index] if index is not None and index < len(self.items) else None

    def show(self, items: Sequence[T], *, keep: str | None = None) -> None:
        """Show other items with the row of key `keep` in force, else the first; draw nothing if they look the same."""
        self.items = tuple(items)
        if self.marked:
            self.marked &= {self.key(item) for item in self.items}
        prompts = self._draw(0, PAGE)
        index = next((n for n, item in enumerate(self.items) if keep is not None and self.key(item) == keep), 0)
        alike = len(prompts) == len(self._prompts) and all(
            new.is_same(old) for new, old in zip(prompts, self._prompts, strict=True)
        )
        if not alike:
            if index >= len(prompts):
                prompts += self._draw(len(prompts), index + PAGE)
            self._prompts = prompts
            self.set_options([Option(prompt) for prompt in prompts])
        self.highlighted = index if self.items else None
        self._tell()

    def mark(self) -> None:
        """Mark the row in force, or take its mark away, and go one row down."""
        item = self.current
        if item is not None:
            self.marked ^= {self.key(item)}
            self.refresh()
            self.move("down")

    @property
    def marked_items(self) -> list[T]:
        """The marked rows from top to bottom."""
        return [item for item in self.items if self.key(item) in self.marked]

    def move(self, where: str) -> None:
        """One of up, down, page_up, page_down, first, last; the ends do not wrap around."""
        if not self.items:
            return
        at = self.highlighted or 0
        page = max(self.size.height // self.row_height - 1, 1)
        match where:
            case "up":
                self.highlighted = max(0, at - 1)
            case "down":
                self._grow(at + 1)
                self.highlighted = at + 1
            case "page_up":
                self.highlighted = max(0, at - page)
            case "page_down":
                self._grow(at + page)
                self.highlighted = at + page
            case "first":
                self.highlighted = 0
            case "last":
                self._grow(len(self.items))
                self.highlighted = len(self.items) - 1

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None:
            self._tell()

    def _tell(self) -> None:
        item = self.current
        told = (None if item is None else self.key(item), item)
        if told != self._told:
            self._told = told
            self.post_message(self.Moved(item))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        item = self.current
        if item is not None:
            self.post_message(self.Chosen(item))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    def on_resize(self) -> None:
        wanted = (self.size.width, self.wide)
        if wanted != self._drawn_for and self.items and wanted[0] > 0:
            index = self.highlighted
            self._prompts = self._draw(0, max(PAGE, len(self._prompts)))
            self.set_options([Option(prompt) for prompt in self._prompts])
            self.highlighted = index

    def _draw(self, start: int, end: int) -> list[Content]:
        width = self.scrollable_content_region.width or 80
        self._drawn_for = (self.size.width, self.wide)
        return [self.row(item, width) for item in self.items[start:end]]

    def _grow(self, index: int) -> None:
        """Have rows beyond `index`."""
        have = len(self._prompts)
        if index >= have and have < len(self.items):
            more = self._draw(have, max(index + 1, have + PAGE))
            self._prompts += more
            self.add_options([Option(prompt) for prompt in more])

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        first = next(iter(strip), None)
        if first is None or first.style is None or strip.cell_length < 2:
            return strip
        index = first.style.meta.get("option")
        if not isinstance(index, int) or index >= len(self.items):
            return strip
        marked = self.key(self.items[index]) in self.marked
        if index != self.highlighted and not marked:
            return strip
        colour = self.get_component_rich_style("row-list--cursor", partial=True).color
        cursor = first.style + RichStyle(color=colour, bold=True, reverse=marked and index == self.highlighted)
        return Strip([Segment("*" if marked else "▌", cursor), *strip.crop(1)], strip.cell_length)
