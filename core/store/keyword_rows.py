"""Rows of the keyword table, and with them the words that parts of words are found by."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from core.records import record
from core.store.database import Database, id_array
from core.store.row_batches import insert_rows
from core.store.word_rows import WORD_TABLE, WordRows
from core.text.analysis import index_head, index_text

KEYWORD_TABLE = "chunks_fts"
KEYWORD_TABLES = (KEYWORD_TABLE, WORD_TABLE)
_MERGE_PAGES = 500
"""Pages that one step of merging writes: some ten milliseconds."""


@record(frozen=True, slots=True)
class KeywordRow:
    """What the keyword table gets for one chunk."""

    chunk_id: int
    head: str
    body: str


@record(frozen=True, slots=True)
class _Change:
    """Rows that go, then rows that come. With `only_heads` the texts stay as they are."""

    gone: Sequence[int]
    rows: Sequence[KeywordRow]
    only_heads: bool = False


def keyword_row(chunk_id: int, heading: Sequence[str], path: str, text: str) -> KeywordRow:
    """The analysed texts of a chunk."""
    return KeywordRow(chunk_id, index_head(heading, path), index_text(text))


def keyword_rows(path: str, chunks: Iterable[tuple[int, tuple[str, ...], str]]) -> list[KeywordRow]:
    """The analysed texts of chunks of one document: id, heading path and text of each."""
    heads: dict[tuple[str, ...], str] = {}
    rows = []
    for chunk_id, heading, text in chunks:
        head = heads.get(heading)
        if head is None:
            head = heads[heading] = index_head(heading, path)
        rows.append(KeywordRow(chunk_id, head, index_text(text)))
    return rows


class KeywordRows:
    """Writing happens at the end of the caller's transaction: by one statement for each table where it can be.

    Each statement waits for the interpreter's lock when it is done. One for each row would wait most of the time while
    another thread computes; and FTS5 begins a segment with each that writes many rows.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._words = WordRows(database)

    def replace(self, gone: Sequence[int], rows: Sequence[KeywordRow]) -> None:
        """Take rows out by chunk id, then put rows in."""
        if gone or rows:
            self._database.before_commit(self._write, _Change(gone, rows))

    def doubt_words(self, chunk_ids: Sequence[int]) -> None:
        """Say that these chunks go, while their texts are still there."""
        if chunk_ids:
            self._words.doubt(chunk_ids)

    def replace_heads(self, rows: Sequence[KeywordRow]) -> None:
        """Write rows anew: the path changed, the text did not."""
        if rows:
            self._database.before_commit(self._write, _Change([row.chunk_id for row in rows], rows, only_heads=True))

    def _write(self, changes: Sequence[_Change]) -> None:
        gone: dict[int, None] = {}
        rows: dict[int, KeywordRow] = {}
        texts: list[str] = []
        for change in changes:
            gone.update((chunk_id, None) for chunk_id in change.gone if rows.pop(chunk_id, None) is None)
            rows.update((row.chunk_id, row) for row in change.rows)
            if not change.only_heads:
                texts.extend(row.body for row in change.rows)
        self.delete_now(list(gone))
        self._insert(list(rows.values()))
        self._words.add(texts)

    def delete_now(self, chunk_ids: Sequence[int]) -> None:
        """Take rows out at once."""
        if chunk_ids:
            self._database.run(
                f"DELETE FROM {KEYWORD_TABLE} WHERE rowid IN (SELECT value FROM carray(?))", (id_array(chunk_ids),)
            )

    def insert_now(self, rows: Sequence[KeywordRow]) -> None:
        """Put rows in at once, and their words."""
        self._insert(rows)
        self._words.add(row.body for row in rows)

    def _insert(self, rows: Sequence[KeywordRow]) -> None:
        insert_rows(
            self._database,
            f"{KEYWORD_TABLE} (rowid, head, body)",
            [(row.chunk_id, row.head, row.body) for row in rows],
        )

    def settle(self, cancel: threading.Event | None = None) -> bool:
        """Leave out words that no chunk has any more, and join the segments that writing has left; whether all is done.

        In short transactions. After much writing a search reads up to a dozen segments for each word; joined, it reads
        few.
        """
        if not self._words.settle(cancel):
            return False
        for table in KEYWORD_TABLES:
            while cancel is None or not cancel.is_set():
                before = self._database.connection.total_changes()
                with self._database.transaction():
                    self._database.run(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (_MERGE_PAGES,))
                if self._database.connection.total_changes() - before < 2:
                    break
        return cancel is None or not cancel.is_set()

    def purge(self) -> None:
        """Leave nothing of the words of deleted chunks: each table becomes one segment. In its own transactions."""
        self._words.settle(exactly=True)
        for table in KEYWORD_TABLES:
            with self._database.transaction():
                self._database.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
