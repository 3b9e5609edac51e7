"""What the worker sets right: a corrupt index, damaged keyword rows, vectors of a file that was set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.events import StoreRecovered
from core.store.database import Database
from tests.workbench import Bench, WordEmbedder, benches


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with benches(tmp_path) as make:
        yield make


def test_a_corrupt_index_is_set_aside_and_rebuilt(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("MEMORY.md", "text\n")
    here.store.write_bytes(b"this is not a database, whatever its name says" * 100)
    assert here.sync().indexed == 1
    assert here.paths() == ["MEMORY.md"]
    assert list(here.store.parent.glob("index.sqlite.bad-*"))


def test_all_is_rebuilt_where_the_corruption_was_met_by_a_sync_of_one_file(bench: Callable[..., Bench]) -> None:
    here = bench()
    for name in ("a", "b", "c"):
        here.write(f"memory/{name}.md", "text\n")
    here.store.write_bytes(b"this is not a database, whatever its name says" * 100)
    here.sync(paths=(str(here.workspace / "memory" / "a.md"),))
    here.until(lambda: here.paths() == ["memory/a.md", "memory/b.md", "memory/c.md"])


def test_keyword_rows_that_are_missing_are_made_up_for(bench: Callable[..., Bench], tmp_path: Path) -> None:
    first = bench()
    first.write("MEMORY.md", "needle\n")
    first.sync()
    first.worker.stop()
    with Database.open(first.store) as database, database.transaction():
        database.run("DELETE FROM chunks_fts WHERE rowid IN (SELECT id FROM chunks)")
    second = Bench(tmp_path)
    try:
        second.sync()
        assert len(second.happened(StoreRecovered)) == 1
        with second.reading() as database:
            assert database.count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'needle'") == 1
    finally:
        second.worker.stop()


def test_damaged_keyword_tables_are_made_anew(bench: Callable[..., Bench], tmp_path: Path) -> None:
    first = bench()
    for number in range(20):
        first.write(f"memory/{number}.md", f"needle {number}\n")
    first.sync()
    first.worker.stop()
    with Database.open(first.store) as database, database.transaction():
        database.run("UPDATE chunks_fts_data SET block = zeroblob(20) WHERE id > 10")
    second = Bench(tmp_path)
    try:
        for number in range(20):
            second.write(f"memory/{number}.md", f"thread {number}\n")
        second.sync()
        with second.reading() as database:
            assert database.count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'thread'") == 20
    finally:
        second.worker.stop()


def test_vectors_of_a_file_that_was_set_aside_are_used_again(bench: Callable[..., Bench], tmp_path: Path) -> None:
    first = bench(WordEmbedder())
    for number in range(30):
        first.write(f"memory/{number}.md", f"text {number}\n")
    first.sync()
    first.worker.stop()
    with first.store.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 400)
    embedder = WordEmbedder()
    second = Bench(tmp_path, embedder)
    try:
        assert second.sync().indexed == 30
        assert list(first.store.parent.glob("index.sqlite.bad-*"))
    finally:
        second.worker.stop()
