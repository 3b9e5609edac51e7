"""Reads what qmd prints: hits as JSON with noise around it, counts of an update, complaints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from core.errors import BackendError
from core.records import record
from core.text.lines import scrub

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? @@[^\n]*(?:\n|$)")
_COUNTS = re.compile(r"Indexed: (\d+) new, (\d+) updated, (\d+) unchanged, (\d+) removed")
_UNREADABLE = re.compile(r"Skipped unreadable file: (.+)")
_NOTHING = re.compile(r"no results found", re.I)
_STACK = re.compile(r"^(?:\s+at |file://|Node\.js v|\s*\^|\s*throw |\s*$)")
_ERROR = re.compile(r"^(?:\[?(?:\w*Error)(?: \[\w+\])?: )?")


@record(frozen=True, slots=True)
class RawHit:
    """A file that qmd found. `line` is its guess, `first` and `count` the lines of `snippet`; lines are 1-based.

    `count` is 0 where the snippet does not say which lines it shows.
    """

    collection: str
    path: str
    score: float
    line: int
    first: int
    count: int
    snippet: tuple[str, ...]
    title: str


@record(frozen=True, slots=True)
class UpdateCounts:
    """What an update did to the documents of all collections."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    unreadable: tuple[str, ...] = ()


def plain(text: str) -> str:
    """`text` without colour codes and other escape sequences."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def parse_hits(output: str, *, index: str) -> list[RawHit]:
    """The hits of a search, best first; lines around the JSON are left out. Raises BackendError where there is none.

    `index` is the name of the index, which qmd appends to its addresses.
    """
    text = plain(output)
    found = None
    for array in _arrays(text):
        if array or found is None:
            found = array
        if array:
            break
    if found is None:
        if _NOTHING.search(text):
            return []
        said = " ".join(text.split())[:120]
        raise BackendError(f"qmd answered without JSON: {said}" if said else "qmd answered nothing")
    return [hit for entry in found if (hit := _hit(entry, index)) is not None]


def _arrays(text: str) -> Iterator[list[dict[str, object]]]:
    """The JSON arrays of objects that stand in a text."""
    decoder = json.JSONDecoder()
    at = text.find("[")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
                yield value
        at = text.find("[", end)


def _hit(entry: dict[str, object], index: str) -> RawHit | None:
    place = split_address(entry.get("file"), index=index)
    if place is None:
        return None
    snippet = entry.get("snippet")
    first, count, lines = split_snippet(snippet if isinstance(snippet, str) else "")
    score, title = entry.get("score"), entry.get("title")
    line = entry.get("line")
    return RawHit(
        collection=place[0],
        path=place[1],
        score=min(1.0, max(0.0, float(score))) if isinstance(score, int | float) and score == score else 0.0,
        line=line if isinstance(line, int) and line >= 1 else first,
        first=first,
        count=count,
        snippet=lines,
        title=scrub(title) if isinstance(title, str) else "",
    )


def split_address(address: object, *, index: str) -> tuple[str, str] | None:
    """Collection and path of `qmd://collection/path?index=NAME`; None for anything else."""
    if not isinstance(address, str):
        return None
    inner = address.removeprefix("qmd://").removesuffix(f"?index={index}")
    collection, slash, path = inner.partition("/")
    if not slash or not collection or not path or scrub(path) != path:
        return None
    return collection, path


def split_snippet(snippet: str) -> tuple[int, int, tuple[str, ...]]:
    """First line, number of lines and the lines of a snippet that begins with `@@ -START,COUNT @@`."""
    head = _RANGE.match(snippet)
    body = snippet[head.end() :] if head is not None else snippet
    lines = tuple(line.removesuffix("\r") for line in scrub(body).split("\n"))
    if head is None or int(head[1]) < 1:
        return 1, 0, lines
    return int(head[1]), int(head[2] or 1), lines


def update_counts(output: str, errors: str) -> UpdateCounts:
    """What `update` prints of its work, summed up."""
    rows = [tuple(map(int, found)) for found in _COUNTS.findall(plain(output))]
    new, updated, unchanged, removed = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0, 0)
    return UpdateCounts(new, updated, unchanged, removed, tuple(_UNREADABLE.findall(plain(errors))))


def error_words(stderr: str, stdout: str = "") -> str:
    """The line of qmd's complaint that says most, without stack traces; empty where it said nothing."""
    for text in (stderr, stdout):
        lines = [line for line in plain(text).splitlines() if not _STACK.match(line)]
        if named := _with_error(lines):
            return named[:300]
        if lines:
            return lines[0].strip()[:300]
    return ""


def _with_error(lines: Sequence[str]) -> str:
    for line in lines:
        head = _ERROR.match(line)
        if head is not None and head.end() > 0:
            return line[head.end() :].strip().rstrip("]{ ")
    return ""
