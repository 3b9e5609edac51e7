"""What the candidates' own text says: words as parts of words, words side by side, identifiers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.search.terms import Terms


SATURATION = 1.2
LENGTH_SHARE = 0.75
SHORTEST_PART = 3


def rarity(found: int, chunks: int) -> float:
    """ln((N − n + .5)/(n + .5)), never below 0: how much it tells that a chunk is one of n among N."""
    return max(0.0, math.log((max(chunks, found) - found + 0.5) / (found + 0.5)))


class TextEvidence:
    """Counts in the folded texts of the candidates, saturated and scaled by length as in BM25.

    tf' = 2.2·tf / (tf + 1.2·(.25 + .75·length/mean length)), lengths in characters.
    """

    def __init__(self, texts: Sequence[str], chunks: int) -> None:
        self._texts = texts
        self._chunks = chunks
        mean = sum(map(len, texts)) / len(texts) if texts else 1.0
        self._damping = [SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(text) / (mean or 1.0)) for text in texts]

    def _add(self, needle: str, known: int, sums: list[float]) -> None:
        counts = [text.count(needle) for text in self._texts]
        found = len(counts) - counts.count(0)
        weight = (SATURATION + 1) * rarity(max(found, known), self._chunks)
        if not found or not weight:
            return
        for position, count in enumerate(counts):
            if count:
                sums[position] += weight * count / (count + self._damping[position])

    def parts(self, terms: Terms) -> list[float]:
        """Per candidate: the query's words wherever they stand, inside longer words too; pieces of unspaced runs."""
        sums = [0.0] * len(self._texts)
        for term in terms.asked:
            if term.script == "word" and len(term.word) >= SHORTEST_PART:
                self._add(term.word, term.frequency, sums)
        for run in terms.unspaced_runs:
            for piece in dict.fromkeys(run[start : start + 3] for start in range(len(run) - 2)):
                self._add(piece, 0, sums)
        return sums

    def pairs(self, terms: Terms) -> list[float]:
        """Per candidate: words that stand side by side in the query and in the text."""
        sums = [0.0] * len(self._texts)
        for needle in dict.fromkeys(f"{first.word} {second.word}" for first, second in terms.neighbours):
            self._add(needle, 0, sums)
        return sums
