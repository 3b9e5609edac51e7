"""Makes hits of what qmd found: reads each file again and cites the lines that really hold the match."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw

from core.backends.qmd_collections import Collection, document_path
from core.backends.qmd_output import RawHit
from core.errors import Undecodable
from core.records import record
from core.search.query import Query
from core.search.scope import asked_ms, passes
from core.search.snippet import Match, find_match, snippet
from core.search.terms import Terms, Tokenizer, Vocabulary
from core.sources.workspace import open_readable
from core.text.analysis import fold
from core.text.days import name_date_ms
from core.text.headings import heading_path
from core.text.lines import decode, split_lines
from core.types import Hit, ScoreParts, Source

MAX_BYTES = 8 << 20
"""Of a larger file no line can be verified."""
MOST_LINES = 12
"""Lines that a hit cites at most."""

_WORDS = ("search", "lex")


@record(frozen=True, slots=True)
class FoundDocument:
    """The document that a file of a collection stands for, as it is now.

    `lines` are its text lines; `physical[i]` is the line that is cited for the i-th, empty where it is i + 1;
    `times[i]` is when it was said (epoch ms), if that is known.
    """

    source: Source
    path: str
    lines: Sequence[str]
    physical: Sequence[int] = ()
    times: Sequence[int | None] = ()
    hash: str = ""
    date_ms: int | None = None
    mtime_ms: int = 0
    dialect: str | None = None
    title: str | None = None


class Stale(Exception):
    """qmd's index shows a text that the file no longer holds."""


def open_memory_file(
    collection: Collection, path: str, *, workspace: Path, extra_paths: Sequence[str], home: Path
) -> FoundDocument:
    """Read a collection's Markdown file by the rules of what may be read. Raises NotAllowed, OSError, Undecodable."""
    document = document_path(os.path.normpath(f"{collection.root}/{path}"), workspace)
    descriptor = open_readable(document, workspace=workspace, extra_paths=extra_paths, home=home)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        mtime_ms = os.fstat(descriptor).st_mtime_ns // 1_000_000
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Undecodable(f"{document} is larger than {MAX_BYTES:,} bytes")
    return FoundDocument(
        source=collection.source,
        path=document,
        lines=split_lines(decode(data).text),
        hash=hashlib.sha256(data).hexdigest(),
        date_ms=name_date_ms(document),
        mtime_ms=mtime_ms,
    )


class HitMaker:
    """Makes hits for one query, on one thread."""

    def __init__(self, query: Query, *, mode: str, max_chars: int) -> None:
        self._query = query
        self._mode = mode
        self._max_chars = max_chars
        self._connection = apsw.Connection(":memory:")
        self._tokenizer = Tokenizer(self._connection)

    def close(self) -> None:
        self._connection.close()

    @property
    def terms(self) -> tuple[str, ...]:
        """The words to mark."""
        asked = self._terms(()).asked
        return tuple(dict.fromkeys([*self._query.phrases, *(term.word for term in asked)]))

    def asked_part(self, document: FoundDocument) -> FoundDocument | None:
        """The document as the query's filters ask for it, None where they do not.

        Where it is known when each line was said, those of another time are blank.
        """
        filters = self._query.filters
        if not passes(filters, source=document.source, path=document.path, dialect=document.dialect):
            return None
        first, end = asked_ms(filters)
        moment = document.date_ms if document.date_ms is not None else document.mtime_ms
        if not document.times:
            return document if first <= moment < end else None
        asked = [first <= (moment if time is None else time) < end for time in document.times]
        if not any(asked):
            return None
        if all(asked):
            return document
        lines = [line if inside else "" for line, inside in zip(document.lines, asked, strict=True)]
        return replace(document, lines=lines)

    def make(self, raw: RawHit, document: FoundDocument, *, ceiling: float = 1.0) -> Hit:
        """A hit whose lines are those of the best match, whatever line qmd guessed; its score is at most `ceiling`.

        Words: (qmd's score + share of the query's words in the document) / 2, since qmd's is 0 for words that most
        documents hold. Meaning: qmd's score.

        Where no word of the query stands in the text, qmd's own line is cited: if the words stand in the name or the
        title, or if the file still holds what qmd saw there (a match of the meaning). Raises Stale.
        """
        lines = document.lines
        if not lines:
            raise Stale
        terms = self._terms(lines)
        match = find_match("\n".join(lines), self._query, terms)
        if not match.found:
            name = find_match(f"{document.path} {raw.title} {document.title or ''}", self._query, terms)
            if not name.found and not shows(raw, lines):
                raise Stale
            match = Match(_nearest(lines, raw.line - 1), 0, name.matched, False)
        score = raw.score
        if self._mode in _WORDS:
            score = (score + len(match.matched) / max(1, len(terms.asked))) / 2
        score = min(ceiling, score)
        first, last = cited_lines(lines, match.line, self._max_chars)
        physical = document.physical or range(1, len(lines) + 1)
        text = "\n".join(lines[first : last + 1])
        said_ms = document.times[match.line] if document.times else None
        within = Match(match.line - first, match.start, match.matched, match.found)
        return Hit(
            chunk_id=0,
            source=document.source,
            path=document.path,
            start_line=min(physical[first : last + 1]),
            end_line=max(physical[first : last + 1]),
            line=physical[match.line],
            score=score,
            parts=self._parts(raw, match, score),
            snippet=snippet(text, within, limit=self._max_chars),
            heading=heading_path(lines, match.line + 1) if document.source == "memory" else (),
            date_ms=document.date_ms if said_ms is None else said_ms,
            dialect=document.dialect,
            document_hash=document.hash,
        )

    def _parts(self, raw: RawHit, match: Match, score: float) -> ScoreParts:
        return ScoreParts(
            score=score,
            vector=raw.score if self._mode == "vsearch" else None,
            text=raw.score if self._mode in _WORDS else None,
            matched=match.matched,
            evidence={"qmd": raw.score},
        )

    def _terms(self, lines: Sequence[str]) -> Terms:
        vocabulary = _LineVocabulary(self._connection, self._tokenizer, [fold(line) for line in lines])
        return vocabulary.terms(self._query.text, chunks=len(lines))


