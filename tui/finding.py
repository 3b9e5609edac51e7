"""Looking for words in one document, however large, piece by piece; and reading which lines someone asks for."""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, NamedTuple

from core import LineSource, Piece, late_regex, record
from tui.text import folded

FOUND_LIMIT = 20_000
"""Places that are kept; a document with more is known well enough."""
HEAD = 1900
"""Characters of a line in which one match is as good as all: they are drawn together."""
STRIDE = 1500
"""Characters further into a long line, the next match is a place of its own."""
TOLD_SECONDS = 0.1
RESTLESS_SECONDS = 0.4
"""How long a search does not give way to keys: longer than it would to the key that began it."""
_RANGE = late_regex(r"\s*[#L]*(\d{1,12})(?:\s*(?:-|–|\.\.|:)\s*L?(\d{1,12}))?\s*")


class Place(NamedTuple):
    """A match: its line (1-based), and how many bytes into a long line it stands; 0 near the line's start."""

    line: int
    offset: int = 0


@record(frozen=True, slots=True)
class Seen:
    """Matches that were found since the last time, and how much of the document was looked through, 0 to 1.

    They come from a start down to the end, and then (`around`) from the first line down to the start.
    """

    places: tuple[Place, ...]
    share: float
    around: bool = False
    ended: bool = False


def look_through(
    source: LineSource,
    needle: str,
    start: int,
    cancel: threading.Event,
    rest: Callable[[], object] = lambda: None,
) -> Iterator[Seen]:
    """Look for words from line `start` on and around the end, without case, accents and width; stops on `cancel`.

    A search that takes long calls `rest` before each piece. Holds one piece of the document at a time. Raises OSError.
    """
    wanted = plain(needle)
    places: list[Place] = []
    began = time.monotonic()
    count, done, told = 0, 0, began - TOLD_SECONDS
    for around, first, last in ((False, start, source.line_count), (True, 1, start - 1)):
        search = _Search(source, wanted)
        for piece in source.pieces(first, last) if wanted else ():
            if time.monotonic() - began >= RESTLESS_SECONDS:
                rest()
            if cancel.is_set():
                return
            before = len(places)
            places += search.places_in(piece)
            count += len(places) - before
            done += piece.size
            now = time.monotonic()
            if now - told >= TOLD_SECONDS or (count == len(places) > 0):
                yield Seen(tuple(places), done / max(source.size, 1), around)
                places, told = [], now
            if count >= FOUND_LIMIT:
                break
        if not around:
            yield Seen(tuple(places), done / max(source.size, 1))
            places = []
        if count >= FOUND_LIMIT:
            break
    yield Seen(tuple(places), done / max(source.size, 1), around, ended=True)


class _Search:
    """The matches in pieces that follow each other."""

    def __init__(self, source: LineSource, wanted: str) -> None:
        self._source = source
        self._wanted = wanted
        self._tail = ""  # of a long line, the end of the piece before
        self._column = 0  # and how many characters were before the next piece
        self._resume = 0  # and from which of them on a match is a new place

    def places_in(self, piece: Piece) -> Iterator[Place]:
        return self._in_part(piece) if piece.is_part else self._in_lines(piece)

    def _in_lines(self, piece: Piece) -> Iterator[Place]:
        text, wanted = plain(piece.text), self._wanted
        line, begin = piece.line, 0
        origin: list[int] = []
        at = text.find(wanted)
        while at >= 0:
            line += text.count("\n", begin, at)
            begin = max(begin, text.rfind("\n", begin, at) + 1)
            if at - begin < HEAD:
                resume = begin + HEAD
                yield Place(line)
            else:
                resume = at + STRIDE
                origin = origin or folded(piece.text)[1]
                inside = origin[at] - (piece.text.rfind("\n", 0, origin[at]) + 1)
                yield Place(line, self._source.offset_of(line, 0, inside))
            end = text.find("\n", at)
            at = text.find(wanted, min(resume, end) if end >= 0 else resume)

    def _in_part(self, piece: Piece) -> Iterator[Place]:
        if piece.offset == 0:
            self._tail, self._column, self._resume = "", 0, 0
        before = len(self._tail)
        text, base = self._tail + plain(piece.text), self._column - before
        origin: list[int] = []
        while (at := text.find(self._wanted, max(self._resume - base, 0))) >= 0:
            if base + at < HEAD:
                self._resume = HEAD
                yield Place(piece.line)
            else:
                self._resume = base + at + STRIDE
                origin = origin or folded(piece.text)[1]
                inside = origin[at - before] if at >= before else 0
                yield Place(piece.line, self._source.offset_of(piece.line, piece.offset, inside))
        self._column = base + len(text)
        self._tail = text[len(text) - len(self._wanted) + 1 :] if len(self._wanted) > 1 else ""


