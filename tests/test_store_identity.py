"""What an index was built with: compared, changed without losing anything, and never mixed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.store.check import check
from core.store.database import Database
from core.store.documents import Documents
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities, IdentityRow, compare, read_identity, write_identity
from core.store.requests import KEPT_MS, Requests
from core.store.vector_rows import VectorRows
from core.store.vectors import Vectors
from core.types import Chunk, Document, EmbeddingIdentity, IndexIdentity, StatKey

OLD = EmbeddingIdentity("local", "mini", dims=3)
NEW = EmbeddingIdentity("openai", "large", "https://api.example/v1", dims=4, recipe="prefix")
INDEX = IndexIdentity(OLD, ("memory", "sessions"), "scope-1", "400/80", "porter")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "main.sqlite") as opened:
        yield opened


def key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def write(database: Database, path: str, *texts: str) -> None:
    text = "\n".join(texts)
    note = Document("memory", path, f"/ws/{path}", StatKey(1, 1, 1, 1, 1), key(text).hex(), text)
    chunks = [Chunk(n, n + 1, n + 1, one) for n, one in enumerate(texts)]
    with database.transaction():
        Documents(database).replace(
            note, chunks, build="b", scanned_ns=1, now_ms=1, embed_hashes=[key(one) for one in texts]
        )


def embed(database: Database, row: IdentityRow, *texts: str) -> None:
    dims = row.identity.dims or 3
    with database.transaction():
        Vectors(database, row).write([(key(text), np.ones(dims, np.float32)) for text in texts])


def found_with(database: Database, row: IdentityRow) -> int:
    return len(Vectors(database, row).search(np.ones(row.identity.dims or 3, np.float32), 99))


def waiting(database: Database) -> list[str]:
    return [queued.chunk.text for queued in EmbeddingQueue(database).queued(99, now_ms=0)]


def test_what_was_recorded_is_read_back(database: Database) -> None:
    assert read_identity(database) is None
    write_identity(database, INDEX)
    assert read_identity(database) == INDEX


def test_a_record_that_cannot_be_read_counts_as_none(database: Database) -> None:
    database.set_meta("identity", '{"embedding": 7}')
    assert read_identity(database) is None


def test_recording_without_an_embedder_keeps_the_embedding(database: Database) -> None:
    write_identity(database, INDEX)
    write_identity(database, replace(INDEX, embedding=None, scope="scope-2"))
    assert read_identity(database) == replace(INDEX, scope="scope-2")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (replace(INDEX, chunking="256/32", scope="scope-2"), "chunking differs: built with 400/80, wanted 256/32"),
        (replace(INDEX, embedding=NEW), "embedding model differs: built with mini, wanted large"),
        (replace(INDEX, embedding=replace(OLD, provider="ollama")), "embedding provider differs"),
        (replace(INDEX, embedding=replace(OLD, endpoint="http://x")), "built with none, wanted http://x"),
        (replace(INDEX, embedding=replace(OLD, recipe="512")), "embedding recipe differs"),
        (replace(INDEX, embedding=replace(OLD, dims=4)), "vector length differs: built with 3, wanted 4"),
        (replace(INDEX, sources=("memory",)), "sources differs: built with memory, sessions, wanted memory"),
        (replace(INDEX, scope="scope-2"), "scope differs"),
        (replace(INDEX, tokenizer="trigram"), "tokenizer differs"),
    ],
)
def test_the_first_difference_is_named(wanted: IndexIdentity, words: str) -> None:
    assert words in (compare(INDEX, wanted) or "")


def test_what_fits_is_no_difference() -> None:
    assert compare(INDEX, INDEX) is None
    assert compare(INDEX, replace(INDEX, sources=("sessions", "memory"))) is None
    assert compare(INDEX, replace(INDEX, embedding=replace(OLD, dims=None))) is None


def test_a_missing_key_is_no_difference() -> None:
    assert compare(INDEX, replace(INDEX, embedding=None)) is None


def test_an_index_without_a_record_differs() -> None:
    assert compare(None, INDEX) is not None
    assert "no vectors yet" in (compare(replace(INDEX, embedding=None), INDEX) or "")


def test_without_an_identity_nothing_waits(database: Database) -> None:
    write(database, "a.md", "one")
    assert EmbeddingQueue(database).waiting() == 0


def test_the_first_identity_queues_all_and_becomes_active(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    row = identities.put_in_force(OLD)
    assert waiting(database) == ["one", "two"]
    assert not identities.complete(row)
    embed(database, row, "one", "two")
    assert identities.complete(row)
    assert identities.active() == replace(row, state="active")


def test_the_length_is_learned_from_the_first_vector(database: Database) -> None:
    write(database, "a.md", "one")
    row = Identities(database).put_in_force(replace(OLD, dims=None))
    embed(database, row, "one")
    assert Identities(database).put_in_force(replace(OLD, dims=None)).identity == OLD
    assert Identities(database).put_in_force(OLD).id == row.id


def test_an_identity_in_force_costs_nothing(database: Database) -> None:
    write(database, "a.md", "one", "two")
    row = Identities(database).put_in_force(OLD)
    EmbeddingQueue(database).refuse(key("two"), "too long")
    assert Identities(database).put_in_force(OLD) == row
    assert waiting(database) == ["one"]


def test_the_old_vectors_answer_until_the_new_are_complete(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one", "two")
    identities.complete(old)
    new = identities.put_in_force(NEW)
    assert waiting(database) == ["one", "two"]
    embed(database, new, "one")
    assert (found_with(database, old), found_with(database, new)) == (2, 1)
    assert not identities.complete(new)
    embed(database, new, "two")
    assert identities.complete(new)
    assert identities.live() == [replace(new, state="active")]
    assert VectorRows(database).tables() == [new.id]
    assert [finding for finding in check(database) if not finding.ok] == []


def test_a_document_changed_meanwhile_is_made_for_the_new_identity(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one", "two")
    identities.complete(old)
    new = identities.put_in_force(NEW)
    embed(database, new, "one", "two")
    write(database, "a.md", "one", "three")
    assert waiting(database) == ["three"]
    assert (found_with(database, old), found_with(database, new)) == (1, 1)


def test_refused_chunks_do_not_hold_the_change_up(database: Database) -> None:
    write(database, "a.md", "one", "too long")
    identities = Identities(database)
    row = identities.put_in_force(OLD)
    embed(database, row, "one")
    EmbeddingQueue(database).refuse(key("too long"), "too long")
    assert identities.complete(row)


def test_going_back_embeds_nothing_that_the_cache_has(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one", "two")
    identities.complete(old)
    new = identities.put_in_force(NEW)
    embed(database, new, "one", "two")
    identities.complete(new)
    back = identities.put_in_force(OLD)
    assert back.id == old.id
    assert waiting(database) == []
    assert found_with(database, back) == 2
    assert identities.complete(back)


def test_a_change_given_up_half_way_goes_back_to_the_old(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one", "two")
    identities.complete(old)
    embed(database, identities.put_in_force(NEW), "one")
    back = identities.put_in_force(OLD)
    assert (back.id, waiting(database), found_with(database, back)) == (old.id, [], 2)
    assert VectorRows(database).tables() == [old.id]


def test_another_length_is_another_identity(database: Database) -> None:
    write(database, "a.md", "one")
    identities = Identities(database)
    three = identities.put_in_force(OLD)
    embed(database, three, "one")
    identities.complete(three)
    four = identities.put_in_force(replace(OLD, dims=4))
    assert four.id != three.id
    assert waiting(database) == ["one"]
    assert found_with(database, three) == 1


def test_vectors_that_come_late_for_a_retired_identity_go_to_the_cache_alone(database: Database) -> None:
    write(database, "a.md", "one", "two")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one")
    identities.put_in_force(NEW)
    embed(database, old, "two")
    assert waiting(database) == ["one", "two"]
    assert VectorRows(database).tables() == []
    assert set(EmbeddingCache(database).get(old.id, [key("two")])) == {key("two")}


def test_vectors_of_a_retired_identity_are_evicted_with_the_rest(database: Database) -> None:
    write(database, "a.md", "one")
    identities = Identities(database)
    old = identities.put_in_force(OLD)
    embed(database, old, "one")
    new = identities.put_in_force(NEW)
    embed(database, new, "one")
    assert EmbeddingCache(database).prune(0) == 1
    assert EmbeddingCache(database).get(old.id, [key("one")]) == {}
    assert found_with(database, new) == 1


def test_keyword_rows_do_not_depend_on_the_identity(database: Database) -> None:
    write(database, "a.md", "one")
    identities = Identities(database)
    identities.put_in_force(OLD)
    identities.put_in_force(NEW)
    assert database.numbers("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'one'") == [1]


def test_a_retired_table_that_could_not_be_dropped_goes_later(tmp_path: Path) -> None:
    store = tmp_path / "main.sqlite"
    with Database.open(store) as database:
        write(database, "a.md", "one")
        embed(database, Identities(database).put_in_force(OLD), "one")
    with Database.open(store, vector_extension=False) as database:
        Identities(database).put_in_force(NEW)
    with Database.open(store) as database:
        assert VectorRows(database).tables() == [1]
        Identities(database).put_in_force(NEW)
        assert VectorRows(database).tables() == []


def test_a_request_reaches_the_writer_and_its_answer_the_asker(tmp_path: Path) -> None:
    store = tmp_path / "main.sqlite"
    with Database.open(store) as writer, Database.open(store) as follower:
        number = Requests(follower).ask("sync", '{"reason": "search"}', pid=42, now_ms=7)
        served = Requests(writer)
        assert [(one.id, one.payload, one.asked_by, one.asked_ms) for one in served.take("sync")] == [
            (number, '{"reason": "search"}', 42, 7)
        ]
        assert Requests(follower).outcome(number) is None
        served.finish(number, "done", now_ms=9)
        assert Requests(follower).outcome(number) == "done"
        assert served.waiting() == 0


def test_a_request_is_given_out_once_and_again_to_the_next_writer(database: Database) -> None:
    asked = Requests(database)
    number = asked.ask("forget", "{}", pid=1, now_ms=1)
    first = Requests(database)
    assert [one.id for one in first.take()] == [number]
    assert first.take() == []
    assert first.take("sync") == []
    assert [one.id for one in Requests(database).take("forget")] == [number]


def test_a_request_taken_back_is_not_served(database: Database) -> None:
    requests = Requests(database)
    requests.withdraw(requests.ask("sync", "{}", pid=1, now_ms=1))
    assert requests.take() == []


def test_old_answers_go(database: Database) -> None:
    requests = Requests(database)
    first, second = (requests.ask("sync", "{}", pid=1, now_ms=1) for _ in range(2))
    requests.finish(first, "early", now_ms=10)
    requests.finish(second, "late", now_ms=11 + KEPT_MS)
    assert (requests.outcome(first), requests.outcome(second)) == (None, "late")
