"""Rows of the two keyword tables: words and trigrams."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.store.database import Database, id_array
from core.store.row_batches import insert_rows
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


@dataclass(frozen=True, slots=True)
class _Change:
    """Rows that go, then rows that come, in these tables."""

    tables: Sequence[str]
    gone: Sequence[int]
    rows: Sequence[KeywordRow]


def keyword_rows(path: str, chunks: Iterable[tuple[int, tuple[str, ...], str]]) -> list[KeywordRow]:
    """The analysed texts of chunks of one document: id, heading path and text of each."""
    heads: dict[tuple[str, ...], str] = {}
    rows = []
    for chunk_id, heading, text in chunks:
        head = heads.get(heading)
        if head is None:
            head = heads[heading] = index_head(heading, path)
        folded = fold(text)
        rows.append(KeywordRow(chunk_id, head, index_text(text, folded), folded))
    return rows


class KeywordRows:
    """Writing happens at the end of the caller's transaction: by one statement for each table where it can be.

    Each statement waits for the interpreter's lock when it is done. One for each row would wait most of the time while
    another thread computes; and FTS5 begins a segment with each that writes many rows.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, gone: Sequence[int], rows: Sequence[KeywordRow]) -> None:
        """Take rows out by chunk id, then put rows in."""
        if gone or rows:
            self._database.before_commit(self._write, _Change(KEYWORD_TABLES, gone, rows))

    def replace_heads(self, rows: Sequence[KeywordRow]) -> None:
        """Write the word rows anew: the path changed, the text did not."""
        if rows:
            gone = [row.chunk_id for row in rows]
            self._database.before_commit(self._write, _Change(KEYWORD_TABLES[:1], gone, rows))

    def _write(self, changes: Sequence[_Change]) -> None:
        for table in KEYWORD_TABLES:
            gone: dict[int, None] = {}
            rows: dict[int, KeywordRow] = {}
            for change in changes:
                if table in change.tables:
                    gone.update((chunk_id, None) for chunk_id in change.gone if rows.pop(chunk_id, None) is None)
                    rows.update((row.chunk_id, row) for row in change.rows)
            self.delete_now(list(gone), (table,))
            self.insert_now(list(rows.values()), (table,))

    def delete_now(self, chunk_ids: Sequence[int], tables: Sequence[str] = KEYWORD_TABLES) -> None:
        """Take rows out at once."""
        for table in tables if chunk_ids else ():
            self._database.run(
                f"DELETE FROM {table} WHERE rowid IN (SELECT value FROM carray(?))", (id_array(chunk_ids),)
            )

    def insert_now(self, rows: Sequence[KeywordRow], tables: Sequence[str] = KEYWORD_TABLES) -> None:
        """Put rows in at once."""
        for table in tables:
            if table == "chunks_fts":
                words = [(row.chunk_id, row.head, row.body) for row in rows]
                insert_rows(self._database, "chunks_fts (rowid, head, body)", words)
            else:
                insert_rows(self._database, f"{table} (rowid, body)", [(row.chunk_id, row.folded) for row in rows])

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
