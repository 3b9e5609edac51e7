"""Counts the tokens of rendered transcripts: words come again and again, so each is encoded once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from core.text.tokens import LONGEST_TOKEN, TokenCounter

_LONGEST_WORD = 32
_MOST_WORDS = 200_000


class SessionCounter:
    """A counter for lines whose white space is single blanks; gives what the counter behind it gives.

    A token of cl100k_base never reaches beyond a single blank before it, so a line costs what its words cost, each with
    the blank before it. May be shared by threads.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._words = _Words(counter)

    def load(self) -> None:
        """Load what counting needs. Raises MemdeckError."""
        self._counter.load()

    def line_costs(self, lines: Sequence[str], limit: int) -> tuple[list[int], list[int]]:
        """Tokens of each line with its end, and without it; for one that is beyond `limit`, anything beyond it."""
        most = limit * LONGEST_TOKEN
        known = self._words
        costs, bare = [], []
        for line in lines:
            if len(line) > most:
                costs.append(limit + 1)
                bare.append(limit + 1)
                continue
            words = line.split(" ") if "  " not in line else ()
            if len(words) < 2:
                costs.append(self._counter.count(f"{line}\n"))
                bare.append(self._counter.count(line))
                continue
            last = words[-1]
            cost = sum(map(known.__getitem__, words)) - known[words[0]] + known.bare(words[0])
            bare.append(cost)
            # The last word may share a token with the line end.
            costs.append(cost - known[last] + known[f"{last}\n"])
        return costs, bare

    def split(self, text: str, budget: int) -> list[str]:
        """Pieces of at most `budget` tokens whose sum is `text`, cut where words end, of about the same size."""
        if "\n" in text or "  " in text:
            return self._counter.split(text, budget)
        words = text.split(" ")
        costs = [self._words.bare(words[0]), *map(self._words.__getitem__, words[1:])]
        if not text or max(costs) * 4 > budget:
            return self._counter.split(text, budget)
        room = budget - 2  # a blank at the end, and a first word that costs more without its blank
        before = [0, *accumulate(costs)]
        aim = before[-1] / -(-before[-1] // room)
        pieces = []
        start = 0
        while start < len(words):
            held = before[start]
            full = bisect_right(before, held + room) - 1  # the word that is too much
            end = max(start + 1, min(full, bisect_left(before, held + aim)))
            is_last = end >= len(words)
            # A first word without its blank, and a blank at the end.
            cost = self._words.bare(words[start]) + before[end] - before[start + 1]
            if cost + (0 if is_last else self._words[""]) > budget:
                return self._counter.split(text, budget)
            pieces.append(" ".join(words[start:end]) + ("" if is_last else " "))
            start = end
        return pieces


class _Words(dict[str, int]):
    """Tokens of words with a blank before them; forgets all when there are too many."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__()
        self._counter = counter
        self._bare: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        cost = self._counter.count(f" {word}")
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = cost
        return cost

    def bare(self, word: str) -> int:
        """Tokens of a word at the start of a line; there are few."""
        cost = self._bare.get(word)
        if cost is None:
            cost = self._counter.count(word)
            if len(self._bare) < 1000 and len(word) <= _LONGEST_WORD:
                self._bare[word] = cost
        return cost
