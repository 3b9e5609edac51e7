"""Text for rows and titles: made visible, cut and padded by terminal cells, with the words of a query marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from core import counted as counted
from core import late_regex, visible

_BLANKS = late_regex(r"[ \t\n]+")
MARK_LIMIT = 4000
"""Characters of one text that are searched for words to mark."""


def shown(text: str) -> str:
    """One line of anyone's text, fit for the screen: no control characters, white space collapsed."""
    return visible(_BLANKS.sub(" ", text).strip(" "))


def why(error: BaseException) -> str:
    """An error as people are told of it: what the system says, without number and path."""
    return shown((error.strerror if isinstance(error, OSError) else None) or str(error))


def shown_path(path: str) -> str:
    """A path as it is, fit for the screen: its blanks tell it from others, and a newline is a mark."""
    return visible(path)


def fitted(text: str, cells: int) -> str:
    """`text` in exactly `cells` terminal cells, with an ellipsis where it was cut."""
    if cells <= 0:
        return ""
    if cell_len(text) <= cells:
        return text + " " * (cells - cell_len(text))
    return set_cell_size(text, cells - 1) + "…"


def elided_path(path: str, cells: int) -> str:
    """`path` in at most `cells` cells; the middle goes, the file's name stays as long as it can."""
    if cell_len(path) <= cells:
        return path
    head, slash, name = path.rpartition("/")
    room = cells - cell_len(name) - 2
    if slash and room >= 2:
        return f"{set_cell_size(head, room).rstrip()}…/{name}"
    tail = path
    while tail and cell_len(tail) > max(cells - 1, 0):
        tail = tail[1:]
    return f"…{tail}" if cells > 0 else ""


def elided_citation(path: str, lines: str, cells: int) -> str:
    """`path` + `lines` in at most `cells` cells; the line range is never cut."""
    return elided_path(path, max(cells - cell_len(lines), 1)) + lines


def cells_of(text: str) -> int:
    return cell_len(text)


def folded(text: str) -> tuple[str, list[int]]:
    """`text` without case, accents and width, and for each character of it the index it came from."""
    if text.isascii():
        return text.lower(), list(range(len(text)))
    letters: list[str] = []
    origin: list[int] = []
    for index, character in enumerate(text):
        for part in unicodedata.normalize("NFKD", character).casefold():
            if not unicodedata.combining(part):
                letters.append(part)
                origin.append(index)
    return "".join(letters), origin


def term_spans(text: str, terms: Iterable[str]) -> list[tuple[int, int]]:
    """Where the words of a query stand in `text`: (start, end) in characters, in order, without overlap.

    A Latin word counts where a word begins, so that `fail` marks `fails` but not `unfailing`.
    """
    words = sorted({folded(term)[0] for term in terms} - {""}, key=len, reverse=True)
    if not words or not text:
        return []
    plain, origin = folded(text[:MARK_LIMIT])
    pattern = "|".join((r"(?<!\w)" if re.match(r"[0-9a-z_]", word) else "") + re.escape(word) for word in words)
    return [(origin[m.start()], origin[m.end() - 1] + 1) for m in re.finditer(pattern, plain) if m.end() > m.start()]


def marked(text: str, terms: Sequence[str], style: str) -> Content:
    """`text` with the words of a query in `style`."""
    content = Content(text)
    for start, end in term_spans(text, terms):
        content = content.stylize(style, start, end)
    return content


def around_match(text: str, terms: Sequence[str], cells: int) -> str:
    """The part of a one-line `text` in which most different words of the query show in `cells` cells."""
    spans = term_spans(text, terms)
    if not spans or cell_len(text) <= cells:
        return text
    best_start, most = 0, 0
    for start in (0, *(max(0, begin - max(cells // 4, 1)) for begin, _ in spans)):
        room = cells if start == 0 else cells - 1
        seen = {folded(text[begin:end])[0] for begin, end in spans if start <= begin and end <= start + room}
        if len(seen) > most:
            best_start, most = start, len(seen)
    if best_start == 0:
        return text
    first = next(begin for begin, _ in spans if begin >= best_start)
    blank = text.find(" ", best_start, first)
    return "…" + text[blank + 1 if blank >= 0 else best_start :].lstrip()
