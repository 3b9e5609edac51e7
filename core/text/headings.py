"""Markdown's headings and fenced blocks: one rule for chunks, citations and viewers."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.records import record
from core.regexes import late_regex
from core.text.lines import LineSource

_TITLE_CHARACTERS = 200
_HEAD_CHARACTERS = 1000
"""Characters of a line that tell what it is, for viewers."""
_BLOCK_LINES = 1024
MOST_MARKS = 100_000
"""Headings and fences of an outline; a document with more is known down to there."""

_MARKS = frozenset("#`~=-*+0123456789")
_ATX = late_regex(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = late_regex(r" {0,3}(=+|-{2,})[ \t]*$")
_NO_SETEXT_TITLE = late_regex(r"[>|#<]|[-*+][ \t]|\d{1,9}[.)][ \t]|`{3}|~{3}|(?:[-*_=][ \t]*){3,}$")
_FENCE = late_regex(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!.*`)|~{3,})(.*)$", re.S)
_YAML_LINE = late_regex(r"[\w\"'.-][^:]*:(?:\s|$)|[\s#}\]]|-(?:\s|$)")


def front_matter_end(lines: Sequence[str]) -> int:
    """How many lines of YAML between `---` a document starts with; 0 if it does not."""
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    for number in range(1, len(lines)):
        line = lines[number].rstrip()
        if line in ("---", "..."):
            return number + 1
        if line and _YAML_LINE.match(line) is None:
            return 0
    return 0


def headings_of(lines: Sequence[str], front: int) -> Iterator[tuple[int, tuple[int, str]]]:
    """Line (0-based), level and title of each heading outside of fences, below `front` lines of front matter."""
    for number, level, title in _marks(lines, front):
        if level > 0:
            yield number, (level, title)


def heading_path(lines: Sequence[str], line: int) -> tuple[str, ...]:
    """The Markdown headings that a line (1-based) stands under, outermost first; its own among them if it is one."""
    titles: list[tuple[int, str]] = []
    for number, (level, title) in headings_of(lines, front_matter_end(lines)):
        if number >= line:
            break
        titles = [outer for outer in titles if outer[0] < level]
        if title:
            titles.append((level, title))
    return tuple(name for _, name in titles)


def bounded_title(title: str) -> str:
    return title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1] + "…"


class Heading(NamedTuple):
    """A heading on a line (1-based), and which of the headings before it is the next further out; -1 for none."""

    line: int
    title: str
    outer: int


@record(frozen=True, slots=True)
class Outline:
    """A document's headings and fenced blocks: `opens[i]` to `closes[i]` are lines, both inclusive and 1-based.

    Nothing is known of lines beyond `lines`.
    """

    headings: tuple[Heading, ...] = ()
    opens: tuple[int, ...] = ()
    closes: tuple[int, ...] = ()
    lines: int = 0

    def in_fence(self, line: int) -> bool:
        index = bisect_right(self.opens, line) - 1
        return index >= 0 and line <= self.closes[index]

    def trail(self, line: int) -> tuple[str, ...]:
        """The titles that a line stands under, outermost first; a heading's own among them."""
        at = bisect_right(self.headings, line, key=lambda heading: heading.line) - 1
        titles: list[str] = []
        while at >= 0 and line <= self.lines:
            heading = self.headings[at]
            titles += [heading.title] if heading.title else []
            at = heading.outer
        return tuple(reversed(titles))


def read_outline(source: LineSource, cancel: threading.Event | None = None) -> Outline:
    """The outline of a Markdown document; down to where it was read, on `cancel`. Raises OSError."""
    headings: list[Heading] = []
    opens: list[int] = []
    closes: list[int] = []
    stack: list[tuple[int, int]] = []  # level and index of the headings that the next one may stand under
    before: list[str] = []
    fence, front, done = "", 0, 0
    while done < source.line_count and len(headings) + len(opens) < MOST_MARKS:
        if cancel is not None and cancel.is_set():
            break
        block = source.lines(done + 1, _BLOCK_LINES, width=_HEAD_CHARACTERS)
        if done == 0:
            front = front_matter_end(block)
        first = done - len(before)
        for number, level, text in _marks([*before, *block], max(front - first, 0), len(before), fence):
            line = first + number + 1
            if level > 0:
                while stack and stack[-1][0] >= level:
                    stack.pop()
                headings.append(Heading(line, text, stack[-1][1] if stack else -1))
                if text:
                    stack.append((level, len(headings) - 1))
            elif level == _OPENS:
                fence = text
                opens.append(line)
            else:
                fence = ""
                closes.append(line)
        done += len(block)
        before = block[-2:]
    if fence:
        closes.append(done)
    return Outline(tuple(headings), tuple(opens), tuple(closes), done)


_OPENS, _CLOSES = 0, -1


def _marks(lines: Sequence[str], front: int, start: int = 0, fence: str = "") -> Iterator[tuple[int, int, str]]:
    """(line, level, title) of each heading from line `start` (0-based) on, and of fences where they open and close.

    `fence` is what opened the fence that line `start` stands in, and the title of one that opens.
    """
    for number, mark in enumerate([line.lstrip(" \t")[:1] for line in lines]):
        if mark not in _MARKS or number < front or number < start:
            continue
        line = lines[number]
        if fence:
            closing = line.strip(" \t")
            if closing.startswith(fence) and not closing.strip(fence[0]):
                fence = ""
                yield number, _CLOSES, ""
            continue
        if mark == "#":
            atx = _ATX.match(line)
            if atx is not None:
                yield number, len(atx[1]), _atx_title(line[atx.end() :])
            continue
        if mark in "=-":
            underline = _UNDERLINE.match(line)
            if underline is not None and _is_setext_title(lines, number - 1, front):
                level = 1 if underline[1][0] == "=" else 2
                yield number - 1, level, bounded_title(lines[number - 1].strip())
                continue
        opening = _FENCE.match(line)
        if opening is not None:
            fence = opening[1]
            yield number, _OPENS, fence


def _atx_title(text: str) -> str:
    """What stands behind the signs of a heading, without the signs that may close it."""
    title = text.strip(" \t")
    inner = title.rstrip("#")
    if inner.endswith((" ", "\t")):
        title = inner
    return bounded_title(title.strip())


def _is_setext_title(lines: Sequence[str], number: int, front: int) -> bool:
    """Whether a line is a paragraph of its own: only those are read as titles when underlined."""
    if number < front:
        return False
    line = lines[number]
    if not line.strip() or line.startswith(("    ", "\t")) or _NO_SETEXT_TITLE.match(line.lstrip()):
        return False
    above = lines[number - 1] if number > front else ""
    return not above.strip() or _ATX.match(above) is not None or _UNDERLINE.match(above) is not None