class Finding:
    """What is known of the matches in one opened document, while they are looked for and afterwards."""

    def __init__(self, source: LineSource, needle: str, start: int) -> None:
        self.source = source
        self.needle = needle
        self.state: Literal["looking", "done", "stopped"] = "looking"
        self.share = 0.0
        self._start = start
        self._around = False
        self._after: list[Place] = []
        self._before: list[Place] = []

    @property
    def count(self) -> int:
        return len(self._before) + len(self._after)

    @property
    def is_idle(self) -> bool:
        """Whether it was stopped before it found anything."""
        return self.state == "stopped" and not self.count

    def add(self, seen: Seen) -> None:
        self._around = seen.around
        (self._before if seen.around else self._after).extend(seen.places)
        self.share = seen.share
        if seen.ended and self.state == "looking":
            self.state = "done"

    def step(self, at: Place, by: int) -> tuple[Place, bool] | None:
        """The next match after (`by` 1), before (-1) or from (0) a place on, and whether that went around an end.

        None while it is not known yet, and where there is none.
        """
        known = [*self._before, *self._after]
        if not known:
            return None
        index = bisect_right(known, at) if by > 0 else bisect_left(known, at) - (by < 0)
        wraps = not 0 <= index < len(known)
        target = known[index % len(known)]
        if self.state == "looking":
            if wraps and not (self._around and (self._before if by >= 0 else self._after)):
                return None
            low, high = (at, target) if by >= 0 else (target, at)
            if not wraps and low.line < self._start <= high.line and (self._around or by < 0):
                return None
        return target, wraps

    def says(self, at: Place) -> str:
        """`2/14 found` when the second of them is at a place; how far the search is while it goes on."""
        if self.state == "looking":
            return f"looking {self.share:.0%}, {self.count:,} found"
        known = [*self._before, *self._after]
        index = bisect_left(known, at)
        place = f"{index + 1:,}/" if index < len(known) and known[index] == at else ""
        more = "+" if self.count >= FOUND_LIMIT else ""
        return f"{place}{self.count:,}{more} found{', stopped' if self.state == 'stopped' else ''}"


class _Runs(dict[str, str]):
    """Short runs of letters beyond ASCII without case, accents and width: they come again."""

    def __missing__(self, run: str) -> str:
        made = _stripped(run)
        if len(run) <= 4 and len(self) < 20_000:
            self[run] = made
        return made


def _stripped(text: str) -> str:
    text = unicodedata.normalize("NFKD", text).casefold()
    for signs in _combining():
        text = signs.sub("", text)
    return text


@cache
def _combining() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds combining characters: two sets, as one beyond U+FFFF is looked through character by character."""
    below, beyond = (
        "".join(character for code in codes if unicodedata.combining(character := chr(code)))
        for codes in (range(0x300, 0x10000), range(0x10000, 0x20000))
    )
    # No class is tried but where a character beyond U+FFFF stands.
    return re.compile(f"[{below}]+"), re.compile(f"(?=[\U00010000-\U0010ffff])[{beyond}]+")


_RUNS = _Runs()
_OTHER = late_regex(r"([^\x00-\x7f]+)")


def plain(text: str) -> str:
    """`text` without case, accents and width, quickly: what `folded` gives."""
    if text.isascii():
        return text.lower()
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > len(text) + len(text) // 4:
        return _stripped(text)
    # Bytes know only the case of ASCII, which most of this text is.
    parts = _OTHER.split(data.lower().decode("utf-8", "surrogatepass"))
    parts[1::2] = map(_RUNS.__getitem__, parts[1::2])
    return "".join(parts)


def needle_spans(text: str, needle: str) -> list[tuple[int, int]]:
    """Where `needle` stands in a line, as (start, end) in characters."""
    wanted = plain(needle)
    if not wanted:
        return []
    letters, origin = folded(text)
    spans = []
    at = letters.find(wanted)
    while at >= 0:
        spans.append((origin[at], origin[at + len(wanted) - 1] + 1))
        at = letters.find(wanted, at + len(wanted))
    return spans


def line_range(text: str) -> tuple[int, int] | None:
    """`123`, `120-140` or `#L120-L140` as first and last line; None for anything else."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first = max(int(match[1]), 1)
    last = int(match[2]) if match[2] else first
    return min(first, max(last, 1)), max(first, last)
