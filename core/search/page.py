"""The page of hits: neighbours made one, places shared between sources, snippets cut."""

from __future__ import annotations

from collections.abc import Sequence

from core.records import record
from core.search.decay import text_date_ms
from core.search.fusion import Candidate
from core.search.query import Filters, Query
from core.search.rows import ChunkRow, Rows
from core.search.snippet import find_match, snippet
from core.search.terms import Terms
from core.text.days import day_start_ms
from core.types import Hit, ScoreParts


@record(slots=True, eq=False)
class Place:
    """One hit in the making: its best candidate, and the run of a document's chunks that it covers."""

    best: Candidate
    file_id: int
    first: int
    last: int
    start_line: int
    end_line: int

    def touches(self, file_id: int, first: int, last: int, start_line: int, end_line: int) -> bool:
        """Whether a run of chunks overlaps this one or follows on it."""
        if file_id != self.file_id:
            return False
        follows = first <= self.last + 1 and last >= self.first - 1
        return follows or (start_line <= self.end_line and end_line >= self.start_line)

    def take(self, other: Place) -> None:
        """Cover another place's run too."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.start_line = min(self.start_line, other.start_line)
        self.end_line = max(self.end_line, other.end_line)


def fill_page(ranked: Sequence[Candidate], rows: Rows, count: int) -> list[Place]:
    """The first `count` places of a ranked list, overlapping and adjacent chunks of a document being one.

    Chunks that would have had a place of their own widen the hit that they touch; the places that this frees go to
    the next in the list. Later chunks that touch a hit are left out, so that a long document does not flow together.
    """
    places: list[Place] = []
    for rank, candidate in enumerate(ranked):
        if len(places) >= count and rank >= count:
            break
        row = rows[candidate.chunk_id]
        place = Place(candidate, row.file_id, row.ordinal, row.ordinal, row.start_line, row.end_line)
        touched = [
            other
            for other in places
            if other.touches(row.file_id, row.ordinal, row.ordinal, row.start_line, row.end_line)
        ]
        if not touched:
            places.append(place)
        elif rank < count:
            for other in (place, *touched[1:]):
                touched[0].take(other)
            places = [other for other in places if other not in touched[1:]]
    return places


def keep_memory(places: list[Place], ranked: Sequence[Candidate], rows: Rows) -> list[Place]:
    """The page with its last place given to the best hit of memory, where transcripts alone would fill it."""
    if len(places) < 2 or any(rows.file(place.best.chunk_id).source == "memory" for place in places):
        return places
    for candidate in ranked:
        row = rows[candidate.chunk_id]
        if rows.file(candidate.chunk_id).source == "memory":
            rescued = Place(candidate, row.file_id, row.ordinal, row.ordinal, row.start_line, row.end_line)
            return [*places[:-1], rescued]
    return places


def make_hit(place: Place, rows: Rows, query: Query, terms: Terms) -> Hit:
    """A place with its line, snippet and explanation."""
    candidate = place.best
    row, file = rows[candidate.chunk_id], rows.file(candidate.chunk_id)
    match = find_match(row.text, query, terms)
    line_map = row.line_map
    physical = line_map[match.line] if match.line < len(line_map) else row.start_line + match.line
    line = min(max(physical, row.start_line), row.end_line) if match.found else row.start_line
    head = find_match(" ".join((*row.heading, file.path)), query, terms) if candidate.has_words else match
    matched = tuple(term.word for term in terms.asked if term.word in match.matched or term.word in head.matched)
    return Hit(
        chunk_id=candidate.chunk_id,
        source=file.source,
        path=file.path,
        start_line=place.start_line,
        end_line=place.end_line,
        line=line,
        score=candidate.score,
        parts=ScoreParts(
            score=candidate.score,
            vector=candidate.vector_score,
            text=candidate.text_score,
            literal=candidate.literal,
            decay=candidate.decay,
            diversity=candidate.diversity,
            matched=matched,
            evidence=candidate.evidence(),
        ),
        snippet=snippet(row.text, match),
        heading=row.heading,
        date_ms=text_date_ms(file, _asked_moment(row, query.filters)),
        dialect=file.dialect,
        document_hash=file.hash,
        source_gone=bool(file.source_gone),
    )


def _asked_moment(row: ChunkRow, filters: Filters) -> int | None:
    """When a text was said last, or first where the last is later than what is asked for."""
    if row.observed_from_ms is not None and row.observed_ms is not None and filters.before is not None:
        return row.observed_from_ms if row.observed_ms >= day_start_ms(filters.before) else row.observed_ms
    return row.observed_ms
