"""The words of all chunks, each once, and their trigrams: what finds parts of words."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import cast

import apsw

from core.store.database import Database, id_array
from core.store.failures import translated
from core.store.row_batches import insert_rows
from core.text.analysis import distinct_words, holds_folded, index_text

WORD_TABLE = "words_trigram"
_MOST_TEXTS = 500
_SLICE = 200
"""Doubtful words that are looked at in one transaction: some ten milliseconds."""


class WordRows:
    """Written inside the caller's transaction, unless said otherwise. Raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, indexed: Iterable[str]) -> int:
        """Put in the words of what chunks_fts is given for some texts; how many are new."""
        found = tuple(sorted(distinct_words(indexed)))
        if not found:
            return 0
        new = self._database.rows(
            "INSERT OR IGNORE INTO words (word) SELECT value FROM carray(?) RETURNING id, word", (apsw.carray(found),)
        )
        insert_rows(self._database, f"{WORD_TABLE} (rowid, word)", list(new))
        return len(new)

    def doubt(self, chunk_ids: Sequence[int]) -> None:
        """Say that these chunks go, whose texts are still there: a word of theirs may be nowhere else."""
        texts = self._database.rows(
            "SELECT text FROM chunks WHERE id IN (SELECT value FROM carray(?))", (id_array(chunk_ids),)
        )
        found = tuple(distinct_words(index_text(str(text)) for (text,) in texts))
        if found:
            self._database.run(
                "UPDATE words SET doubtful = 1 WHERE word IN (SELECT value FROM carray(?))", (apsw.carray(found),)
            )

    def settle(self, cancel: threading.Event | None = None, *, exactly: bool = False) -> bool:
        """Take out the words that no chunk has any more, in short transactions; whether it came to an end.

        A word of which many texts have another form stays in doubt, unless it is to be done `exactly`.
        """
        last = 0
        while rows := self._database.rows(
            "SELECT id, word FROM words WHERE doubtful AND id > ? ORDER BY id LIMIT ?", (last, _SLICE)
        ):
            if cancel is not None and cancel.is_set():
                return False
            with self._database.transaction():
                found = [(word_id, self._stands(str(word), exactly=exactly)) for word_id, word in rows]
                gone = [(word_id,) for word_id, stands in found if stands is False]
                self._database.run_many(f"DELETE FROM {WORD_TABLE} WHERE rowid = ?", gone)
                self._database.run_many("DELETE FROM words WHERE id = ?", gone)
                standing = [(word_id,) for word_id, stands in found if stands]
                self._database.run_many("UPDATE words SET doubtful = 0 WHERE id = ?", standing)
            last = cast("int", rows[-1][0])
        return True

    def _stands(self, word: str, *, exactly: bool) -> bool | None:
        """Whether a chunk's text has a word, or has it in one; unless `exactly`, None after many that have not."""
        sql = "SELECT text FROM chunks_fts CROSS JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH ?"
        connection = self._database.connection
        with translated(self._database.path, connection):
            for looked_at, (text,) in enumerate(connection.execute(sql, (f'body : "{word}"',))):
                if holds_folded(text, word):
                    return True
                if looked_at >= _MOST_TEXTS and not exactly:
                    return None
        return False

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The words of some texts that are not here."""
        found = tuple(distinct_words(map(index_text, texts)))
        if not found:
            return []
        absent = "SELECT value FROM carray(?) WHERE value NOT IN (SELECT word FROM words)"
        return [str(word) for (word,) in self._database.rows(absent, (apsw.carray(found),))]

    def difference(self) -> tuple[list[int], list[int]]:
        """Words without trigrams and trigrams without a word, by id."""
        lacking = self._database.numbers(f"SELECT id FROM words WHERE id NOT IN (SELECT id FROM {WORD_TABLE}_docsize)")
        surplus = self._database.numbers(f"SELECT id FROM {WORD_TABLE}_docsize WHERE id NOT IN (SELECT id FROM words)")
        return lacking, surplus

    def mend(self, missing: Iterable[str]) -> int:
        """Put words in and trigrams in step with the words; how many were not."""
        lacking, surplus = self.difference()
        self._database.run_many(f"DELETE FROM {WORD_TABLE} WHERE rowid = ?", [(word_id,) for word_id in surplus])
        # Before new words take the ids of trigrams without a word.
        rows = self._database.rows(
            "SELECT id, word FROM words WHERE id IN (SELECT value FROM carray(?))", (id_array(lacking),)
        )
        insert_rows(self._database, f"{WORD_TABLE} (rowid, word)", rows)
        return len(lacking) + len(surplus) + self.add(missing)
