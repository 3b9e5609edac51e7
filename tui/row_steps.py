"""Steps from row to row through lines or messages of several rows each, of which only those passed are made.

A place is (index, skip): row `skip` of line `index`, both 0-based. `rows_of` makes the rows of a line, at least one.
"""

from __future__ import annotations

from collections.abc import Callable, Sized

Place = tuple[int, int]
RowsOf = Callable[[int], Sized]


def step(rows_of: RowsOf, count: int, place: Place, rows: int) -> Place:
    """So many rows down among `count` lines, or up where `rows` is negative; at most to the last or first row."""
    return _forward(rows_of, count, place, rows) if rows > 0 else back(rows_of, place, -rows)


def _forward(rows_of: RowsOf, count: int, place: Place, rows: int) -> Place:
    index, skip = place
    last = count - 1
    while rows > 0 and index <= last:
        left = len(rows_of(index)) - skip
        if rows < left:
            return index, skip + rows
        if index == last:
            return index, skip + left - 1
        rows -= left
        index, skip = index + 1, 0
    return index, skip


def back(rows_of: RowsOf, place: Place, rows: int) -> Place:
    """`rows` further up, at most to the first row."""
    index, skip = place
    while rows > 0:
        if rows <= skip:
            return index, skip - rows
        if index <= 0:
            return 0, 0
        rows -= skip + 1
        index -= 1
        skip = len(rows_of(index)) - 1
    return index, skip


def last_page(rows_of: RowsOf, count: int, height: int) -> Place:
    """The place from which the last row is at the bottom of a view of `height` rows."""
    last = count - 1
    if last < 0:
        return 0, 0
    return back(rows_of, (last, len(rows_of(last)) - 1), max(height - 1, 0))
