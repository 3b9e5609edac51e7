"""Keyword rows: what many changes within one transaction leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.store import row_batches
from core.store.database import Database
from core.store.keyword_rows import KEYWORD_TABLES, KeywordRows, keyword_row
from core.store.row_batches import insert_rows


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "index.sqlite", vector_extension=False) as opened:
        yield opened


def found(database: Database, word: str) -> list[int]:
    """The chunks that hold a word."""
    return database.numbers("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rowid", (word,))


def words(database: Database) -> list[str]:
    """All words, found by their trigrams."""
    rows = database.rows("SELECT id, word FROM words ORDER BY word")
    find = "SELECT 1 FROM words_trigram WHERE rowid = ? AND words_trigram MATCH ?"
    return [str(word) for word_id, word in rows if database.count(find, (word_id, str(word)[:3]))]


def write_and_fail(database: Database, keywords: KeywordRows) -> None:
    with database.transaction():
        keywords.replace([], [keyword_row(2, (), "b.md", "kestrel")])
        raise ValueError("stop")


def test_rows_of_several_documents_come_with_one_commit(database: Database) -> None:
    keywords = KeywordRows(database)
    with database.transaction():
        for chunk_id in (1, 2, 3):
            keywords.replace([], [keyword_row(chunk_id, (), "notes.md", "kestrel")])
        assert found(database, "kestrel") == words(database) == []
    assert found(database, "kestrel") == [1, 2, 3]
    assert words(database) == ["kestrel"]


def test_a_row_written_twice_in_one_transaction_is_the_later_one(database: Database) -> None:
    keywords = KeywordRows(database)
    keywords.replace([], [keyword_row(1, (), "notes.md", "kestrel")])
    with database.transaction():
        keywords.replace([1], [keyword_row(1, (), "notes.md", "heron")])
        keywords.replace([1], [keyword_row(1, (), "notes.md", "bittern")])
    assert [found(database, word) for word in ("kestrel", "heron", "bittern")] == [[], [], [1]]


def test_a_row_that_came_and_went_in_one_transaction_leaves_nothing(database: Database) -> None:
    keywords = KeywordRows(database)
    with database.transaction():
        keywords.replace([], [keyword_row(1, (), "notes.md", "kestrel"), keyword_row(2, (), "notes.md", "kestrel")])
        keywords.replace([1], [])
    assert found(database, "kestrel") == [2]
    assert database.count("SELECT count(*) FROM chunks_fts_docsize") == 1


def test_new_heads_leave_the_texts_alone(database: Database) -> None:
    keywords = KeywordRows(database)
    with database.transaction():
        keywords.replace([], [keyword_row(1, (), "old.md", "kestrel")])
        keywords.replace_heads([keyword_row(1, (), "new.md", "kestrel")])
    assert [found(database, word) for word in ("old", "new", "kestrel")] == [[], [1], [1]]
    assert words(database) == ["kestrel"]


def test_what_a_failed_document_wrote_is_left_out(database: Database) -> None:
    keywords = KeywordRows(database)
    with database.transaction():
        keywords.replace([], [keyword_row(1, (), "a.md", "kestrel")])
        with pytest.raises(ValueError, match="stop"):
            write_and_fail(database, keywords)
    assert found(database, "kestrel") == [1]
    assert words(database) == ["kestrel"]


def test_more_rows_than_a_statement_takes_keep_their_order(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_batches, "MOST_VALUES", 7)
    rows = [(f"k{number}", str(number)) for number in range(10)]
    insert_rows(database, "meta (key, value)", rows)
    assert database.rows("SELECT key, value FROM meta WHERE key GLOB 'k[0-9]'") == rows


def test_segments_wait_for_a_quiet_moment_to_be_joined(database: Database) -> None:
    def segments() -> list[int]:
        return [database.count(f"SELECT count(DISTINCT segid) FROM {table}_idx") for table in KEYWORD_TABLES]

    keywords = KeywordRows(database)
    for chunk_id in range(1, 25):
        keywords.replace([], [keyword_row(chunk_id, (), "notes.md", f"kestrel {chunk_id + 100}")])
    assert segments() == [24, 24]
    assert keywords.settle()
    assert max(segments()) < 4
    assert found(database, "kestrel") == list(range(1, 25))
    assert len(words(database)) == 25
