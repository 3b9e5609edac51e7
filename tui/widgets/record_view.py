"""The raw records of a message, each with its physical line; masked, control characters as marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from core import visible
from tui.widgets.block_view import BlockView
from tui.wrapping import wrapped


class Raw(NamedTuple):
    """A record as text of several lines, and the physical line it stands on."""

    line: int
    text: str


class RecordView(BlockView[str]):
    """One block for each line of each record; the first of a record has its number."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"record--line"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.records: tuple[Raw, ...] = ()
        self._lines: list[tuple[int, str]] = []

    def show(self, records: Sequence[Raw]) -> None:
        """Show records from the start; the same ones again leave the place."""
        if tuple(records) != self.records:
            self.records = tuple(records)
            self._lines = []
            for record in records:
                rows = visible(record.text, keep_newlines=True, tab_size=4).split("\n")
                self._lines += [(record.line if number == 0 else 0, row) for number, row in enumerate(rows)]
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

    def make(self, index: int) -> list[str]:
        text = self._lines[index][1]
        inner = len(text) - len(text.lstrip(" "))
        indent = min(inner + 2, 12)
        cells = max(self.width - self._digits - 2, 4)
        rows = wrapped(text, cells)
        if len(rows) == 1:
            return rows
        rest = wrapped(text[len(rows[0]) :].lstrip(" "), max(cells - indent, 4))
        return [rows[0], *(" " * indent + row for row in rest)]

    def draw(self, index: int, number: int, row: str, *, is_top: bool) -> Strip:
        line = self._lines[index][0]
        label = f"{line:>{self._digits}}" if line and number == 0 else " " * self._digits
        base = self.visual_style
        place = (base + self._style("record--line")).rich_style
        return Strip([Segment(f"{label}  ", place), Segment(row, base.rich_style)])
