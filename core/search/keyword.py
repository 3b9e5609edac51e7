"""The keyword leg: BM25 of any word of the query."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from core.search.evidence import beginning
from core.search.terms import Term
from core.store.database import id_array

HEAD_WEIGHT, BODY_WEIGHT = 2.0, 1.0
ROW_BUDGET = 30_000
"""Postings that one search scores; the rarest words come first, and one word is always asked."""


def affordable(terms: Sequence[Term], budget: int = ROW_BUDGET) -> tuple[Term, ...]:
    """The rarest terms whose postings fit the budget together, in the query's order; unknown words are left out."""
    chosen: set[int] = set()
    spent = 0
    costs = [term.frequency or term.beginning_frequency for term in terms]
    for position in sorted(range(len(terms)), key=costs.__getitem__):
        if not costs[position]:
            continue
        spent += costs[position]
        if chosen and spent > budget:
            break
        chosen.add(position)
    return tuple(terms[position] for position in sorted(chosen))


def match_any(terms: Sequence[Term]) -> str:
    """An FTS5 expression for chunks that hold any of the terms, or words that begin like one that is nowhere."""
    return " OR ".join(f"{quoted(term.beginning)}*" if term.beginning else quoted(term.word) for term in terms)


def match_nearly(terms: Sequence[Term]) -> str:
    """The same, but the beginnings are those of another form of the word: three quarters of it."""
    return " OR ".join(
        f"{quoted(beginning(term.word, 3, 4))}*" if term.beginning else quoted(term.word) for term in terms
    )


def match_all(terms: Sequence[Term]) -> str:
    """An FTS5 expression for chunks that hold every term."""
    return " AND ".join(quoted(term.word) for term in terms)


def quoted(text: str) -> str:
    """Text as an FTS5 string, which nothing in it can leave."""
    return '"' + text.replace('"', '""') + '"'


def best_by_words(
    connection: apsw.Connection, expression: str, *, limit: int, allowed: Sequence[int] | None = None
) -> dict[int, float]:
    """The best chunks of an FTS5 expression by bm25(2, 1): id → r = −bm25, best first, ties by id.

    `allowed` are the only chunk ids that may be found; None allows all.
    """
    if not expression:
        return {}
    scope = "" if allowed is None else "AND +rowid IN (SELECT value FROM carray(?3)) "
    values: list[object] = [expression, limit]
    if allowed is not None:
        values.append(id_array(allowed))
    found = connection.execute(
        f"SELECT rowid, -bm25(chunks_fts, {HEAD_WEIGHT}, {BODY_WEIGHT}) AS r FROM chunks_fts "
        f"WHERE chunks_fts MATCH ?1 {scope}ORDER BY r DESC, rowid LIMIT ?2",
        values,
    )
    return {int(chunk_id): max(float(r), 0.0) for chunk_id, r in found}


def those_with(connection: apsw.Connection, expression: str, ids: Sequence[int]) -> frozenset[int]:
    """Which of `ids` match an FTS5 expression."""
    if not expression or not ids:
        return frozenset()
    found = connection.execute(
        "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND +rowid IN (SELECT value FROM carray(?))",
        (expression, id_array(ids)),
    )
    return frozenset(int(chunk_id) for (chunk_id,) in found)
