"""The raw records of a message, each with its physical line; masked, control characters as marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from core import visible
from tui.widgets.block_view import BlockView
from tui.widgets.json_style import json_styles
from tui.wrapping import wrapped


class Raw(NamedTuple):
    """A record as text of several lines, and the physical line it stands on."""

    line: int
    text: str


class Row(NamedTuple):
    """A row of a record, and what to colour in it: (start, end, kind) in characters."""

    text: str
    parts: tuple[tuple[int, int, str], ...] = ()


class RecordView(BlockView[Row]):
    """One block for each line of each record; the first of a record has its number. JSON is coloured."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"record--{kind}" for kind in ("line", "key", "string", "digits", "literal")
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.records: tuple[Raw, ...] = ()
        self._lines: list[tuple[int, str]] = []
        self._is_json: list[bool] = []

    def show(self, records: Sequence[Raw]) -> None:
        """Show records from the start; the same ones again leave the place."""
        if tuple(records) != self.records:
            self.records = tuple(records)
            self._lines, self._is_json = [], []
            for record in records:
                rows = visible(record.text, keep_newlines=True, tab_size=4).split("\n")
                self._lines += [(record.line if number == 0 else 0, row) for number, row in enumerate(rows)]
                self._is_json += [record.text.startswith(("{", "["))] * len(rows)
            self.forget()
            self.place(0)

    @property
    def text(self) -> str:
        """All of it, as it can be copied."""
        return "\n".join(record.text for record in self.records)

    def move(self, where: str) -> None:
        """One of up, down, page_up, page_down, first, last."""
        page = max(self.height - 1, 1)
        match where:
            case "first":
                self.place(0)
            case "last":
                self.place(self.count, 0)
            case "up" | "down" | "page_up" | "page_down":
                self.scroll_rows((1 if where.endswith("down") else -1) * (page if where.startswith("page") else 1))

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def _digits(self) -> int:
        return max(4, max((len(str(record.line)) for record in self.records), default=0))

    def make(self, index: int) -> list[Row]:
        text = self._lines[index][1]
        inner = len(text) - len(text.lstrip(" "))
        indent = min(inner + 2, 12)
        cells = max(self.width - self._digits - 2, 4)
        rows = wrapped(text, cells)
        if len(rows) > 1:
            rows[1:] = wrapped(text[len(rows[0]) :].lstrip(" "), max(cells - indent, 4))
        parts = list(json_styles(text)) if self._is_json[index] else []
        made: list[Row] = []
        at = 0
        for number, row in enumerate(rows):
            start = max(text.find(row, at), 0)
            at = start + len(row)
            shift = (indent if number else 0) - start
            inside = ((max(a, start), min(b, at), kind) for a, b, kind in parts if a < at and b > start)
            made.append(
                Row(" " * (indent if number else 0) + row, tuple((a + shift, b + shift, k) for a, b, k in inside))
            )
        return made

    def draw(self, index: int, number: int, row: Row, *, is_top: bool) -> Strip:
        line = self._lines[index][0]
        label = f"{line:>{self._digits}}" if line and number == 0 else " " * self._digits
        base = self.visual_style
        segments = [Segment(f"{label}  ", (base + self._style("record--line")).rich_style)]
        at = 0
        for start, end, kind in row.parts:
            segments.append(Segment(row.text[at:start], base.rich_style))
            segments.append(Segment(row.text[start:end], (base + self._style(f"record--{kind}")).rich_style))
            at = end
        return Strip([*segments, Segment(row.text[at:], base.rich_style)])