class _LineVocabulary(Vocabulary):
    """How many lines of one document hold a word: the rare ones tell where the answer stands."""

    def __init__(self, connection: apsw.Connection, tokenizer: Tokenizer, folded: Sequence[str]) -> None:
        super().__init__(connection, tokenizer)
        self._folded = folded

    def frequency(self, token: str) -> int:
        return sum(token in line for line in self._folded)

    def beginning_frequency(self, start: str) -> int:
        """0: qmd has chosen the document by its own stems, a word that is not in it points at no line."""
        return 0


def below_head(raw: RawHit, head: int) -> RawHit:
    """What qmd says of a file, without the file's first `head` lines, which are not the document's."""
    first = raw.first - head
    hidden = max(0, 1 - first)
    return replace(
        raw,
        line=max(1, raw.line - head),
        first=max(1, first),
        count=max(0, raw.count - hidden),
        snippet=raw.snippet[hidden:],
    )


def shows(raw: RawHit, lines: Sequence[str]) -> bool:
    """Whether a document still has qmd's snippet where qmd saw it. The snippet's last line may be cut off."""
    shown = list(raw.snippet)
    while shown and not shown[-1].strip():
        shown.pop()
    if not shown or raw.count == 0 or raw.first > len(lines):
        return False
    whole = lines[raw.first - 1 : raw.first - 1 + len(shown)]
    if len(whole) < len(shown):
        return False
    cut = shown[-1].removesuffix("...").removesuffix("…")
    return [line.rstrip() for line in whole[:-1]] == [line.rstrip() for line in shown[:-1]] and whole[-1].startswith(
        cut.rstrip()
    )


def _nearest(lines: Sequence[str], at: int) -> int:
    """The line (0-based) nearest to `at` that is not blank; `at`, within the text, where all are."""
    at = min(at, len(lines) - 1)
    return min((number for number, line in enumerate(lines) if line.strip()), key=lambda n: abs(n - at), default=at)


def cited_lines(lines: Sequence[str], at: int, limit: int) -> tuple[int, int]:
    """First and last line (0-based) around `at` that make up to `limit` characters, blank ones at the ends left out."""
    first = last = at
    size = len(lines[at])
    grown = True
    while grown and last - first + 1 < MOST_LINES:
        grown = False
        if last + 1 < len(lines) and size + 1 + len(lines[last + 1]) <= limit:
            last += 1
            size += 1 + len(lines[last])
            grown = True
        before = at - first < (last - at + 1) // 2 or not grown
        if first > 0 and before and last - first + 1 < MOST_LINES and size + 1 + len(lines[first - 1]) <= limit:
            first -= 1
            size += 1 + len(lines[first])
            grown = True
    while first < at and not lines[first].strip():
        first += 1
    while last > at and not lines[last].strip():
        last -= 1
    return first, last
