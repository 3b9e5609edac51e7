"""Rendered lines of a transcript cut into chunks: as the chunker of documents would, but none is blank or a heading."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from core.sync.session_counter import SessionCounter
from core.types import Chunk


class Cut(NamedTuple):
    """The first and the last line (0-based) of a chunk, and its text where that is a piece of one line."""

    first: int
    last: int
    piece: str | None = None


def cut_lines(lines: Sequence[str], counter: SessionCounter, tokens: int, overlap: int) -> list[Cut]:
    """Cut lines, none of them blank, into runs of at most `tokens` tokens, the `overlap` with the one before included.

    A line beyond the budget becomes cuts of its own, whose pieces joined are the line.
    """
    costs, bare = counter.line_costs(lines, 2 * tokens)
    before = [0, *accumulate(costs)]
    overlap = min(overlap, tokens - 1)
    cuts: list[Cut] = []
    fresh = first = 0  # the first line that no cut holds yet; where the next cut starts
    while fresh < len(lines):
        if costs[fresh] > 2 * tokens or bare[fresh] > tokens:
            pieces = counter.split(lines[fresh], tokens)
            cuts.extend(Cut(fresh, fresh, piece) for piece in pieces if piece and not piece.isspace())
            fresh += 1
            first = fresh
            continue
        # A run costs its lines with their ends, and the last one without.
        while first < fresh and before[fresh] - before[first] + bare[fresh] > tokens:
            first += 1
        held = before[first]
        end = max(fresh + 1, bisect_right(before, held + tokens) - 1)
        if end < len(lines) and before[end] - held + bare[end] <= tokens:
            end += 1
        while end > fresh + 1 and before[end - 1] - held + bare[end - 1] > tokens:
            end -= 1
        cuts.append(Cut(first, end - 1))
        previous, first = first, end
        fresh = end
        if fresh < len(lines):
            while first - 1 > previous and before[fresh] - before[first - 1] <= overlap:
                first -= 1
    return cuts


def chunk_of(
    cut: Cut, ordinal: int, lines: Sequence[str], line_map: Sequence[int], times: Sequence[int | None]
) -> Chunk:
    """A cut as a chunk: `line_map` and `times` hold the physical line of each of the lines, and when it was said.

    The chunk takes the last time and, where that is another, the first one (epoch ms).
    """
    first, end = cut.first, cut.last + 1
    physical = tuple(line_map[first:end])
    text = "\n".join(lines[first:end]) if cut.piece is None else cut.piece
    if end - first == 1:
        return Chunk(ordinal, physical[0], physical[0], text, (), physical, times[first])
    known = [time for time in times[first:end] if time is not None]
    last, earliest = max(known, default=None), min(known, default=None)
    since = earliest if earliest != last else None
    return Chunk(ordinal, min(physical), max(physical), text, (), physical, last, since)


def settled_cuts(cuts: Sequence[Cut], settled: int) -> tuple[int, int]:
    """How many of the cuts cannot change when lines follow, and with which line (0-based) the next one begins.

    The first `settled` lines are final. A cut is final when the next one begins with a final line; pieces of a long
    line are final with it.
    """
    last = None
    for number, cut in enumerate(cuts):
        fresh = cut.first if cut.piece is not None or number == 0 else cuts[number - 1].last + 1
        if fresh >= settled:
            break
        last = number
    if last is None:
        return 0, settled
    if cuts[last].piece is not None:
        return last + 1, settled
    return last, cuts[last].first
