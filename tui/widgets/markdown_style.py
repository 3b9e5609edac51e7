"""What to colour in one line of Markdown: cheap, line by line, with only the fences known beforehand."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from core import LineSource

SCANNED_LINES = 200_000
"""Lines of a file that are looked through for fences; further down code is coloured like text."""
_STEP = 1000

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)]|>+)(?=\s)")
_INLINE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<bold>\*\*[^*\s][^*]*\*\*|__[^_\s][^_]*__)"
    r"|(?P<link>!?\[[^\[\]]*\]\([^()\s]*\)|<?https?://[^\s<>()]+>?)"
)


@dataclass(frozen=True, slots=True)
class Fences:
    """The fenced blocks of a document: `opens[i]` to `closes[i]` are lines, both inclusive and 1-based."""

    opens: tuple[int, ...] = ()
    closes: tuple[int, ...] = ()

    def hold(self, line: int) -> bool:
        index = bisect_right(self.opens, line) - 1
        return index >= 0 and line <= self.closes[index]


def find_fences(source: LineSource) -> Fences:
    """The fenced blocks in the first 200,000 lines. Raises what reading the source raises."""
    opens: list[int] = []
    closes: list[int] = []
    mark = ""
    last = min(source.line_count, SCANNED_LINES)
    for start in range(1, last + 1, _STEP):
        for number, text in enumerate(source.lines(start, min(_STEP, last + 1 - start)), start):
            match = _FENCE.match(text[:200])
            if match is None:
                continue
            if not mark:
                mark = match[1]
                opens.append(number)
            elif match[1].startswith(mark) and not text[match.end() :].strip():
                closes.append(number)
                mark = ""
    if mark:
        closes.append(last)
    return Fences(tuple(opens), tuple(closes))


def line_styles(text: str, fenced: bool) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) in characters; kinds are heading, code, marker, bold and link."""
    if fenced:
        yield 0, len(text), "code"
        return
    if _HEADING.match(text):
        yield 0, len(text), "heading"
        return
    marker = _MARKER.match(text)
    if marker:
        yield marker.start(), marker.end(), "marker"
    for match in _INLINE.finditer(text):
        yield match.start(), match.end(), match.lastgroup or "code"
