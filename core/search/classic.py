"""The rule of OpenClaw: all words, 0.7/0.3, a least score, and keyword hits in the places that stay free."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from core.search.fusion import Candidate
from core.search.keyword import best_by_words, match_all, match_any
from core.search.retrieval import Meaning
from core.search.semantic import SemanticHits, nearest
from core.search.terms import Term, Terms
from core.store.database import Database

VECTOR_WEIGHT, TEXT_WEIGHT = 0.7, 0.3
MIN_SCORE = 0.35
MOST_CANDIDATES = 200
MOST_KEYWORDS = 6


def pool_size(max_results: int, multiplier: int) -> int:
    """How many candidates each leg brings: results × multiplier, 1..200."""
    return min(MOST_CANDIDATES, max(1, max_results * multiplier))


def by_all_words(
    connection: apsw.Connection, terms: Terms, *, limit: int, allowed: Sequence[int] | None
) -> dict[int, float]:
    """r = −bm25 of chunks that hold every word; where none does, of chunks with one of up to six keywords."""
    once = list({term.tokens: term for term in terms.all}.values())
    found = best_by_words(connection, match_all(once), limit=limit, allowed=allowed)
    if found:
        return found
    keywords: list[Term] = [term for term in terms.asked if term.frequency][:MOST_KEYWORDS]
    for term in keywords:
        for chunk_id, r in best_by_words(connection, match_any([term]), limit=limit, allowed=allowed).items():
            found[chunk_id] = max(r, found.get(chunk_id, 0.0))
    best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(best[:limit])


def gather(
    database: Database,
    terms: Terms,
    meaning: Meaning | None,
    *,
    limit: int,
    allowed: Sequence[int] | None,
    vector_weight: float,
    with_words: bool = True,
) -> tuple[list[Candidate], SemanticHits | None]:
    """Candidates with their scores: vw·vectorScore + tw·textScore, a missing side being 0; without a vector textScore.

    vectorScore = max(0, cosine), textScore = r/(1 + r).
    """
    words = by_all_words(database.connection, terms, limit=limit, allowed=allowed) if with_words else {}
    semantic = None
    if meaning is not None:
        semantic = nearest(
            database, meaning.identity, meaning.matrix, meaning.vector, limit=limit, allowed=allowed, also=()
        )
    candidates = []
    for chunk_id in dict.fromkeys([*words, *(semantic.best if semantic is not None else ())]):
        candidate = Candidate(chunk_id, words=words.get(chunk_id, 0.0))
        if semantic is not None:
            candidate.cosine = semantic.best.get(chunk_id)
        vector, text = candidate.vector_score or 0.0, candidate.text_score or 0.0
        if semantic is None:
            candidate.score = text
        else:
            candidate.score = vector_weight * vector + (1.0 - vector_weight) * text if with_words else vector
        candidate.fused = candidate.score
        candidates.append(candidate)
    return candidates, semantic
