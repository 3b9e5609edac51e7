"""What the candidates' own text says: words as parts of words, words side by side, identifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.search.terms import Term, Terms


SATURATION = 1.2
LENGTH_SHARE = 0.75
SHORTEST_PART = 3
SHORTEST_BEGINNING = 4


def rarity(found: int, chunks: int) -> float:
    """ln((N − n + .5)/(n + .5)), never below 0: how much it tells that a chunk is one of n among N."""
    return max(0.0, math.log((max(chunks, found) - found + 0.5) / (found + 0.5)))


def beginning(word: str, share: int = 2, of: int = 3) -> str:
    """The first two thirds of a word, or another share of it, four characters at least."""
    return word[: max(SHORTEST_BEGINNING, -(-share * len(word) // of))]


class TextEvidence:
    """Counts in the folded texts of the candidates, saturated and scaled by length as in BM25.

    tf' = 2.2·tf / (tf + 1.2·(.25 + .75·length/mean length)), lengths in characters. `texts` is asked only if there is
    something to count.
    """

    def __init__(self, texts: Callable[[], Sequence[str]], chunks: int) -> None:
        self._read = texts
        self._chunks = chunks
        self._counted: dict[str, list[int]] = {}

    @cached_property
    def _texts(self) -> Sequence[str]:
        return self._read()

    @cached_property
    def _damping(self) -> list[float]:
        mean = sum(map(len, self._texts)) / max(1, len(self._texts)) or 1.0
        return [SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(text) / mean) for text in self._texts]

    def _counts(self, needle: str) -> list[int]:
        known = self._counted.get(needle)
        if known is None:
            known = self._counted[needle] = [text.count(needle) for text in self._texts]
        return known

    def _sum(self, found: Iterable[tuple[Sequence[tuple[int, int]], int]]) -> list[float]:
        """Per candidate Σ idf(n)·tf' over each needle's [(position, tf)…], n being its known frequency or that here."""
        sums = [0.0] * len(self._texts)
        for counts, known in found:
            weight = (SATURATION + 1) * rarity(max(len(counts), known), self._chunks) if counts else 0.0
            if not weight:
                continue
            for position, count in counts:
                sums[position] += weight * count / (count + self._damping[position])
        return sums

    def parts(self, terms: Terms) -> list[float] | None:
        """Per candidate: the beginnings of the query's words, inside longer words too; pieces of unspaced runs.

        Two thirds of a word find its other forms in languages that the index does not stem.
        """
        needles: dict[str, int] = {}
        for term in terms.asked:
            if term.script == "word" and len(term.word) >= SHORTEST_PART:
                part = beginning(term.word)
                needles[part] = max(term.frequency, needles.get(part, 0))
        for run in terms.unspaced_runs:
            for start in range(len(run) - 2):
                needles.setdefault(run[start : start + 3], 0)
        if not needles:
            return None
        return self._sum(
            ([(position, count) for position, count in enumerate(self._counts(needle)) if count], known)
            for needle, known in needles.items()
        )

    def pairs(self, terms: Terms) -> list[float] | None:
        """Per candidate: words that stand side by side in the query and in the text."""
        pairs = {f"{first.word} {second.word}": (first, second) for first, second in terms.neighbours}
        if not pairs:
            return None
        return self._sum((self._pair_counts(pair, *words), 0) for pair, words in pairs.items())

    def _pair_counts(self, pair: str, first: Term, second: Term) -> list[tuple[int, int]]:
        """Where and how often a pair stands; looked for only where both words' beginnings do, which are counted."""
        places: Iterable[int] = range(len(self._texts))
        for term in (first, second):
            counts = self._counted.get(beginning(term.word))
            if counts is not None:
                places = [position for position in places if counts[position]]
        return [(position, count) for position in places if (count := self._texts[position].count(pair))]
