"""Documents in the store: what writing, changing and removing them leaves in every table."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import StoreFull
from core.store.check import check
from core.store.database import Database
from core.store.documents import Documents, ReplaceOutcome
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.schema import vector_table
from core.store.vectors import Vectors
from core.types import Chunk, Document, EmbeddingIdentity, SkippedPath, StatKey

ROOT = str(Path(__file__).parent.parent)
MODEL = EmbeddingIdentity("local", "mini", dims=4)


def key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()


def document(path: str, texts: tuple[str, ...], mtime_ns: int = 1) -> Document:
    text = "\n".join(texts)
    stat = StatKey(len(text), mtime_ns, 2, 3, 4)
    return Document(
        "memory", path, f"/ws/{path}", stat, hashlib.sha256(text.encode(errors="replace")).hexdigest(), text
    )


def write(
    database: Database, path: str, *texts: str, mtime_ns: int = 1, build: str = "b", heading: tuple[str, ...] = ()
) -> ReplaceOutcome:
    chunks = [Chunk(n, n + 1, n + 1, text, heading) for n, text in enumerate(texts)]
    with database.transaction():
        return Documents(database).replace(
            document(path, texts, mtime_ns),
            chunks,
            build=build,
            scanned_ns=5,
            now_ms=6,
            embed_hashes=[key(text) for text in texts],
        )


def write_and_fail(database: Database, path: str, *texts: str) -> None:
    with database.transaction():
        write(database, path, *texts)
        raise ValueError("stop")


def embed(database: Database, *texts: str) -> None:
    with database.transaction():
        vectors = Vectors(database, Identities(database).put_in_force(MODEL))
        vectors.write([(key(text), np.frombuffer(key(text)[:4], np.uint8) + np.float32(1)) for text in texts])


def ids_by_text(database: Database, path: str) -> list[tuple[str, int]]:
    documents = Documents(database)
    found = documents.get_document("memory", path)
    return [] if found is None else [(chunk.chunk.text, chunk.id) for chunk in documents.chunks_of(found.id)]


def found_by(database: Database, table: str, query: str) -> list[int]:
    return database.numbers(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid", (query,))


def words_with(database: Database, part: str) -> list[str]:
    found = "SELECT rowid FROM words_trigram WHERE words_trigram MATCH ?"
    return [str(word) for (word,) in database.rows(f"SELECT word FROM words WHERE id IN ({found})", (part,))]


def assert_sound(database: Database) -> None:
    assert [finding for finding in check(database) if not finding.ok] == []


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "main.sqlite") as opened:
        yield opened


def test_a_document_is_found_by_word_path_and_part_of_a_word(database: Database) -> None:
    write(database, "memory/harbour.md", "the orange lighthouse", heading=("Coast",))
    assert found_by(database, "chunks_fts", "lighthouse") == [1]
    assert found_by(database, "chunks_fts", "head : harbour") == [1]
    assert found_by(database, "chunks_fts", "head : coast") == [1]
    assert words_with(database, "ght") == ["lighthouse"]


def test_what_is_read_back_is_what_was_written(database: Database) -> None:
    chunk = Chunk(0, 3, 5, "User: hi\nAssistant: hello", ("A", "é"), (3, 5), 77)
    note = document("sessions/codex/1.jsonl", ("x",))
    with database.transaction():
        Documents(database).replace(
            note, [chunk], build="b", scanned_ns=5, now_ms=6, embed_hashes=[b"h" * 32], details='{"cwd": "/"}'
        )
    stored = Documents(database).chunk(1)
    assert stored is not None
    assert (stored.chunk, stored.embed_hash, stored.path) == (chunk, b"h" * 32, note.path)
    kept = Documents(database).get_document(None, note.path)
    assert kept is not None
    assert (kept.stat, kept.hash, kept.details, kept.scanned_ns) == (note.stat, note.hash, '{"cwd": "/"}', 5)


def test_unchanged_chunks_keep_id_and_vector_when_lines_move(database: Database) -> None:
    write(database, "a.md", "one", "two", "three")
    embed(database, "one", "two", "three")
    before = dict(ids_by_text(database, "a.md"))
    outcome = write(database, "a.md", "zero", "one", "three")
    after = dict(ids_by_text(database, "a.md"))
    assert (outcome.new, outcome.same, outcome.gone) == (1, 2, 1)
    assert (after["one"], after["three"]) == (before["one"], before["three"])
    assert [queued.chunk.text for queued in EmbeddingQueue(database).queued(9, now_ms=0)] == ["zero"]
    moved = Documents(database).chunk(after["one"])
    assert moved is not None
    assert (moved.chunk.start_line, moved.chunk.ordinal) == (2, 1)
    assert_sound(database)


def test_equal_chunks_are_matched_one_by_one(database: Database) -> None:
    write(database, "a.md", "same", "same", "same")
    outcome = write(database, "a.md", "same", "other", "same")
    assert (outcome.new, outcome.same, outcome.gone) == (1, 2, 1)
    texts = [(text, chunk_id) for text, chunk_id in ids_by_text(database, "a.md") if text == "same"]
    assert texts == [("same", 1), ("same", 2)]
    assert_sound(database)


def test_a_chunk_under_another_heading_is_another_chunk(database: Database) -> None:
    write(database, "a.md", "text", heading=("Old",))
    outcome = write(database, "a.md", "text", heading=("New",))
    assert (outcome.new, outcome.gone) == (1, 1)
    assert found_by(database, "chunks_fts", "head : old") == []


def test_another_build_rewrites_keyword_rows_and_keeps_vectors(database: Database) -> None:
    write(database, "a.md", "one two")
    embed(database, "one two")
    with database.transaction():
        database.run("DELETE FROM chunks_fts WHERE rowid = 1")
    assert write(database, "a.md", "one two").same == 1
    assert found_by(database, "chunks_fts", "two") == []
    assert write(database, "a.md", "one two", build="c").same == 1
    assert found_by(database, "chunks_fts", "two") == [1]
    assert EmbeddingQueue(database).waiting() == 0


def test_a_removed_document_leaves_no_row(database: Database) -> None:
    write(database, "a.md", "ghost777", "with vector")
    embed(database, "with vector")
    assert Documents(database).remove("memory", "a.md") == 2
    tables = ("files", "chunks", "chunks_fts_docsize", "embedding_queue")
    assert [database.count(f"SELECT count(*) FROM {table}") for table in tables] == [0, 0, 0, 0]
    assert database.count(f"SELECT count(*) FROM {vector_table(1)}") == 0
    assert found_by(database, "chunks_fts", "ghost777") == []
    assert Documents(database).settle()
    assert words_with(database, "hos") == []
    assert database.count("SELECT count(*) FROM words") == 0


def test_a_document_that_became_empty_leaves_its_file_row_alone(database: Database) -> None:
    write(database, "a.md", "ghost777")
    write(database, "a.md")
    assert [(row.chunks, row.lines) for row in Documents(database).list()] == [(0, 0)]
    assert found_by(database, "chunks_fts", "ghost777") == []
    assert_sound(database)


def test_removing_what_is_not_there_does_nothing(database: Database) -> None:
    assert Documents(database).remove("memory", "a.md") == 0


def test_the_same_path_in_two_sources_is_two_documents(database: Database) -> None:
    write(database, "a.md", "note")
    session = Document("sessions", "a.md", "/s/a.md", StatKey(1, 1, 1, 1, 1), "h", "talk")
    with database.transaction():
        Documents(database).replace(
            session, [Chunk(0, 1, 1, "talk")], build="b", scanned_ns=1, now_ms=1, embed_hashes=[key("talk")]
        )
    documents = Documents(database)
    assert [(count.source, count.files, count.chunks) for count in documents.counts()] == [
        ("memory", 1, 1),
        ("sessions", 1, 1),
    ]
    documents.remove("sessions", "a.md")
    assert list(documents.stat_keys()) == [("memory", "a.md")]


def test_a_touched_file_changes_its_stat_key_alone(database: Database) -> None:
    write(database, "a.md", "text")
    Documents(database).touch("memory", "a.md", StatKey(9, 8, 7, 6, 5), 99)
    row = Documents(database).stat_keys("memory")["memory", "a.md"]
    assert (row.stat, row.scanned_ns, row.build) == (StatKey(9, 8, 7, 6, 5), 99, "b")


def test_a_renamed_document_keeps_ids_and_vectors_and_is_found_by_its_new_name(database: Database) -> None:
    write(database, "memory/old.md", "text")
    embed(database, "text")
    with database.transaction():
        assert Documents(database).rename("memory/old.md", document("memory/fresh.md", ("text",)), scanned_ns=9)
    assert ids_by_text(database, "memory/fresh.md") == [("text", 1)]
    assert found_by(database, "chunks_fts", "head : fresh") == [1]
    assert found_by(database, "chunks_fts", "head : old") == []
    assert found_by(database, "chunks_fts", "body : text") == [1]
    assert EmbeddingQueue(database).waiting() == 0
    assert_sound(database)


def test_a_rename_that_is_none_is_refused(database: Database) -> None:
    write(database, "old.md", "text")
    write(database, "taken.md", "text")
    documents = Documents(database)
    assert not documents.rename("old.md", document("new.md", ("other text",)), scanned_ns=9)
    assert not documents.rename("old.md", document("taken.md", ("text",)), scanned_ns=9)
    assert not documents.rename("gone.md", document("new.md", ("text",)), scanned_ns=9)


def test_nul_and_lone_surrogates_never_reach_sqlite(database: Database) -> None:
    write(database, "bad\udcff.md", "a\x00b \ud800 c", heading=("h\x00",))
    assert ids_by_text(database, "bad\udcff.md") == [("a\ufffdb \ufffd c", 1)]
    assert list(Documents(database).stat_keys()) == [("memory", "bad\ufffd.md")]


def test_text_that_was_embedded_before_gets_its_vector_at_once(database: Database) -> None:
    write(database, "a.md", "text")
    embed(database, "text")
    Documents(database).remove("memory", "a.md")
    write(database, "b.md", "text", "more")
    assert [queued.chunk.text for queued in EmbeddingQueue(database).queued(9, now_ms=0)] == ["more"]
    assert database.numbers(f"SELECT rowid FROM {vector_table(1)}") == [2]


def test_newest_documents_wait_first(database: Database) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "old.md", "old", mtime_ns=10)
    write(database, "new.md", "new 1", "new 2", mtime_ns=30)
    write(database, "mid.md", "mid", mtime_ns=20)
    queue = EmbeddingQueue(database)
    assert [queued.chunk.text for queued in queue.queued(9, now_ms=0)] == ["new 1", "new 2", "mid", "old"]
    write(database, "old.md", "old", "added", mtime_ns=40)
    assert [queued.chunk.text for queued in queue.queued(2, now_ms=0)] == ["old", "added"]


def test_a_refused_text_is_named_and_waits_no_more(database: Database) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "a.md", "good", "bad")
    write(database, "b.md", "bad")
    queue = EmbeddingQueue(database)
    assert queue.refuse(key("bad"), "too long") == 2
    assert [queued.chunk.text for queued in queue.queued(9, now_ms=0)] == ["good"]
    assert queue.waiting() == 1
    assert [(one.path, one.start_line, one.error) for one in queue.refused()] == [
        ("a.md", 2, "too long"),
        ("b.md", 1, "too long"),
    ]
    assert queue.retry() == 2
    assert queue.waiting() == 3


def test_a_text_put_off_waits_its_time(database: Database) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "a.md", "slow")
    queue = EmbeddingQueue(database)
    queue.put_off(key("slow"), until_ms=1000)
    assert queue.queued(9, now_ms=999) == []
    assert [queued.attempts for queued in queue.queued(9, now_ms=1000)] == [1]


def test_errors_are_kept_counted_and_cleared(database: Database) -> None:
    documents = Documents(database)
    assert documents.record_error("memory", "x.md", "bad\udc80byte", now_ms=1) == 1
    assert documents.record_error("memory", "x.md", "worse", now_ms=2) == 2
    documents.record_skip("memory", "u16.md", "undecodable", "no BOM", now_ms=3)
    assert [(one.path, one.error, one.attempts, one.at_ms) for one in documents.errors()] == [("x.md", "worse", 2, 2)]
    assert documents.skips() == (SkippedPath("u16.md", "undecodable", "no BOM"),)
    documents.clear_error("memory", "x.md")
    documents.clear_error("memory", "u16.md")
    assert documents.errors() == documents.skips() == ()


def test_a_failure_half_way_leaves_the_old_document(database: Database) -> None:
    write(database, "a.md", "old text")
    pages = database.count("PRAGMA page_count")
    database.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull):
        write(database, "a.md", *(f"new text {n} " * 300 for n in range(200)))
    database.rows("PRAGMA max_page_count = 1000000000")
    assert ids_by_text(database, "a.md") == [("old text", 1)]
    assert_sound(database)


def test_one_bad_document_of_a_group_fails_alone(database: Database) -> None:
    with database.transaction():
        write(database, "a.md", "first")
        with pytest.raises(ValueError, match="stop"):
            write_and_fail(database, "b.md", "second")
        write(database, "c.md", "third")
    assert sorted(path for _, path in Documents(database).stat_keys()) == ["a.md", "c.md"]
    assert found_by(database, "chunks_fts", "second") == []
    assert_sound(database)


def test_segments_can_be_joined_after_much_writing(database: Database) -> None:
    for n in range(40):
        write(database, f"{n}.md", f"needle number {n}")
    segments = "SELECT count(DISTINCT segid) FROM chunks_fts_idx"
    before = database.count(segments)
    assert Documents(database).settle()
    assert database.count(segments) < before
    assert len(found_by(database, "chunks_fts", "needle")) == 40


TEXTS = st.lists(st.sampled_from(["alpha one", "beta two", "gamma three", "会议 four", "delta"]), max_size=6)
STEPS = st.lists(st.tuples(st.sampled_from(["a.md", "b.md"]), st.one_of(st.none(), TEXTS)), min_size=1, max_size=8)


@settings(max_examples=40)
@given(steps=STEPS)
def test_any_history_ends_as_a_fresh_index_would(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str] | None]]
) -> None:
    final: dict[str, list[str]] = {}
    with Database.open(tmp_path_factory.mktemp("s") / "main.sqlite") as database:
        Identities(database).put_in_force(MODEL)
        for number, (path, texts) in enumerate(steps):
            if texts is None:
                Documents(database).remove("memory", path)
                final.pop(path, None)
            else:
                write(database, path, *texts)
                final[path] = texts
            if number % 3 == 1:
                embed(database, *final.get(path, [])[:2])
        assert {path: [text for text, _ in ids_by_text(database, path)] for path in final} == final
        for word in ("alpha", "gamma", "议", "会议"):
            expected = sum(word in text for texts in final.values() for text in texts)
            assert len(found_by(database, "chunks_fts", f'"{word}"')) == expected
        assert_sound(database)


WRITER = """
import itertools, sys
sys.path.insert(0, {tests!r})
import test_store_documents as kit
from pathlib import Path
from core.store.database import Database
with Database.open(Path(sys.argv[1])) as database:
    print("ready", flush=True)
    for turn in itertools.count(int(sys.argv[2])):
        for path in ("a.md", "b.md"):
            kit.write(database, path, "shared text", *(f"turn {{turn}} part {{n}} of {{path}}" for n in range(30)))
        kit.embed(database, *(f"turn {{turn}} part {{n}} of a.md" for n in range(30)))
