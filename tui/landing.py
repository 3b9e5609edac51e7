"""Where in the rows of a message the text of a hit stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from core import late_regex
from tui.text import term_spans

KNOWN_BY = 12
"""Characters of a line that are enough to know it again."""
_SPEAKER = late_regex(r"[A-Z][a-z]+: ")


def snippet_lines(snippet: str, *, spoken: bool) -> list[str]:
    """The lines of a snippet as they stand in the document, without the marks of where it was cut.

    Each line of what was `spoken` and wrapped says who speaks; on the message's own line that stands once.
    """
    lines = [line.strip() for line in snippet.strip("…\n ").split("\n")]
    return [line.partition(": ")[2] if spoken and _SPEAKER.match(line) else line for line in lines]


def probe_of(lines: Sequence[str], terms: Sequence[str]) -> tuple[str, bool]:
    """The line of a snippet to look for, and whether it is known by a word of the query; else it is the longest."""
    with_term = next((line for line in lines if term_spans(line, terms)), "")
    return (with_term, True) if len(with_term) >= KNOWN_BY else (max(lines, key=len, default=""), False)


def row_of_snippet(rows: Sequence[str], snippet: str, terms: Sequence[str]) -> int | None:
    """The row of a message in which the first word of the query stands that a snippet of the message has."""
    words = [" ".join(row.split()) for row in rows]
    starts = list(accumulate((len(row) + 1 if row else 0 for row in words), initial=0))
    probe = " ".join(probe_of(snippet_lines(snippet, spoken=True), terms)[0].split())
    at = " ".join(filter(None, words)).find(probe) if probe else -1
    spans = term_spans(probe, terms)
    return None if at < 0 else bisect_right(starts, at + (spans[0][0] if spans else 0)) - 1


def row_of_word(rows: Sequence[str], terms: Sequence[str]) -> int | None:
    """The first row that has a word of the query."""
    return next((number for number, row in enumerate(rows) if term_spans(row, terms)), None)
