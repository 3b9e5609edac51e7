"""The hits of a search, one or two lines each, in the order of their scores or document by document."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from core import Hit
from tui.text import around_match, cells_of, counted, elided_citation, elided_path, fitted, marked, shown, shown_path
from tui.widgets.row_list import RowList

CITATION_CELLS = 33
FEWEST_SNIPPET_CELLS = 10
"""With less room than that the citation has all of it."""
GONE_MARK = "source gone  "
LINES_CELLS = 13


class HitList(RowList[Hit]):
    """Score, what found it (= literally, t by words, v by meaning), citation, and snippet with the words marked.

    Grouped, the hits of a document stand below a row with its path, in the order of their scores. A folded document is
    one row, which stands for its best hit.
    """

    terms: tuple[str, ...] = ()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hits: tuple[Hit, ...] = ()
        self.grouped = False
        self._folded: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._heads: frozenset[int] = frozenset()

    def key(self, item: Hit) -> str:
        return str(item.chunk_id)

    @property
    def row_height(self) -> int:
        return 2 if self.wide and not self.grouped else 1

    # Which hits have a row

    def show(self, items: Sequence[Hit], *, keep: str | None = None) -> None:
        self.hits = tuple(items)
        self._arrange(keep)

    def group(self) -> None:
        """Group by document, or go back to one list; the hit in force stays so."""
        current = self.current
        self.grouped = not self.grouped
        self._folded.clear()
        self._arrange(None if current is None else self.key(current))
        self.refresh()

    def fold(self, folded: bool) -> None:
        """Fold the document of the hit in force, or show its hits."""
        current = self.current
        if self.grouped and current is not None:
            (self._folded.add if folded else self._folded.discard)(current.path)
            best = next(hit for hit in self.hits if hit.path == current.path)
            self._arrange(self.key(best if folded else current))

    def _arrange(self, keep: str | None) -> None:
        marks = self.marked & {self.key(hit) for hit in self.hits}
        groups: dict[str, list[Hit]] = {}
        for hit in self.hits:
            groups.setdefault(hit.path, []).append(hit)
        rows: list[Hit] = []
        heads: set[int] = set()
        for path, group in groups.items():
            if path not in self._folded:
                heads.add(len(rows))
                rows.append(group[0])
            rows += group[:1] if path in self._folded else group
        self._counts = Counter(hit.path for hit in self.hits)
        self._heads = frozenset(heads) if self.grouped else frozenset()
        super().show(rows if self.grouped else self.hits, keep=keep)
        self.marked = marks

    def rests(self, index: int) -> bool:
        return index not in self._heads

    def place_of(self, key: str) -> int | None:
        """The row of a hit, or of its document while that is folded."""
        path = next((hit.path for hit in self.hits if self.key(hit) == key), None)
        rows = [(index, item) for index, item in enumerate(self.items) if item.path == path and self.rests(index)]
        first = rows[0][0] if rows else None
        return next((index for index, item in rows if self.key(item) == key), first)

    @property
    def marked_items(self) -> list[Hit]:
        return [hit for hit in self.hits if self.key(hit) in self.marked]

    # How they look

    def row_at(self, index: int, width: int) -> Content:
        item = self.items[index]
        if index in self._heads:
            return self._path_line("▾", item, width, _day(item))
        if self.grouped and item.path in self._folded:
            return self._path_line("▸", item, width, f"best {_score(item.score)}")
        return self.row(item, width)

    def row(self, item: Hit, width: int) -> Content:
        if self.grouped:
            return self._line_below(item, width)
        return self._two_lines(item, width) if self.wide else self._one_line(item, width)

    def _one_line(self, hit: Hit, width: int) -> Content:
        score = f" {_score(hit.score)} {_found_by(hit):<3} "
        room = width - cells_of(score) - 1
        room = max(room if room < CITATION_CELLS + FEWEST_SNIPPET_CELLS else CITATION_CELLS, 8)
        citation = fitted(_citation(hit, room), room)
        head = Content.assemble((score, "$text-muted"), (citation, "$primary"))
        left = width - head.cell_length - 2
        return Content.assemble(head, "  ", self._snippet(hit, left)) if left > 0 else head

    def _two_lines(self, hit: Hit, width: int) -> Content:
        score = f" {_score(hit.score)} {_found_by(hit):<3} "
        date = f"  {day}" if (day := _day(hit)) else ""
        room = max(width - cells_of(score) - cells_of(date) - 1, 8)
        citation = _citation(hit, room)
        tail = _heading(hit, room - cells_of(citation) - 2)
        indent = " " * cells_of(score)
        return Content.assemble(
            (score, "$text-muted"), (citation, "$primary"), (date + tail, "$text-muted"), "\n",
            indent, self._snippet(hit, width - len(indent)),
        )  # fmt: skip

    def _path_line(self, sign: str, hit: Hit, width: int, detail: str) -> Content:
        """The row of a document: its path, how many hits it has, and a detail."""
        tail = " · ".join(filter(None, (counted(self._counts[hit.path], "hit"), detail)))
        room = max(width - cells_of(tail) - 5, 8)
        path = fitted(elided_path(shown_path(hit.path), room), room)
        return Content.assemble(f" {sign} ", (path, "bold $primary"), (f" {tail} ", "$text-muted"))

    def _line_below(self, hit: Hit, width: int) -> Content:
        """A hit below the row of its document."""
        score = f"   {_score(hit.score)} {_found_by(hit):<3} "
        head = Content.assemble((score, "$text-muted"), (fitted(_lines(hit), LINES_CELLS), "$primary"))
        return Content.assemble(head, "  ", self._snippet(hit, width - head.cell_length - 2))

    def _snippet(self, hit: Hit, cells: int) -> Content:
        """The text around the match, behind a mark where its transcript is gone."""
        cells = max(cells, 0)
        mark = GONE_MARK[:cells] if hit.source_gone else ""
        snippet = marked(around_match(shown(hit.snippet), self.terms, cells - len(mark)), self.terms, "bold $accent")
        return Content.assemble((mark, "$warning"), snippet) if mark else snippet


def _lines(hit: Hit) -> str:
    """`L12-L20`"""
    return str(hit.citation)[len(hit.path) + 1 :]


def _day(hit: Hit) -> str:
    return "" if hit.date_ms is None else time.strftime("%Y-%m-%d", time.localtime(hit.date_ms / 1000))


def _heading(hit: Hit, cells: int) -> str:
    """The headings above a hit in at most `cells` cells, two of them blank; "" without room."""
    heading = shown(" › ".join(hit.heading))
    return fitted(f"  {heading}", cells).rstrip() if heading and cells > 8 else ""


def _citation(hit: Hit, cells: int) -> str:
    lines = str(hit.citation)[len(hit.path) :]
    return elided_citation(shown_path(hit.path), lines, cells)


def _score(score: float) -> str:
    """A score from 0 to 1 in four cells."""
    return "1.00" if score >= 0.9995 else f"{score:.3f}"[1:]


def _found_by(hit: Hit) -> str:
    parts = hit.parts
    return ("=" if parts.literal else "") + ("t" if parts.text is not None else "") + ("v" if parts.vector else "")
