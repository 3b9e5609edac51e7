"""From what a row points at to the page that the preview shows: open the file, find where the cited text stands now."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import IO

from core import Citation, Hit, LineSource, Memory, read_outline, record, visible
from tui.finding import HEAD
from tui.landing import probe_of, snippet_lines
from tui.text import MARK_LIMIT, term_spans
from tui.widgets.page import Page, kind_of

SEARCHED_LINES = 50_000
"""Lines on either side of a citation that are looked through when its text is no longer there."""
READ_AROUND = 8 << 20
"""Bytes of records that are read before a transcript is shown, on `LINES_AROUND` lines on either side."""
LINES_AROUND = 50
READ_INSIDE = 64 << 20
"""Bytes of long lines in which the cited text is looked for."""
_STEP = 1000
OUTLINED_AT_ONCE = 1 << 20
"""Bytes of a document whose outline is read before it is shown; that of a larger one follows."""


@record(frozen=True, slots=True)
class Target:
    """Lines of a document (1-based, inclusive; 0 for none), the one that matches best, and text that stands there."""

    path: str
    first: int = 0
    last: int = 0
    best: int = 0
    terms: tuple[str, ...] = ()
    snippet: str = ""
    heading: tuple[str, ...] = ()

    @classmethod
    def of_hit(cls, hit: Hit, terms: tuple[str, ...]) -> Target:
        return cls(hit.path, hit.start_line, hit.end_line, hit.line, terms, hit.snippet, hit.heading)

    @property
    def citation(self) -> Citation | None:
        return Citation(self.path, self.first, self.last) if self.first else None


@record(frozen=True, slots=True)
class Opened:
    """A page and how far its lines moved since they were indexed; `stale` when the cited text is nowhere."""

    page: Page
    moved: int = 0
    stale: bool = False

    @property
    def citation(self) -> Citation | None:
        return Citation(self.page.path, self.page.first, self.page.last) if self.page.first else None


def open_page(memory: Memory, target: Target, shown_now: Page | None = None) -> Opened:
    """The page of a target; the source of `shown_now` serves again while its file is the same.

    Blocks on the disk. Raises NotAllowed, OSError, Undecodable.
    """
    kind = "plain" if target.path.startswith("sessions/") else kind_of(target.path)
    if (
        shown_now is not None
        and shown_now.path == target.path
        and not shown_now.is_told
        and not shown_now.source.changed()
    ):
        source, outline = shown_now.source, shown_now.outline
    else:
        source = memory.lines(target.path)
        outline = read_outline(source) if kind == "markdown" and source.size <= OUTLINED_AT_ONCE else None
    anchor = _anchor(source, target)
    by, offset = anchor or (0, 0)
    _read_around(source, (target.best or 1) + by)
    page = Page(
        source=source,
        path=target.path,
        first=target.first + by if target.first else 0,
        last=target.last + by if target.first else 0,
        best=target.best + by if target.best else 0,
        offset=offset,
        terms=target.terms,
        outline=outline,
        kind=kind,
    )
    return Opened(page, by, anchor is None)


def told_page(path: str, words: str) -> Page:
    """A page of what is said of a document, where the document itself cannot be shown."""
    return Page(LineSource.from_text(words), path, kind="plain", is_told=True)


def kept_page(target: Target, remedy: str) -> Page:
    """What the index has of a document that cannot be read, and what can be done about it."""
    kept = [line.rstrip() for line in target.snippet.strip("\n").split("\n")]
    page = told_page(target.path, "\n".join(["The index has this of it:", "", *kept, "", remedy]))
    return replace(page, first=3, last=2 + len(kept), terms=target.terms)


def _read_around(source: LineSource, line: int) -> None:
    """Have the lines at hand that are drawn first, where that is more than reading them off a file."""
    room = READ_AROUND
    for number in range(max(line - LINES_AROUND, 1), min(line + LINES_AROUND, source.line_count) + 1):
        room -= source.line_bytes(number)
        if room > 0 and not source.ready(number):
            source.line(number)


def cited_text(memory: Memory, target: Target, most: int) -> tuple[str, int]:
    """The cited lines as they stand in the file, as `bounded_text`. Raises what `open_page` raises."""
    opened = open_page(memory, target)
    with opened.page.source as source:
        return bounded_text(source, opened.page.first, opened.page.last, most)


def bounded_text(source: LineSource, first: int, last: int, most: int) -> tuple[str, int]:
    """The text of some lines, at most `most` bytes of it, and how many bytes there would be. Raises OSError."""
    parts: list[str] = []
    room = most
    for piece in source.pieces(first, last):
        data = piece.text.encode("utf-8", "replace")
        parts.append(data[:room].decode("utf-8", "ignore"))
        room -= len(data)
        if room < 0:
            return "".join(parts), max(source.span_bytes(first, last), most + 1)
    text = "".join(parts).removesuffix("\n")
    return text, len(text.encode("utf-8", "replace"))


def write_masked(memory: Memory, path: str) -> IO[str]:
    """A transcript's masked text, line for line, in a file that only this user may read and that goes when closed.

    Blocks on the disk. Raises NotAllowed, OSError, Undecodable.
    """
    written = tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="memdeck-", suffix=".txt")  # noqa: SIM115
    try:
        with memory.lines(path) as source:
            for piece in source.pieces():
                written.write(visible(piece.text, keep_newlines=True))
        written.flush()
    except BaseException:
        written.close()
        raise
    return written


def _anchor(source: LineSource, target: Target) -> tuple[int, int] | None:
    """By how many lines the cited text moved, and how many bytes into a long best line it stands; None if nowhere near.

    It is in place when the best line still has a word of the query, or where that is long the text of the snippet.
    Otherwise the text is known by a line of the snippet: the one that has a word of the query, or without any the
    longest.
    """
    inner = snippet_lines(target.snippet, spoken=target.path.startswith("sessions/"))
    probe, known = probe_of(inner, target.terms)
    if not target.first or not probe:
        return 0, 0
    is_long = source.line_bytes(target.best) > MARK_LIMIT
    if is_long and (offset := _inside(source, target.best, probe, target.terms)) is not None:
        return 0, offset
    if _has_term(source.line(target.best, width=MARK_LIMIT), target.terms):
        return 0, 0
    count = target.last - target.first + 1
    if not known and any(probe in text for text in source.lines(target.first, count, width=MARK_LIMIT)):
        return 0, 0
    moved = _moved_by(source, probe, target.best if known else target.first, target.best)
    if moved is None:
        return None
    line = target.best + moved
    far = source.line_bytes(line) > MARK_LIMIT
    return moved, (_inside(source, line, probe, target.terms) or 0) if far else 0


def _moved_by(source: LineSource, probe: str, expected: int, near: int) -> int | None:
    """How far from where it is expected the nearest line is that holds a text; long lines are looked at last."""
    start = max(1, near - SEARCHED_LINES)
    places: list[int] = []
    long_lines: list[int] = []
    for begin in range(start, start + 2 * SEARCHED_LINES, _STEP):
        for number, text in enumerate(source.lines(begin, _STEP, width=MARK_LIMIT), begin):
            if probe in text:
                places.append(number)
            elif len(text) == MARK_LIMIT:
                long_lines.append(number)
    if not places:
        room = READ_INSIDE
        for number in sorted(long_lines, key=lambda line: abs(line - expected)):
            room -= source.line_bytes(number)
            if room < 0:
                break
            if _inside(source, number, probe, ()) is not None:
                places.append(number)
                break
    return min(places, key=lambda line: abs(line - expected)) - expected if places else None


def _inside(source: LineSource, line: int, probe: str, terms: tuple[str, ...]) -> int | None:
    """How many bytes into a line the first of the words in a text stand that it holds; 0 near its start, None without.

    Of a line that is longer than `READ_INSIDE` only so much is read: the rest counts as if it held the text.
    """
    spans = term_spans(probe, terms)
    into = spans[0][0] if spans else 0
    before, before_offset, column, read = "", 0, 0, 0
    for piece in source.pieces(line, line):
        text = before + piece.text
        at = text.find(probe)
        if at >= 0:
            if column - len(before) + at + into < HEAD:
                return 0
            return source.offset_of(line, before_offset if before else piece.offset, at + into)
        column += len(piece.text)
        read += piece.size
        if read >= READ_INSIDE:
            return 0
        before, before_offset = piece.text, piece.offset
    return None


def _has_term(text: str, terms: tuple[str, ...]) -> bool:
    return bool(term_spans(text, terms))
