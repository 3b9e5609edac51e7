"""Parts of the index that do not agree are found and mended; what was forgotten leaves no byte."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.errors import KeywordsDamaged, StoreCorrupt, SyncCancelled
from core.store.check import check, rebuild_keywords, repair
from core.store.database import Database, set_aside
from core.store.documents import Documents
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.forgetting import forget, forgotten, purge, remember
from core.store.identity import Identities
from core.store.requests import Requests
from core.store.salvage import salvage_vectors
from core.store.vectors import Vectors
from core.types import Chunk, Document, EmbeddingIdentity, StatKey

MODEL = EmbeddingIdentity("local", "mini", dims=16)
TEXTS = ("orange lighthouse", "green harbour", "C++ and gpt-4")


def key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vector_of(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    values = np.random.default_rng(int.from_bytes(key(text)[:8], "big")).standard_normal(16)
    return (values / np.linalg.norm(values)).astype(np.float32)


def write(database: Database, path: str, *texts: str) -> None:
    text = "\n".join(texts)
    note = Document("memory", path, f"/ws/{path}", StatKey(1, 1, 1, 1, 1), key(text).hex(), text)
    chunks = [Chunk(n, n + 1, n + 1, one, ("Title",)) for n, one in enumerate(texts)]
    row = Identities(database).put_in_force(MODEL)
    with database.transaction():
        Documents(database).replace(
            note, chunks, build="b", scanned_ns=1, now_ms=1, embed_hashes=[key(one) for one in texts]
        )
        Vectors(database, row).write([(key(one), vector_of(one)) for one in texts])


def broken(database: Database) -> list[str]:
    return [finding.check for finding in check(database) if not finding.ok]


def found(database: Database, word: str) -> list[int]:
    return database.numbers("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (word,))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "main.sqlite"


@pytest.fixture
def database(store: Path) -> Iterator[Database]:
    with Database.open(store) as opened:
        write(opened, "a.md", *TEXTS)
        yield opened


def test_a_sound_index_has_nothing_to_mend(database: Database) -> None:
    assert broken(database) == []
    assert repair(database) == ()


def test_a_reader_can_check(database: Database, store: Path) -> None:
    with Database.open(store, read_only=True) as reader:
        assert broken(reader) == []


@pytest.mark.parametrize(
    ("damage", "checks"),
    [
        ("DELETE FROM chunks_fts WHERE rowid = 2", ["keyword index"]),
        ("DELETE FROM words_trigram WHERE rowid = 2", ["literal index"]),
        ("INSERT INTO chunks_fts (rowid, head, body) VALUES (77, 'x', 'stray')", ["keyword index"]),
        ("INSERT INTO words_trigram (rowid, word) VALUES (77, 'stray')", ["literal index"]),
        (
            "INSERT INTO words_trigram (rowid, word) VALUES ((SELECT max(id) + 1 FROM words), 'stray')",
            ["literal index"],
        ),
        ("DELETE FROM words WHERE id = 2", ["literal index"]),
        ("UPDATE words SET word = 'stray' WHERE id = 2", ["literal index"]),
        ("DELETE FROM chunks_vec_1 WHERE rowid = 1", ["vector table"]),
        ("INSERT INTO chunks_vec_1 (rowid, embedding) VALUES (77, zeroblob(64))", ["vector table"]),
        ("DROP TABLE chunks_vec_1", ["vector table"]),
        ("UPDATE embedding_cache SET vector = x'00' WHERE id = 1", ["embedding cache"]),
        ("DELETE FROM embedding_cache WHERE id = 1", ["embedding queue", "vector table"]),
        ("INSERT INTO embedding_queue (chunk_id, newest_ns) VALUES (77, 1)", ["embedding queue"]),
        ("UPDATE files SET chunks = 9", ["documents"]),
        ("UPDATE chunks_fts_data SET block = x'ffffffffffffffff' WHERE id > 10", ["index file", "keyword index"]),
        ("DELETE FROM words_trigram_data WHERE id > 10", ["index file", "literal index"]),
    ],
)
def test_what_is_out_of_step_is_named_and_mended(
    database: Database, store: Path, damage: str, checks: list[str]
) -> None:
    database.run(damage)
    database.close()
    with Database.open(store) as again:
        assert broken(again) == checks
        assert repair(again)
        assert broken(again) == []
        assert found(again, "lighthouse") == [1]
        assert found(again, "stray") == []
        assert found(again, "title") == [1, 2, 3]


def test_chunks_without_a_document_go_with_all_their_rows(database: Database) -> None:
    database.rows("PRAGMA foreign_keys = off")
    database.run("DELETE FROM files")
    assert "documents" in broken(database)
    repair(database)
    assert broken(database) == []
    assert database.count("SELECT count(*) FROM chunks") == 0
    assert found(database, "lighthouse") == []


def test_a_document_whose_chunks_do_not_add_up_is_read_again(database: Database) -> None:
    database.run("DELETE FROM chunks WHERE id = 2")
    repair(database)
    assert broken(database) == []
    assert [row.build for row in Documents(database).stat_keys().values()] == [""]


def test_a_lost_vector_waits_to_be_made_again(database: Database) -> None:
    database.run("UPDATE embedding_cache SET vector = x'00' WHERE hash = ?", (key(TEXTS[0]),))
    repair(database)
    assert [queued.chunk.text for queued in EmbeddingQueue(database).queued(9, now_ms=0)] == [TEXTS[0]]


def test_damaged_pages_elsewhere_are_not_mended_but_told(store: Path) -> None:
    with Database.open(store) as database:
        write(database, "a.md", *(f"text {n} " * 200 for n in range(100)))
        page = database.count("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks'")
    with store.open("r+b") as file:
        file.seek(4096 * (page - 1) + 8)
        file.write(b"\xff" * 400)
    with Database.open(store) as database:
        assert "index file" in broken_or_corrupt(database)
        with pytest.raises(StoreCorrupt):
            repair(database)


def broken_or_corrupt(database: Database) -> list[str]:
    try:
        return broken(database)
    except StoreCorrupt:
        return ["index file"]


def test_keyword_tables_made_anew_find_the_same(database: Database) -> None:
    before = [found(database, word) for word in ("lighthouse", "harbour", "title", "gpt")]
    assert rebuild_keywords(database) == 3
    assert [found(database, word) for word in ("lighthouse", "harbour", "title", "gpt")] == before
    assert broken(database) == []


def test_a_cancelled_rebuild_leaves_the_old_tables(database: Database) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SyncCancelled):
        rebuild_keywords(database, cancel)
    assert found(database, "lighthouse") == [1]


def test_a_search_on_damaged_keyword_tables_says_what_is_damaged(database: Database) -> None:
    database.run("UPDATE chunks_fts_data SET block = x'ffffffffffffffff' WHERE id > 10")
    with pytest.raises(KeywordsDamaged):
        found(database, "lighthouse")


def bytes_on_disk(store: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(store.parent.iterdir()) if path.name.startswith(store.name))


def test_what_was_forgotten_leaves_no_byte(store: Path) -> None:
    secret = "sk-quokkasecret"
    with Database.open(store) as database:
        write(database, "keep.md", *TEXTS)
        write(database, "diary/quokkanote.md", f"the key is {secret}", "quokkatail " * 300)
        Documents(database).record_error("memory", "diary/quokkanote.md", "quokkaerror", now_ms=1)
        Requests(database).finish(Requests(database).ask("forget", "quokkapath", pid=1, now_ms=1), "ok", now_ms=2)
        assert b"quokka" in bytes_on_disk(store)
        assert vector_of(f"the key is {secret}").tobytes() in bytes_on_disk(store)
        assert forget(database, "memory", "diary/quokkanote.md", now_ms=5) == 2
        remember(database, "memory", "diary/quokkanote.md")
        assert purge(database)
        left = bytes_on_disk(store)
        assert b"quokka" not in left
        assert vector_of(f"the key is {secret}").tobytes() not in left
        assert broken(database) == []
        assert found(database, "lighthouse") == [1]


def test_text_that_was_edited_away_goes_with_a_purge(store: Path) -> None:
    with Database.open(store) as database:
        write(database, "a.md", "quokka one", "stays")
        write(database, "a.md", "stays")
        purge(database)
        assert b"quokka" not in bytes_on_disk(store)


def test_a_purge_under_a_running_search_says_that_it_is_not_done(database: Database, store: Path) -> None:
    database.connection.set_busy_timeout(10)
    with Database.open(store, read_only=True) as reader:
        with reader.snapshot():
            forget(database, "memory", "a.md", now_ms=5)
            assert not purge(database)
        assert purge(database)


def test_forgetting_leaves_a_tombstone_until_it_is_taken_back(database: Database) -> None:
    forget(database, "memory", "a.md", now_ms=5)
    forget(database, "memory", "never.md", now_ms=6)
    assert forgotten(database) == {("memory", "a.md"), ("memory", "never.md")}
    assert remember(database, "memory", "a.md")
    assert not remember(database, "memory", "a.md")
    assert forgotten(database) == {("memory", "never.md")}


def test_text_that_another_document_has_too_keeps_its_vector(database: Database) -> None:
    write(database, "b.md", TEXTS[0])
    forget(database, "memory", "a.md", now_ms=5)
    assert set(EmbeddingCache(database).get(1, [key(text) for text in TEXTS])) == {key(TEXTS[0])}
    assert broken(database) == []


def damage(store: Path, table: str) -> None:
    with Database.open(store) as database:
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        page = database.count("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    with store.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)


def test_vectors_survive_the_damage_of_other_tables(store: Path) -> None:
    with Database.open(store) as database:
        write(database, "a.md", *TEXTS)
    damage(store, "files")
    with pytest.raises(StoreCorrupt), Database.open(store) as database:
        Documents(database).list()
    kept = set_aside(store)
    with Database.open(store) as database:
        assert salvage_vectors(database, kept) == 3
        row = Identities(database).put_in_force(MODEL)
        note = Document("memory", "a.md", "/ws/a.md", StatKey(1, 1, 1, 1, 1), "h", "x")
        chunks = [Chunk(n, n + 1, n + 1, text) for n, text in enumerate(TEXTS)]
        with database.transaction():
            Documents(database).replace(
                note, chunks, build="b", scanned_ns=1, now_ms=1, embed_hashes=[key(text) for text in TEXTS]
            )
        assert EmbeddingQueue(database).waiting() == 0
        assert [chunk_id for chunk_id, _ in Vectors(database, row).search(vector_of(TEXTS[1]), 1)] == [2]
        assert broken(database) == []


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_nothing_is_saved_from_what_is_no_index(store: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kept").write_bytes(content)
    with Database.open(store) as database:
        assert salvage_vectors(database, tmp_path / "kept") == 0


def test_damaged_vectors_are_left_behind(store: Path) -> None:
    with Database.open(store) as database:
        write(database, "a.md", *TEXTS)
        database.run("UPDATE embedding_cache SET vector = randomblob(64) WHERE id = 1")
        database.run("UPDATE embedding_cache SET vector = zeroblob(60) WHERE id = 2")
    kept = set_aside(store)
    with Database.open(store) as database:
        assert salvage_vectors(database, kept) == 1
