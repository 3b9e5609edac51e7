"""What was asked: text, exact phrases and filters, read from what a person or an agent typed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import field
from datetime import date, datetime, timedelta
from typing import cast

from core.records import record
from core.regexes import late_regex
from core.text.analysis import CJK, fold
from core.types import Source

MAX_LENGTH = 10_000
"""Characters of a query that are read; the rest of a pasted log is cut off."""

_WORD_CHARACTER = f"[^\\W{CJK}]"
_QUOTED = rf"""(?<!{_WORD_CHARACTER})["“„](?P<phrase>[^"“”„]*)["”](?!{_WORD_CHARACTER})"""
# Ignoring case in the names alone: for the whole pattern it costs every start 12 ms.
_NAME = "(?P<name>(?i:source|path|dialect|after|before))"
_FILTER = rf"""{_QUOTED}|(?<!\S){_NAME}:(?:"(?P<value>[^"]*)"|(?P<plain>[^\s"]+))(?!\S)"""
_MARKS = frozenset('"“„:')
"""One of these stands in every phrase and in every filter."""
_UNREADABLE = late_regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
_SOURCES = {"memory": "memory", "memories": "memory", "notes": "memory", "sessions": "sessions", "session": "sessions"}
_DAY = late_regex(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGO = late_regex(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


@record(frozen=True, slots=True)
class Filters:
    """What a hit must belong to; empty fields ask for nothing. Values of one field are alternatives.

    `paths` are folded substrings of the document's path, or patterns of the whole path when they hold `*` or `?`.
    A hit is dated on `after` or later, and earlier than `before` (local days).
    """

    sources: tuple[Source, ...] = ()
    paths: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None

    def __bool__(self) -> bool:
        return bool(self.sources or self.paths or self.dialects or self.after or self.before)

    def on_day(self, day: date) -> bool:
        """Whether the dates ask for a day."""
        return (self.after is None or day >= self.after) and (self.before is None or day < self.before)


@record(frozen=True, slots=True)
class Query:
    """A query, read.

    `text` is what is searched for, as typed but without filters; `semantic_text` is what an embedder gets (without the
    quotes too); `folded` is `text` folded; `phrases` are the quoted phrases as typed; `typed_filters` are the filters
    as typed, in order.
    """

    text: str
    semantic_text: str
    folded: str
    phrases: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    typed_filters: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        return not self.folded

    @property
    def only_phrases(self) -> bool:
        """Whether nothing but quoted phrases is asked for."""
        return bool(self.phrases) and not _patterns()[0].sub(" ", self.text).strip()


def _days(value: str, today: Callable[[], date]) -> date | None:
    lowered = value.lower()
    if lowered in ("today", "yesterday"):
        return today() - timedelta(days=lowered == "yesterday")
    ago = _AGO.fullmatch(lowered)
    if ago is not None:
        try:
            return today() - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
        except OverflowError:
            return None
    day = _DAY.fullmatch(lowered)
    if day is None:
        return None
    try:
        return date(int(day[1]), int(day[2] or 1), int(day[3] or 1))
    except ValueError:
        return None


class _FilterReader:
    """Takes the filters out of a query; what is no filter after all stays text."""

    def __init__(self, today: Callable[[], date]) -> None:
        self._today = today
        self._values: dict[str, list[object]] = {}
        self.typed: list[str] = []

    def take(self, match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0]
        name = match["name"].lower()
        value = (match["value"] if match["value"] is not None else match["plain"]).strip()
        read = self._read(name, value)
        if read is None:
            return match[0]
        self._values.setdefault(name, []).append(read)
        self.typed.append(match[0])
        return " "

    def _read(self, name: str, value: str) -> object | None:
        if name == "source":
            return _SOURCES.get(value.lower())
        if name == "path":
            return fold(value.replace("\\", "/").removeprefix("./")) or None
        if name == "dialect":
            return value.lower() or None
        return _days(value, self._today)

    def filters(self) -> Filters:
        days = {name: cast("list[date]", self._values.get(name, [])) for name in ("after", "before")}
        return Filters(
            sources=cast("tuple[Source, ...]", tuple(dict.fromkeys(self._values.get("source", [])))),
            paths=cast("tuple[str, ...]", tuple(dict.fromkeys(self._values.get("path", [])))),
            dialects=cast("tuple[str, ...]", tuple(dict.fromkeys(self._values.get("dialect", [])))),
            after=max(days["after"], default=None),
            before=min(days["before"], default=None),
        )


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of phrases, and of phrases and filters; compiled for queries that have a mark, as it takes 7 ms."""
    return re.compile(_QUOTED), re.compile(_FILTER)


def parse_query(text: str, *, today: Callable[[], date] | None = None) -> Query:
    """Read a query; any text is a query and nothing in it is an error.

    `"quoted"` is an exact phrase when the quotes stand around whole words, an unpaired quote is text. Filters are
    `source:memory|sessions`, `path:TEXT` (or a pattern with `*`), `dialect:NAME`, `after:` and `before:` with
    `YYYY[-MM[-DD]]`, `today`, `yesterday` or an age such as `7d`, `2w`, `3m`, `1y`; values may be quoted. A word with
    a colon that is none of these is text. NUL is left out; other control characters and lone
    surrogates read as blanks.
    """
    cleaned = text[:MAX_LENGTH].replace("\0", "")
    if not cleaned.isprintable():
        cleaned = _UNREADABLE.sub(" ", cleaned)
    reader = _FilterReader(today or (lambda: datetime.now().astimezone().date()))
    asked = semantic_text = " ".join(cleaned.split())
    phrases: list[str] = []
    if not _MARKS.isdisjoint(cleaned):
        phrase_pattern, filter_pattern = _patterns()
        asked = " ".join(filter_pattern.sub(reader.take, cleaned).split())
        phrases = [phrase for match in phrase_pattern.finditer(asked) if fold(phrase := match["phrase"].strip())]
        semantic_text = " ".join(phrase_pattern.sub(r" \g<phrase> ", asked).split())
    folded = fold(asked)
    if not folded.strip('" '):
        return Query("", "", "", filters=reader.filters(), typed_filters=tuple(reader.typed))
    return Query(
        text=asked,
        semantic_text=semantic_text,
        folded=folded,
        phrases=tuple(dict.fromkeys(phrases)),
        filters=reader.filters(),
        typed_filters=tuple(reader.typed),
    )
