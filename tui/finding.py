"""Looking for words in one document, and reading which lines someone asks for."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from core import LineSource
from tui.text import folded

FOUND_LIMIT = 10_000
"""Lines that are kept; a file in which more match is known well enough."""
_BLOCK = 128
_RANGE = re.compile(r"\s*[#L]*(\d{1,12})(?:\s*(?:-|–|\.\.|:)\s*L?(\d{1,12}))?\s*")


@dataclass(frozen=True, slots=True)
class Found:
    """The lines (1-based, ascending) of one opened document in which `needle` stands."""

    source: LineSource
    needle: str
    lines: tuple[int, ...]

    def step(self, line: int, by: int) -> int | None:
        """The next match after (`by` 1), before (-1) or from (0) a line on, around the ends; None without any."""
        if not self.lines:
            return None
        match by:
            case 0:
                index = bisect_left(self.lines, line)
            case 1:
                index = bisect_right(self.lines, line)
            case _:
                index = bisect_left(self.lines, line) - 1
        return self.lines[index % len(self.lines)]

    def says(self, line: int) -> str:
        """`2/14 lines` when `line` is the second of them."""
        more = "+" if len(self.lines) >= FOUND_LIMIT else ""
        index = bisect_left(self.lines, line)
        place = f"{index + 1:,}/" if index < len(self.lines) and self.lines[index] == line else ""
        return f"{place}{len(self.lines):,}{more} found"


def find_lines(source: LineSource, needle: str, cancel: threading.Event) -> Found:
    """Look through a whole document, without case, accents and width; stops early, with less, on `cancel`.

    Raises OSError.
    """
    wanted = folded(needle)[0]
    found: list[int] = []
    start = 1
    while wanted and start <= source.line_count and len(found) < FOUND_LIMIT and not cancel.is_set():
        for number, text in enumerate(source.lines(start, _BLOCK), start):
            if wanted in (text.lower() if text.isascii() else folded(text)[0]):
                found.append(number)
        start += _BLOCK
    return Found(source, needle, tuple(found[:FOUND_LIMIT]))


def needle_spans(text: str, needle: str) -> list[tuple[int, int]]:
    """Where `needle` stands in a line, as (start, end) in characters."""
    wanted = folded(needle)[0]
    if not wanted:
        return []
    plain, origin = folded(text)
    spans = []
    at = plain.find(wanted)
    while at >= 0:
        spans.append((origin[at], origin[at + len(wanted) - 1] + 1))
        at = plain.find(wanted, at + len(wanted))
    return spans


def line_range(text: str) -> tuple[int, int] | None:
    """`123`, `120-140` or `#L120-L140` as first and last line; None for anything else."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first = max(int(match[1]), 1)
    last = int(match[2]) if match[2] else first
    return min(first, max(last, 1)), max(first, last)
