"""An index that cannot be written: what is read-only, a log that was left behind, a full disk."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import StoreFull, StoreReadOnly
from core.store.database import Database
from tests.machine import mounted, without_root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "main.sqlite"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def fill(path: Path, key: str = "k", value: str = "v") -> None:
    with Database.open(path) as database, database.transaction():
        database.set_meta(key, value)


def set_all(database: Database, **values: str) -> None:
    with database.transaction():
        for key, value in values.items():
            database.set_meta(key, value)


def with_leftover_wal(folder: Path) -> Path:
    """A database whose last commit stands in the write-ahead log alone, as a kill leaves it."""
    fill(folder / "live.sqlite", "k", "old")
    writer = Database.open(folder / "live.sqlite")
    with writer.transaction():
        writer.set_meta("k", "only in the log")
    for suffix in ("", "-wal"):
        (folder / f"left.sqlite{suffix}").write_bytes((folder / f"live.sqlite{suffix}").read_bytes())
    writer.close()
    return folder / "left.sqlite"


def test_a_reader_cannot_write(store: Path) -> None:
    fill(store)
    with Database.open(store, read_only=True) as reader, pytest.raises(StoreReadOnly):
        reader.set_meta("k", "w")


def test_a_read_only_file_serves_readers_and_refuses_writers(open_folder: Path) -> None:
    store = open_folder / "main.sqlite"
    fill(store)
    store.chmod(0o444)
    with without_root():
        with pytest.raises(StoreReadOnly):
            Database.open(store)
        with Database.open(store, read_only=True) as reader:
            assert reader.meta("k") == "v"
    assert [path.name for path in open_folder.iterdir()] == ["main.sqlite"]


def test_a_file_that_may_not_be_read_is_not_corrupt(open_folder: Path) -> None:
    store = open_folder / "main.sqlite"
    fill(store)
    store.chmod(0o000)
    with without_root(), pytest.raises(StoreReadOnly):
        Database.open(store, read_only=True)


def test_a_writer_cannot_begin_in_a_read_only_folder(open_folder: Path) -> None:
    store = open_folder / "main.sqlite"
    fill(store)
    store.chmod(0o666)
    with without_root(), pytest.raises(StoreReadOnly):
        Database.open(store)


@pytest.mark.parametrize("with_shm", [True, False])
def test_a_leftover_log_in_a_read_only_folder_is_read(open_folder: Path, with_shm: bool) -> None:
    store = with_leftover_wal(open_folder)
    for path in (store, store.with_name("left.sqlite-wal")):
        path.chmod(0o444)
    if with_shm:
        store.with_name("left.sqlite-shm").write_bytes(bytes(32768))
        store.with_name("left.sqlite-shm").chmod(0o444)
    with without_root(), Database.open(store, read_only=True) as reader:
        assert reader.meta("k") == "only in the log"


def test_a_leftover_log_is_recovered_by_a_writer(tmp_path: Path) -> None:
    with Database.open(with_leftover_wal(tmp_path)) as database:
        assert database.meta("k") == "only in the log"


def test_a_frozen_reader_notices_that_the_file_changed(open_folder: Path) -> None:
    store = open_folder / "main.sqlite"
    fill(store)
    store.chmod(0o644)
    with without_root():
        reader = Database.open(store, read_only=True)
        assert reader.is_frozen
        assert not reader.is_replaced
    fill(store, "k", "w")
    assert reader.is_replaced
    reader.close()


def test_a_read_only_mount_serves_readers_and_refuses_writers(tmp_path: Path) -> None:
    fill(tmp_path / "disk" / "main.sqlite")
    folder = tmp_path / "disk"
    with mounted(folder, "--bind", "-o", "ro", str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        with pytest.raises(StoreReadOnly):
            Database.open(folder / "main.sqlite")
        with Database.open(folder / "main.sqlite", read_only=True) as reader:
            assert reader.meta("k") == "v"
    with Database.open(folder / "main.sqlite") as writer:
        assert writer.meta("k") == "v"


def test_a_mount_that_becomes_read_only_is_told_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "tmpfs"):
        fill(folder / "main.sqlite")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with pytest.raises(StoreReadOnly):
            Database.open(folder / "main.sqlite")
        with Database.open(folder / "main.sqlite", read_only=True) as reader:
            assert reader.meta("k") == "v"


def test_a_full_disk_leaves_the_last_state(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        with Database.open(folder / "main.sqlite") as database:
            with database.transaction():
                database.set_meta("k", "before")
            with pytest.raises(StoreFull):
                set_all(database, k="after", big="x" * 2_000_000)
            assert database.meta("k") == "before"
            with database.transaction():
                database.set_meta("k", "small again")
        with Database.open(folder / "main.sqlite") as database:
            assert database.meta("k") == "small again"


def test_a_full_index_is_told_as_such(store: Path) -> None:
    with Database.open(store) as database:
        pages = database.count("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreFull), database.transaction():
            database.set_meta("big", "x" * 100_000)
        assert database.meta("big") is None
