"""What a preview draws: a document with its cited lines, and one line of it as styled text of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from textual.content import Content
from textual.style import Style

from core import LineSource, Outline, record, visible
from tui.finding import needle_spans
from tui.text import term_spans, why
from tui.widgets.json_style import json_styles
from tui.widgets.markdown_style import line_styles

LINE_LIMIT = 2000
"""Characters of a line that are drawn; the rest is counted."""
LEAD = 200
"""Bytes that are drawn before a place far into a line."""
_TAB = 4

Kind = Literal["markdown", "json", "plain"]
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown", "mdx"), "markdown"),
    **dict.fromkeys(("json", "jsonl", "ndjson", "json5"), "json"),
}


def kind_of(path: str) -> Kind:
    """How a document's lines are coloured, by its name."""
    return _KINDS.get(path.rpartition(".")[2].lower(), "plain")


@record(frozen=True, slots=True)
class Page:
    """A document, its cited lines (1-based, inclusive; 0 for none) and the one that matches best.

    `offset` is how many bytes into a long best line what was found stands; 0 near its start.
    `outline` is None until it was read, and for what has none. `is_told`: the text is what is said of the document, and
    not the document's own.
    """

    source: LineSource
    path: str
    first: int = 0
    last: int = 0
    best: int = 0
    offset: int = 0
    terms: tuple[str, ...] = ()
    outline: Outline | None = None
    kind: Kind = "markdown"
    is_told: bool = False

    @property
    def place(self) -> tuple[str, int, int, int, int]:
        return self.path, self.first, self.last, self.best, self.offset

    def trail(self, line: int) -> tuple[str, ...]:
        """The headings that a line stands under, outermost first."""
        return self.outline.trail(line) if self.outline is not None else ()


def drawn_line(page: Page, line: int, needle: str, style: Callable[[str], Style], offset: int = 0) -> Content:
    """A line with its parts, the query's words and the words looked for in their styles; cut where it is long.

    With an `offset` it is the part around that byte of the line.
    """
    source = page.source
    start = max(offset - LEAD, 0) if offset else 0
    try:
        read = source.part(line, start, LINE_LIMIT + 1) if start else source.line(line, width=LINE_LIMIT + 1)
    except OSError as error:
        return Content.styled(f"cannot be read any more: {why(error)}", style("note"))
    text = visible(read[:LINE_LIMIT].expandtabs(_TAB))
    content = Content(text)
    for first, last, kind in _parts(page, line, text) if not start else ():
        content = content.stylize(style(kind), first, last)
    if page.first <= line <= page.last:
        for first, last in term_spans(text, page.terms):
            content = content.stylize(style("term"), first, last)
    for first, last in needle_spans(text, needle):
        content = content.stylize(style("found"), first, last)
    if start:
        content = Content.styled(f"(from byte {start:,}) … ", style("note")) + content
    if len(read) > LINE_LIMIT or start:
        more = " …" if len(read) > LINE_LIMIT else ""
        content += Content.styled(f"{more} ({source.line_bytes(line):,} bytes in this line)", style("note"))
    return content


def _parts(page: Page, line: int, text: str) -> Iterator[tuple[int, int, str]]:
    match page.kind:
        case "markdown":
            return line_styles(text, page.outline is not None and page.outline.in_fence(line))
        case "json":
            return json_styles(text)
        case _:
            return iter(())
