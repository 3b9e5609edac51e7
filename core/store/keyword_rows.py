"""Rows of the two keyword tables: words and trigrams."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from core.store.database import Database
from core.text.analysis import fold, index_head, index_text

KEYWORD_TABLES = ("chunks_fts", "chunks_trigram")
_MERGE_PAGES = 500
"""Pages that one step of merging writes: some ten milliseconds."""


@dataclass(frozen=True, slots=True)
class KeywordRow:
    """What the keyword tables get for one chunk."""

    chunk_id: int
    head: str
    body: str
    folded: str


def keyword_row(chunk_id: int, heading: Sequence[str], path: str, text: str) -> KeywordRow:
    """The analysed texts of a chunk."""
    folded = fold(text)
    return KeywordRow(chunk_id, index_head(heading, path), index_text(text, folded), folded)


class KeywordRows:
    """Writing happens at the end of the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, gone: Sequence[int], rows: Sequence[KeywordRow]) -> None:
        """Take rows out by chunk id, then put rows in."""

        def write() -> None:
            self.delete_now(gone, KEYWORD_TABLES)
            self.insert_now(rows)

        if gone or rows:
            self._database.before_commit(write)

    def replace_heads(self, rows: Sequence[KeywordRow]) -> None:
        """Write the word rows anew: the path changed, the text did not."""

        def write() -> None:
            self.delete_now([row.chunk_id for row in rows], ("chunks_fts",))
            self._insert_words(rows)

        if rows:
            self._database.before_commit(write)

    def delete_now(self, chunk_ids: Sequence[int], tables: Sequence[str]) -> None:
        """Take rows out at once."""
        for table in tables:
            self._database.run_many(f"DELETE FROM {table} WHERE rowid = ?", [(chunk_id,) for chunk_id in chunk_ids])

    def insert_now(self, rows: Sequence[KeywordRow]) -> None:
        """Put rows in at once."""
        self._insert_words(rows)
        self._database.run_many(
            "INSERT INTO chunks_trigram (rowid, body) VALUES (?, ?)", [(row.chunk_id, row.folded) for row in rows]
        )

    def _insert_words(self, rows: Sequence[KeywordRow]) -> None:
        self._database.run_many(
            "INSERT INTO chunks_fts (rowid, head, body) VALUES (?, ?, ?)",
            [(row.chunk_id, row.head, row.body) for row in rows],
        )

    def merge(self, cancel: threading.Event | None = None) -> bool:
        """Join the segments that writing has left, in short transactions; whether all is joined.

        After much writing a search reads up to a dozen segments for each word; joined, it reads few.
        """
        for table in KEYWORD_TABLES:
            while cancel is None or not cancel.is_set():
                before = self._database.connection.total_changes()
                with self._database.transaction():
                    self._database.run(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (_MERGE_PAGES,))
                if self._database.connection.total_changes() - before < 2:
                    break
        return cancel is None or not cancel.is_set()

    def optimize(self) -> None:
        """Write each table as one segment: nothing is left of the words of deleted chunks. In one transaction each."""
        for table in KEYWORD_TABLES:
            with self._database.transaction():
                self._database.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
