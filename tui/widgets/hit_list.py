"""The hits of a search, one or two lines each."""

from __future__ import annotations

import time

from textual.content import Content

from core import Hit
from tui.text import around_match, cells_of, elided_citation, fitted, marked, shown
from tui.widgets.row_list import RowList

CITATION_CELLS = 33
GONE_MARK = "source gone  "


class HitList(RowList[Hit]):
    """Score, what found it (= literally, t by words, v by meaning), citation, and snippet with the words marked."""

    terms: tuple[str, ...] = ()

    def key(self, item: Hit) -> str:
        return str(item.chunk_id)

    @property
    def row_height(self) -> int:
        return 2 if self.wide else 1

    def row(self, item: Hit, width: int) -> Content:
        return self._two_lines(item, width) if self.wide else self._one_line(item, width)

    def _one_line(self, hit: Hit, width: int) -> Content:
        score = f" {_score(hit.score)} {_found_by(hit):<3} "
        room = max(min(CITATION_CELLS, width - cells_of(score) - 1), 8)
        citation = fitted(_citation(hit, room), room)
        left = max(width - cells_of(score) - room - 2, 0)
        return Content.assemble((score, "$text-muted"), (citation, "$primary"), "  ", self._snippet(hit, left))

    def _two_lines(self, hit: Hit, width: int) -> Content:
        score = f" {_score(hit.score)} {_found_by(hit):<3} "
        date = "" if hit.date_ms is None else time.strftime("  %Y-%m-%d", time.localtime(hit.date_ms / 1000))
        room = max(width - cells_of(score) - cells_of(date) - 1, 8)
        citation = _citation(hit, room)
        heading = shown(" › ".join(hit.heading))
        left = room - cells_of(citation) - 2
        tail = fitted(f"  {heading}", left).rstrip() if heading and left > 8 else ""
        indent = " " * cells_of(score)
        return Content.assemble(
            (score, "$text-muted"), (citation, "$primary"), (date + tail, "$text-muted"), "\n",
            indent, self._snippet(hit, max(width - len(indent), 0)),
        )  # fmt: skip

    def _snippet(self, hit: Hit, cells: int) -> Content:
        """The text around the match, behind a mark where its transcript is gone."""
        mark = GONE_MARK[:cells] if hit.source_gone else ""
        snippet = marked(around_match(shown(hit.snippet), self.terms, cells - len(mark)), self.terms, "bold $accent")
        return Content.assemble((mark, "$warning"), snippet) if mark else snippet


def _citation(hit: Hit, cells: int) -> str:
    lines = str(hit.citation)[len(hit.path) :]
    return elided_citation(shown(hit.path), lines, cells)


def _score(score: float) -> str:
    """A score from 0 to 1 in four cells."""
    return "1.00" if score >= 0.9995 else f"{score:.3f}"[1:]


def _found_by(hit: Hit) -> str:
    parts = hit.parts
    return ("=" if parts.literal else "") + ("t" if parts.text is not None else "") + ("v" if parts.vector else "")
