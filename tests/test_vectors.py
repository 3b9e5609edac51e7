"""Vectors: what is written, what is found, and memory that follows the writer exactly."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadVector
from core.store import vector_rows
from core.store.check import check
from core.store.database import Database
from core.store.documents import Documents
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.matrix import VectorMatrix
from core.store.schema import vector_table
from core.store.vectors import Vectors
from core.types import Chunk, Document, EmbeddingIdentity, StatKey

ROOT = str(Path(__file__).parent.parent)
DIMS = 8
MODEL = EmbeddingIdentity("local", "mini")
Row = npt.NDArray[np.float32]


def key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vector_of(text: str, dims: int = DIMS) -> Row:
    """A unit vector that only this text has."""
    values = np.random.default_rng(int.from_bytes(key(text)[:8], "big")).standard_normal(dims)
    return (values / np.linalg.norm(values)).astype(np.float32)


def write(database: Database, path: str, *texts: str) -> None:
    text = "\n".join(texts)
    note = Document("memory", path, f"/ws/{path}", StatKey(1, 1, 1, 1, 1), key(text).hex(), text)
    chunks = [Chunk(n, n + 1, n + 1, one) for n, one in enumerate(texts)]
    with database.transaction():
        Documents(database).replace(
            note, chunks, build="b", scanned_ns=1, now_ms=1, embed_hashes=[key(one) for one in texts]
        )


def vectors_in(database: Database) -> Vectors:
    row = Identities(database).find(MODEL)
    assert row is not None
    return Vectors(database, row)


def embed(database: Database, *texts: str, now: float = 1.0) -> int:
    row = Identities(database).put_in_force(MODEL)
    with database.transaction():
        return Vectors(database, row, clock=lambda: now).write([(key(text), vector_of(text)) for text in texts])


def texts_of(database: Database, found: list[tuple[int, float]]) -> list[str]:
    chunks = Documents(database).chunks(chunk_id for chunk_id, _ in found)
    return [chunks[chunk_id].chunk.text for chunk_id, _ in found]


def rounded(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(chunk_id, round(cosine, 5)) for chunk_id, cosine in found]


def in_memory(matrix: VectorMatrix, database: Database) -> dict[int, bytes]:
    with database.snapshot():
        assert matrix.follow(database, vectors_in(database).row)
    return {int(chunk_id): row.tobytes() for chunk_id, row in zip(matrix.ids, matrix.matrix, strict=True)}


def on_disk(database: Database) -> dict[int, bytes]:
    return {
        int(chunk_id): row.tobytes()
        for ids, rows in vectors_in(database).scan()
        for chunk_id, row in zip(ids, rows, strict=True)
    }


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "main.sqlite"


@pytest.fixture
def database(store: Path) -> Iterator[Database]:
    with Database.open(store) as opened:
        yield opened


@pytest.fixture
def without_vec0(store: Path) -> Iterator[Database]:
    with Database.open(store, vector_extension=False) as opened:
        yield opened


WORDS = [f"text number {n}" for n in range(50)]


def test_the_nearest_chunks_come_first_with_their_cosine(database: Database) -> None:
    write(database, "a.md", *WORDS)
    assert embed(database, *WORDS) == 50
    query = vector_of("a question")
    expected = sorted(WORDS, key=lambda text: -float(vector_of(text) @ query))[:5]
    found = vectors_in(database).search(query, 5)
    assert texts_of(database, found) == expected
    assert [cosine for _, cosine in found] == pytest.approx(
        [float(vector_of(text) @ query) for text in expected], abs=1e-6
    )


def test_the_scan_without_vec0_answers_the_same(database: Database, store: Path) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    query = vector_of("a question")
    with Database.open(store, read_only=True, vector_extension=False) as reader:
        assert reader.vector_error is not None
        scanned = vectors_in(reader).search(query, 7)
        some = vectors_in(reader).search(query, 3, allowed=range(10, 20))
    asked = vectors_in(database).search(query, 7)
    assert rounded(scanned) == rounded(asked)
    assert rounded(some) == rounded(vectors_in(database).search(query, 3, allowed=range(10, 20)))


def test_more_than_vec0_gives_is_scanned(database: Database) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    assert len(vectors_in(database).search(vector_of("q"), 5000)) == 50


@pytest.mark.parametrize("count", [3, 1500])
def test_only_allowed_chunks_are_found(database: Database, count: int) -> None:
    texts = [f"many {n}" for n in range(2000)]
    write(database, "a.md", *texts)
    embed(database, *texts)
    allowed = range(100, 100 + count)
    query = vector_of("q")
    found = vectors_in(database).search(query, 3, allowed=allowed)
    cosines = vectors_in(database).cosines(query, allowed)
    assert len(cosines) == count
    assert [chunk_id for chunk_id, _ in found] == sorted(cosines, key=lambda chunk_id: -cosines[chunk_id])[:3]
    assert vectors_in(database).search(query, 3, allowed=[]) == []


def test_a_text_that_stands_twice_gives_both_chunks_its_vector(database: Database) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "a.md", "twin", "other", "twin")
    write(database, "b.md", "twin")
    assert embed(database, "twin", "twin") == 3
    assert EmbeddingQueue(database).waiting() == 1


BAD = [[np.nan, *[0] * 7], [np.inf, *[0] * 7], [0] * 8, [], [1] * 7]


@pytest.mark.parametrize("values", BAD)
def test_a_bad_vector_is_refused_by_name_and_its_neighbours_stand(database: Database, values: list[float]) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "a.md", "one", "two", "three", "four")
    embed(database, "one")
    rows = [("two", vector_of("two")), ("three", np.array(values)), ("four", vector_of("four"))]
    with database.transaction():
        assert vectors_in(database).write([(key(text), row) for text, row in rows]) == 2
    assert [(one.path, one.start_line) for one in EmbeddingQueue(database).refused()] == [("a.md", 3)]
    assert sorted(texts_of(database, vectors_in(database).search(vector_of("one"), 9))) == ["four", "one", "two"]
    assert database.numbers("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'three'") == [3]


def test_a_bad_first_vector_does_not_set_the_length(database: Database) -> None:
    row = Identities(database).put_in_force(MODEL)
    write(database, "a.md", "one")
    with database.transaction():
        assert Vectors(database, row).write([(key("one"), np.zeros(3, np.float32))]) == 0
    assert vectors_in(database).dims is None


@pytest.mark.parametrize("values", BAD)
def test_a_bad_query_vector_is_told(database: Database, values: list[float]) -> None:
    write(database, "a.md", "one")
    embed(database, "one")
    with pytest.raises(BadVector):
        vectors_in(database).search(np.array(values), 3)


def test_a_vector_whose_chunk_is_gone_waits_in_the_cache(database: Database) -> None:
    Identities(database).put_in_force(MODEL)
    write(database, "a.md", "fleeting")
    Documents(database).remove("memory", "a.md")
    assert embed(database, "fleeting") == 0
    assert on_disk(database) == {}
    write(database, "b.md", "fleeting")
    assert EmbeddingQueue(database).waiting() == 0
    assert texts_of(database, vectors_in(database).search(vector_of("fleeting"), 3)) == ["fleeting"]


def test_vectors_written_without_vec0_are_made_up_for(store: Path, without_vec0: Database) -> None:
    write(without_vec0, "a.md", "one", "two")
    embed(without_vec0, "one", "two")
    Documents(without_vec0).remove("memory", "a.md")
    write(without_vec0, "b.md", "two", "three")
    embed(without_vec0, "three")
    with Database.open(store) as database:
        query = vector_of("three")
        before = vectors_in(database).search(query, 9)
        Identities(database).put_in_force(MODEL)
        assert database.numbers(f"SELECT rowid FROM {vector_table(1)} ORDER BY rowid") == [3, 4]
        assert rounded(vectors_in(database).search(query, 9)) == rounded(before)
        assert [finding for finding in check(database) if not finding.ok] == []


def test_vectors_deleted_without_vec0_are_not_found_by_it(database: Database, store: Path) -> None:
    write(database, "a.md", "one", "two")
    embed(database, "one", "two")
    with Database.open(store, vector_extension=False) as other:
        Documents(other).remove("memory", "a.md")
    assert vectors_in(database).search(vector_of("one"), 5) == []


def test_mean_and_covariance_tell_the_spread_of_cosines(database: Database) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    vectors = vectors_in(database)
    assert vectors.stats() is None
    assert vectors.refresh_stats()
    assert not vectors.refresh_stats()
    stats = vectors.stats()
    assert stats is not None
    assert stats.covariance is not None
    query = vector_of("q").astype(np.float64)
    cosines = np.array([vector_of(text) @ query for text in WORDS])
    assert stats.n == 50
    assert float(query @ stats.mean) == pytest.approx(float(cosines.mean()), abs=1e-6)
    assert float(np.sqrt(query @ stats.covariance @ query)) == pytest.approx(float(cosines.std()), abs=1e-6)


def test_the_cache_never_evicts_what_is_used_and_the_oldest_first(database: Database) -> None:
    for number, text in enumerate(["old", "newer", "newest", "used"]):
        write(database, "a.md", text)
        embed(database, text, now=float(number))
    cache = EmbeddingCache(database)
    with database.transaction():
        assert cache.prune(4) == 0
        assert cache.prune(1) == 2
    assert set(cache.get(1, [key(text) for text in ("old", "newer", "newest", "used")])) == {key("newest"), key("used")}
    with database.transaction():
        assert cache.prune(0) == 1
    assert cache.entries() == 1


def test_the_matrix_holds_what_the_index_holds(database: Database) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    matrix = VectorMatrix(limit_mb=1)
    assert in_memory(matrix, database) == on_disk(database)
    assert matrix.matrix.dtype == np.float32
    assert matrix.ids.dtype == np.int64


def test_the_matrix_tells_every_cosine(database: Database) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    query = vector_of("q")
    with database.snapshot():
        cosines = VectorMatrix(limit_mb=1).cosines(database, vectors_in(database).row, 3 * query)
    assert cosines is not None
    assert dict(zip(cosines.ids.tolist(), cosines.values.tolist(), strict=True)) == pytest.approx(
        vectors_in(database).cosines(query, range(1, 51)), abs=1e-6
    )


TEXTS = st.lists(st.sampled_from(WORDS[:12]), max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(["a.md", "b.md"]), TEXTS),
        st.tuples(st.just("embed"), st.just(""), TEXTS),
        st.tuples(st.just("trim"), st.just(""), st.just([])),
        st.tuples(st.just("refill"), st.just(""), st.just([])),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40)
@given(steps=STEPS)
def test_the_matrix_follows_any_history(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, list[str]]]
) -> None:
    store = tmp_path_factory.mktemp("m") / "main.sqlite"
    matrix = VectorMatrix(limit_mb=1)
    with Database.open(store) as writer, Database.open(store, read_only=True) as reader:
        write(writer, "a.md", *WORDS[:5])
        embed(writer, *WORDS[:5])
        for what, path, texts in steps:
            if what == "write":
                write(writer, path, *texts)
            elif what == "embed":
                embed(writer, *texts)
            elif what == "trim":
                writer.run("DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes)")
            else:
                with writer.transaction():
                    vector_rows.VectorRows(writer).refill(1, DIMS)
            assert in_memory(matrix, reader) == on_disk(writer)
        asked = vectors_in(writer).search(vector_of("q"), 99)
        assert {chunk_id for chunk_id, _ in asked} == set(on_disk(writer))


def test_the_matrix_notices_a_gap_in_the_log(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    write(database, "a.md", *WORDS[:3])
    embed(database, *WORDS[:3])
    matrix = VectorMatrix(limit_mb=1)
    in_memory(matrix, database)
    monkeypatch.setattr(vector_rows, "CHANGES_KEPT", 2)
    write(database, "a.md", *WORDS[3:20])
    embed(database, *WORDS[3:20])
    assert database.count("SELECT count(*) FROM changes") == 2
    assert in_memory(matrix, database) == on_disk(database)


def test_the_matrix_is_bounded(database: Database) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS)
    matrix = VectorMatrix(limit_mb=40 * DIMS * 4 / 1e6)
    row = vectors_in(database).row
    assert not matrix.follow(database, row)
    assert matrix.nbytes == 0
    write(database, "a.md", *WORDS[:30])
    assert matrix.follow(database, row)
    write(database, "a.md", *WORDS)
    assert not matrix.follow(database, row)
    assert matrix.nbytes == 0


def test_a_transaction_that_sees_less_than_the_matrix_is_told(database: Database, store: Path) -> None:
    write(database, "a.md", *WORDS)
    embed(database, *WORDS[:10])
    row = vectors_in(database).row
    matrix = VectorMatrix(limit_mb=1)
    with Database.open(store, read_only=True) as old, Database.open(store, read_only=True) as new, old.snapshot():
        embed(database, *WORDS[10:])
        assert matrix.follow(new, row)
        assert not matrix.follow(old, row)
        assert len(vectors_in(old).search(vector_of("q"), 99)) == 10


def test_the_matrix_of_another_index_is_not_kept(tmp_path: Path) -> None:
    matrix = VectorMatrix(limit_mb=1)
    for name, texts in (("one", WORDS[:4]), ("two", WORDS[4:8])):
        with Database.open(tmp_path / name) as database:
            write(database, "a.md", *texts)
            embed(database, *texts)
            assert in_memory(matrix, database) == on_disk(database)


WRITER = """
import sys
sys.path.insert(0, {tests!r})
import test_vectors as kit
from pathlib import Path
from core.store.database import Database
with Database.open(Path(sys.argv[1])) as database:
    for turn in range(25):
        texts = [f"turn {{turn - back}} text {{n}}" for back in range(3) for n in range(7 + turn % 5)]
        kit.write(database, f"{{turn % 3}}.md", *texts)
        kit.embed(database, *texts[: 15 + turn % 4])
        if turn == 0:
            print("ready", flush=True)
"""


def test_the_matrix_is_exact_while_another_process_writes(store: Path) -> None:
    script = WRITER.format(tests=str(Path(__file__).parent))
    child = subprocess.Popen([sys.executable, "-c", script, str(store)], cwd=ROOT, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    matrix = VectorMatrix(limit_mb=1)
    states = set()
    with Database.open(store, read_only=True) as reader:
        running = True
        while running:
            running = child.poll() is None
            with reader.snapshot():
                expected = on_disk(reader)
                assert in_memory(matrix, reader) == expected
            states.add(frozenset(expected))
    assert child.returncode == 0
    assert len(states) > 3
