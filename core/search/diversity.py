"""Diversity: maximal marginal relevance over the words that texts share."""

from __future__ import annotations

from collections.abc import Sequence

from core.text.analysis import fold, spell, words


def word_set(text: str) -> frozenset[str]:
    """What two texts are compared by: words, and characters and pairs of them in scripts without blanks."""
    return frozenset(words(spell(fold(text))))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard: shared words among all words, 0..1; two texts without words are equal."""
    if not first and not second:
        return 1.0
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def diversify(scores: Sequence[float], texts: Sequence[str], *, lambda_: float, count: int) -> list[int]:
    """Positions in the order of maximal marginal relevance, the first `count`, then the rest as they were.

    Each step takes the greatest λ·relevance − (1 − λ)·(likeness to what was taken), relevance being the score scaled
    to 0..1 over the list (all equal: 1); ties go to the higher score, then the earlier position (Carbonell and
    Goldstein 1998).
    """
    order = list(range(len(scores)))
    if lambda_ >= 1.0 or len(order) < 2:
        return order
    low, high = min(scores), max(scores)
    relevance = [(score - low) / (high - low) if high > low else 1.0 for score in scores]
    sets = [word_set(text) for text in texts]
    likeness = [0.0] * len(order)
    taken: list[int] = []
    left = order
    while left and len(taken) < count:
        best = max(left, key=lambda at: (lambda_ * relevance[at] - (1 - lambda_) * likeness[at], scores[at], -at))
        taken.append(best)
        left = [at for at in left if at != best]
        for at in left:
            likeness[at] = max(likeness[at], similarity(sets[best], sets[at]))
    return taken + left