"""


def test_a_kill_at_any_moment_leaves_every_document_old_or_new(tmp_path: Path) -> None:
    store = tmp_path / "main.sqlite"
    with Database.open(store) as database:
        write(database, "a.md", "shared text", *(f"turn 0 part {n} of a.md" for n in range(30)))
        write(database, "b.md", "shared text", *(f"turn 0 part {n} of b.md" for n in range(30)))
    script = WRITER.format(tests=str(Path(__file__).parent))
    for round_ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(store), str(round_ * 1000)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.02 + 0.031 * round_)
        child.kill()
        child.wait()
        with Database.open(store) as database:
            for path in ("a.md", "b.md"):
                texts = [text for text, _ in ids_by_text(database, path)]
                turn = texts[1].split()[1]
                assert texts == ["shared text", *(f"turn {turn} part {n} of {path}" for n in range(30))]
            assert_sound(database)


def test_details_are_json_of_the_dialect(database: Database) -> None:
    with database.transaction():
        Documents(database).replace(
            document("s.jsonl", ()), [], build="b", scanned_ns=1, now_ms=1, embed_hashes=[], details='{"cwd":"/x"}'
        )
    kept = Documents(database).get_document("memory", "s.jsonl")
    assert kept is not None
    assert json.loads(kept.details or "") == {"cwd": "/x"}
