"""A disk that is full, or read-only for a while: every document stays old or new, and all is made up for later."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.embedding.base import Embedder
from core.errors import StoreFull, StoreReadOnly
from core.events import WorkerFailed
from core.settings import settings_of
from core.settings.model import Settings
from core.store.check import check
from core.store.database import Database
from core.store.embedding_queue import EmbeddingQueue
from core.sync import later
from tests.machine import mounted
from tests.test_soak import content
from tests.workbench import Bench, WordEmbedder

FILES = 40
NAMES = [f"memory/{number:02}.md" for number in range(FILES)]


def text(word: str, lines: int) -> str:
    return "".join(f"{word} line {number} of a note that takes its place on the disk\n" for number in range(lines))


@pytest.fixture(autouse=True)
def _retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "RETRY_SECONDS", 0.2)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB that holds the index alone."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        yield folder


def bench_on(disk: Path, embedder: Embedder | None = None, settings: Settings | None = None) -> Bench:
    return Bench(disk.parent, embedder, settings=settings, store=disk / "index.sqlite")


def fill(disk: Path, *, leave: int) -> Path:
    """Take all space but `leave` bytes; the file that takes it."""
    ballast = disk / "ballast"
    free = subprocess.run(["stat", "-f", "-c", "%a %S", str(disk)], capture_output=True, text=True, check=True)
    blocks, size = map(int, free.stdout.split())
    ballast.write_bytes(b"x" * max(0, blocks * size - leave))
    return ballast


def like_fresh(bench: Bench, root: Path, embedder: Embedder | None, settings: Settings | None = None) -> bool:
    """Whether the index says what a rebuild would say."""
    fresh = Bench(root / "fresh", embedder, settings=settings)
    for name in NAMES:
        fresh.write(name, (bench.workspace / name).read_text())
    fresh.sync()
    fresh.worker.stop()
    return content(bench.store) == content(fresh.store)


def old_or_new(store: Path, old: str, new: str) -> tuple[int, int]:
    """How many documents have all of their old text, and how many all of their new one; no other is possible."""
    with Database.open(store, read_only=True) as database:
        assert [finding for finding in check(database) if not finding.ok] == []
        olds = news = 0
        for (file_id,) in database.rows("SELECT id FROM files"):
            rows = database.rows("SELECT text FROM chunks WHERE file_id = ?", (file_id,))
            words = {str(line).split()[0] for (chunk,) in rows for line in str(chunk).splitlines()}
            assert words in ({old}, {new})
            olds, news = olds + (words == {old}), news + (words == {new})
        return olds, news


def test_a_sync_on_a_full_disk_leaves_every_document_old_or_new_and_catches_up(disk: Path, tmp_path: Path) -> None:
    here = bench_on(disk)
    for name in NAMES:
        here.write(name, text("old", 20))
    here.sync()
    ballast = fill(disk, leave=600_000)
    for name in NAMES:
        here.write(name, text("new", 300))

    with pytest.raises(StoreFull) as told:
        here.sync()
    assert told.value.remedy.startswith("Free some space")
    assert sum(old_or_new(here.store, "old", "new")) == FILES
    with here.reading() as database:
        assert database.count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'old OR new'") > 0
    here.until(lambda: len(here.happened(WorkerFailed)) > 0)

    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    here.until(lambda: old_or_new(here.store, "old", "new") == (0, FILES))  # by itself: nobody asks
    here.until(lambda: not here.worker.state.dirty)
    assert len(here.happened(WorkerFailed)) == 1
    assert like_fresh(here, tmp_path, None)
    here.worker.stop()
    wal = here.store.with_name(here.store.name + "-wal")
    assert not wal.exists() or wal.stat().st_size == 0


def test_an_identity_change_on_a_full_disk_goes_on_when_there_is_space(disk: Path, tmp_path: Path) -> None:
    here = bench_on(disk, WordEmbedder("old", dims=8))
    for name in NAMES:
        here.write(name, text("note", 60))
    here.sync()
    here.worker.stop()
    assert [row[:2] for row in here.vectors()] == [("old", "active")]
    ballast = fill(disk, leave=500_000)

    settings = settings_of({"chunking": {"tokens": 60, "overlap": 10}})
    there = bench_on(disk, WordEmbedder("wide", dims=1024), settings)
    there.ask()
    there.until(lambda: there.happened(WorkerFailed))
    with there.reading() as database:
        assert [finding for finding in check(database) if not finding.ok] == []
        builds = [build for (build,) in database.rows("SELECT build FROM files")]
        assert len(builds) == FILES
        assert set(builds) <= {there.intakes()[0].build, here.intakes()[0].build}
    assert ("old", "active") in [row[:2] for row in there.vectors()]

    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=256m", str(disk)], check=True)
    there.until(lambda: [row[:2] for row in there.vectors()] == [("wide", "active")], seconds=60)
    there.until(lambda: not there.worker.state.dirty and waiting(there) == 0)
    there.worker.stop()
    with there.reading() as database:
        assert database.count("SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%vec0%'") == 1
    assert like_fresh(there, tmp_path, WordEmbedder("wide", dims=1024), settings)


def waiting(bench: Bench) -> int:
    with bench.reading() as database:
        return EmbeddingQueue(database).waiting()


def test_a_log_that_filled_the_disk_under_a_search_gives_it_back(disk: Path, tmp_path: Path) -> None:
    here = bench_on(disk)
    for name in NAMES:
        here.write(name, text("old", 40))
    here.sync()
    here.worker.stop()
    ballast = fill(disk, leave=2_000_000)
    with here.reading() as reader, reader.snapshot():  # keeps the log from being emptied
        word = write_until_full(here)
        assert reader.count("SELECT count(*) FROM files") == FILES

    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - 400_000)  # too little for the sync, enough for the log
    here.until(lambda: found(here, word) == FILES)
    here.until(lambda: not here.worker.state.dirty)
    assert here.store.with_name(here.store.name + "-wal").stat().st_size < 1_500_000
    here.worker.stop()
    ballast.unlink()
    assert like_fresh(here, tmp_path, None)


def test_a_disk_that_was_read_only_for_a_while_is_caught_up_with(disk: Path) -> None:
    here = bench_on(disk)
    here.write("memory/a.md", "first\n")
    here.sync()
    here.worker.stop()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    here.write("memory/b.md", "second\n")
    with pytest.raises(StoreReadOnly):
        here.sync()
    here.until(lambda: here.worker.state.recovery.attempts > 2)
    assert here.worker.state.read_only
    assert here.paths() == ["memory/a.md"]
    assert len(here.happened(WorkerFailed)) == 1

    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    here.until(lambda: here.paths() == ["memory/a.md", "memory/b.md"])
    here.until(lambda: not here.worker.state.read_only)
    here.worker.stop()


def test_an_index_that_may_not_grow_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Bench(tmp_path)
    here.write("memory/a.md", "first\n")
    here.sync()
    prepare = Database._prepare_writer

    def small(self: Database) -> None:
        prepare(self)
        self.connection.pragma("max_page_count", self.count("PRAGMA page_count") + 2)

    here.worker.stop()
    monkeypatch.setattr(Database, "_prepare_writer", small)
    for number in range(50):
        here.write(f"memory/{number:02}.md", f"text {number} " * 400)
    with pytest.raises(StoreFull):
        here.sync()
    assert "memory/a.md" in here.paths()
    monkeypatch.undo()
    here.worker.stop()
    assert here.sync().failed == 0
    assert len(here.paths()) == 51
    here.worker.stop()


def write_until_full(bench: Bench) -> str:
    """Change all files again and again until there is no space left; the last word that was written into them."""
    for number in range(50):
        for name in NAMES:
            bench.write(name, text(f"new{number}", 40))
        try:
            bench.sync()
        except StoreFull:
            return f"new{number}"
    raise AssertionError("the disk is too large")


def found(bench: Bench, word: str) -> int:
    """How many documents have a word."""
    with bench.reading() as database:
        return database.count(
            "SELECT count(DISTINCT file_id) FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid "
            "WHERE chunks_fts MATCH ?",
            (f'"{word}"',),
        )
