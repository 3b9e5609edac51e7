"""Many rows put in by few statements, so that SQLite works for milliseconds on end beside Python's other threads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from core.store.database import Database, Value

MOST_VALUES = 30_000
"""Values of one statement; SQLite takes 32,766."""


def insert_rows(database: Database, into: str, rows: Sequence[Sequence[Value]]) -> None:
    """Insert rows of one length, in order; `into` is a table with its columns. Raises StoreError."""
    if not rows:
        return
    one = f"({', '.join('?' * len(rows[0]))})"
    most = MOST_VALUES // len(rows[0])
    for start in range(0, len(rows), most):
        some = rows[start : start + most]
        database.run(f"INSERT INTO {into} VALUES {', '.join([one] * len(some))}", tuple(chain.from_iterable(some)))
