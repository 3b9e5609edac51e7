"""Fusion: one order and one score from words, exact text and meaning.

The standard rule, over the candidates C (the best chunks by words, the nearest by meaning, those with exact text):

    t     = words + 0.5·parts + 0.3·pairs + 2·identifiers
    fused = (1 − w)·z(cosine) + w·z(t)

words is r = −bm25 of any word of the query; parts, pairs and identifiers are the sums of evidence.py and literal.py.
z(cosine) is the standard score over all chunks that have a vector. z(t) is that over all chunks too: those outside of
C, and those without any such evidence, have t = 0 and z(t) = 0 where t = 0. A chunk without a vector has z(cosine) = 0.
w is the share of words: the model's own, or the settings'; without a query vector it is 1. In an index of fewer than
50 chunks, where such statistics mean nothing, fused = distinct query words found + max(0, cosine).
A query of up to three words means all of them: a chunk that holds all is lifted just above the best of those that lack
one, however often that one holds the others.

Scores are a logistic of the fused evidence, anchored at the first hit's strength:

    strength = 1 − (1 − L(6.5·coverage − 3.5))·(1 − L(12·(cosine − floor − 0.1)))        L(x) = 1 / (1 + e^−x)
    s        = L(ln(strength / (1 − strength)) − 0.35·(fused of the first − fused))
    score    = 0.9 + 0.1·s where the whole query stands literally, else 0.9·s

coverage is the share, weighed by rarity, of the query's words that the first hit holds, 1.5 times it where the query is
written without blanks (some pairs of its characters belong to no word), at most 1; floor is the cosine that the model
gives to unrelated text, or what two deviations above the mean of this query's cosines are, if that is more. So a query
without an answer has low scores, however far its first hit stands out.
Decay multiplies the score; the order is by what results, ties by path and line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.records import record

PARTS_WEIGHT = 0.5
PAIRS_WEIGHT = 0.3
IDENTIFIERS_WEIGHT = 2.0
DEFAULT_TEXT_WEIGHT = 0.6
LITERAL_FLOOR = 0.9
STEEPNESS = 0.35
PAIRS_COVER = 1.5
OUTSTANDING = 2.0
LIFT = 1e-3
MOST_STRENGTH = 0.99
LEAST_STRENGTH = 0.01
WEAK_SCORE = 0.3
"""Below it a first hit is likely no answer: of queries without an answer nine in ten stay below."""


@record(slots=True)
class Candidate:
    """A chunk under consideration: raw evidence first, then what fusion, decay and diversity make of it.

    `words` is r = −bm25, `kin` says that only words which begin a little like the query's were found, `complete` that
    it holds all words of a query of few, and `distinct` is how many it holds (known in tiny indexes only).
    """

    chunk_id: int
    words: float = 0.0
    parts: float = 0.0
    pairs: float = 0.0
    identifiers: float = 0.0
    kin: bool = False
    complete: bool = False
    distinct: int = 0
    cosine: float | None = None
    literal: bool = False
    text_z: float = 0.0
    vector_z: float = 0.0
    fused: float = 0.0
    score: float = 0.0
    decay: float = 1.0
    diversity: float | None = None

    @property
    def text(self) -> float:
        """All textual evidence in one number."""
        return (
            self.words + PARTS_WEIGHT * self.parts + PAIRS_WEIGHT * self.pairs + IDENTIFIERS_WEIGHT * self.identifiers
        )

    @property
    def has_words(self) -> bool:
        """Whether the chunk holds a word of the query, or exact text that was asked for."""
        return (self.words > 0 and not self.kin) or self.distinct > 0 or self.identifiers > 0 or self.literal

    @property
    def vector_score(self) -> float | None:
        return None if self.cosine is None else max(0.0, min(1.0, self.cosine))

    @property
    def text_score(self) -> float | None:
        return self.words / (1.0 + self.words) if self.words > 0 or self.has_words else None

    def evidence(self) -> dict[str, float]:
        """The raw parts that are not zero, for explanation."""
        raw = {
            "words": self.words,
            "parts": self.parts,
            "pairs": self.pairs,
            "identifiers": self.identifiers,
            "distinct": float(self.distinct),
            "complete": float(self.complete),
            "cosine": self.cosine or 0.0,
            "text_z": self.text_z,
            "vector_z": self.vector_z,
            "fused": self.fused,
        }
        return {name: round(value, 4) for name, value in raw.items() if value}


def logistic(value: float) -> float:
    """1 / (1 + e^−value), without overflow."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-min(value, 700.0)))
    raised = math.exp(max(value, -700.0))
    return raised / (1.0 + raised)


def fuse(
    candidates: Sequence[Candidate], *, chunks: int, text_weight: float, mean: float = 0.0, deviation: float = 0.0
) -> None:
    """Give every candidate its fused evidence by the standard rule; `mean` and `deviation` are of all cosines."""
    texts = [candidate.text for candidate in candidates]
    population = max(chunks, len(candidates), 1)
    text_mean = math.fsum(texts) / population
    variance = math.fsum(text * text for text in texts) / population - text_mean * text_mean
    text_deviation = math.sqrt(max(variance, 0.0))
    for candidate, text in zip(candidates, texts, strict=True):
        if text > 0 and text_deviation > 0:
            candidate.text_z = (text - text_mean) / text_deviation
        if candidate.cosine is not None and deviation > 1e-6:
            candidate.vector_z = (candidate.cosine - mean) / deviation
        candidate.fused = (1.0 - text_weight) * candidate.vector_z + text_weight * candidate.text_z


def lift_complete(candidates: Sequence[Candidate]) -> None:
    """Put what holds all words of a query of few above what lacks one and has no identifier of the query either.

    The order among either stays as it was.
    """
    lacking = (candidate for candidate in candidates if not (candidate.complete or candidate.identifiers))
    highest = max((candidate.fused for candidate in lacking), default=-math.inf)
    below = [candidate for candidate in candidates if candidate.complete and candidate.fused <= highest + LIFT]
    values = sorted({candidate.fused for candidate in below})
    lifted = {value: highest + LIFT * place / len(values) for place, value in enumerate(values, start=1)}
    for candidate in below:
        candidate.fused = lifted[candidate.fused]


def fuse_tiny(candidates: Sequence[Candidate]) -> None:
    """Give every candidate its fused evidence in an index too small for statistics: distinct words, then cosine."""
    for candidate in candidates:
        candidate.fused = candidate.distinct + (candidate.vector_score or 0.0) * 0.999


def strength(coverage: float, cosine: float | None, floor: float) -> float:
    """How likely a hit answers, from the share of the query's words that it holds and its cosine; within 0.01..0.99."""
    doubt = 1.0 - logistic(6.5 * coverage - 3.5) if coverage > 0 else 1.0
    if cosine is not None:
        doubt *= 1.0 - logistic(12.0 * (cosine - floor - 0.1))
    return max(LEAST_STRENGTH, min(MOST_STRENGTH, 1.0 - doubt))


def score(ranked: Sequence[Candidate], first_strength: float) -> None:
    """Give candidates, in order of (literal, fused), their scores: 0..1 and never rising along the list."""
    if not ranked:
        return
    anchor = math.log(first_strength / (1.0 - first_strength))
    top = max(candidate.fused for candidate in ranked)
    for candidate in ranked:
        share = logistic(anchor - STEEPNESS * (top - candidate.fused))
        scaled = LITERAL_FLOOR + (1.0 - LITERAL_FLOOR) * share if candidate.literal else LITERAL_FLOOR * share
        candidate.score = scaled
