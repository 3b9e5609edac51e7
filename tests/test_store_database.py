"""The index file: what opening it does, and what every kind of wrong file leads to."""

from __future__ import annotations

import contextlib
import stat
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from core.errors import KeywordsDamaged, StoreBusy, StoreCorrupt, StoreError, StoreMissing
from core.store.database import Database, set_aside
from core.store.place import is_network_file_system
from core.store.schema import SCHEMA_VERSION, UPGRADES
from tests.shelf import Shelf


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "main.sqlite"


def fill(path: Path, key: str = "k", value: str = "v") -> None:
    with Database.open(path) as database, database.transaction():
        database.set_meta(key, value)


def set_and_fail(database: Database, key: str, later: str = "later") -> None:
    with database.transaction():
        database.set_meta(key, "1")
        database.before_commit(lambda _: database.set_meta(later, "1"), None)
        raise ValueError("stop")


def test_a_new_index_is_private_and_logged(store: Path) -> None:
    with Database.open(store) as database:
        assert database.journal_mode == "wal"
        assert database.value("PRAGMA secure_delete") == 1
        assert stat.S_IMODE(store.stat().st_mode) == 0o600
        assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700


def test_an_index_that_others_could_read_becomes_private(store: Path) -> None:
    fill(store)
    store.chmod(0o644)
    Database.open(store).close()
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


def modes(store: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in store.parent.iterdir()}


def test_the_side_files_are_private_from_the_start(store: Path) -> None:
    store.parent.mkdir()
    store.touch()
    store.chmod(0o644)
    with Database.open(store) as database:
        database.set_meta("k", "v")
        assert modes(store) == {"main.sqlite": 0o600, "main.sqlite-wal": 0o600, "main.sqlite-shm": 0o600}


def test_side_files_that_others_could_read_become_private(store: Path) -> None:
    with Database.open(store) as first:
        first.set_meta("k", "v")
        for file in store.parent.iterdir():
            file.chmod(0o644)
        with Database.open(store):
            assert set(modes(store).values()) == {0o600}


def test_what_was_written_is_there_after_reopening(store: Path) -> None:
    fill(store)
    with Database.open(store) as database:
        assert database.meta("k") == "v"


def test_two_indexes_are_told_apart(tmp_path: Path) -> None:
    fill(tmp_path / "a")
    fill(tmp_path / "b")
    with Database.open(tmp_path / "a") as first, Database.open(tmp_path / "b") as second:
        assert first.meta("index_id") != second.meta("index_id")


def test_an_empty_file_is_a_new_index(store: Path) -> None:
    store.parent.mkdir()
    store.touch()
    with Database.open(store) as database:
        assert database.count("SELECT count(*) FROM files") == 0


def test_a_reader_of_nothing_says_so(store: Path) -> None:
    with pytest.raises(StoreMissing):
        Database.open(store, read_only=True)
    store.parent.mkdir()
    store.touch()
    with pytest.raises(StoreMissing):
        Database.open(store, read_only=True)


@pytest.mark.parametrize("content", [b"just some notes\n" * 20, b"x", b"SQLite format 3\x00" + b"\xff" * 4096])
@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_database_is_corrupt_and_stays_as_it_is(tmp_path: Path, content: bytes, read_only: bool) -> None:
    store = tmp_path / "main.sqlite"
    store.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        Database.open(store, read_only=read_only)
    assert store.read_bytes() == content


@pytest.mark.parametrize("read_only", [True, False])
def test_the_database_of_another_program_is_not_touched(tmp_path: Path, read_only: bool) -> None:
    store = tmp_path / "main.sqlite"
    other = apsw.Connection(str(store))
    other.execute("CREATE TABLE bookmarks (url)").fetchall()
    other.close()
    before = store.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program"):
        Database.open(store, read_only=read_only)
    assert store.read_bytes() == before


def test_a_newer_layout_is_refused_but_not_corrupt(store: Path) -> None:
    with Database.open(store) as database:
        database.rows(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StoreError, match="newer memdeck") as caught:
        Database.open(store)
    assert not isinstance(caught.value, StoreCorrupt)


def test_the_layout_before_is_brought_up_to_date_in_place(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).fill({"memory/a.md": "lantern\n"})
    shelf.database.run("ALTER TABLE chunks DROP COLUMN observed_from_ms")
    shelf.database.rows("PRAGMA user_version = 2")
    shelf.database.close()
    with pytest.raises(StoreCorrupt, match="older layout"):
        Database.open(tmp_path / "index.sqlite", read_only=True)
    for _ in range(2):
        assert Shelf(tmp_path).paths("lantern") == ["memory/a.md"]
    with Database.open(tmp_path / "index.sqlite", read_only=True) as database:
        assert database.value("PRAGMA user_version") == SCHEMA_VERSION


@pytest.mark.parametrize("read_only", [True, False])
def test_a_layout_too_old_to_be_brought_up_to_date_says_how_to_go_on(store: Path, read_only: bool) -> None:
    too_old = min(UPGRADES) - 1
    with Database.open(store) as database:
        database.rows(f"PRAGMA user_version = {too_old}")
    with pytest.raises(StoreCorrupt, match="older layout") as caught:
        Database.open(store, read_only=read_only)
    assert "memdeck index" in caught.value.remedy
    with contextlib.closing(apsw.Connection(str(store))) as untouched:
        assert untouched.pragma("user_version") == too_old


def test_a_folder_in_its_place_is_no_corruption(store: Path) -> None:
    store.mkdir(parents=True)
    with pytest.raises(StoreError, match="not a file") as caught:
        Database.open(store)
    assert not isinstance(caught.value, StoreCorrupt)


def test_setting_aside_keeps_everything_and_frees_the_name(store: Path) -> None:
    store.parent.mkdir()
    store.write_bytes(b"not a database at all")
    store.with_name("main.sqlite-wal").write_bytes(b"log")
    kept = set_aside(store)
    assert kept.read_bytes() == b"not a database at all"
    assert kept.with_name(kept.name + "-wal").read_bytes() == b"log"
    fill(store)
    assert set_aside(store) != kept


def test_a_reader_notices_that_the_file_was_replaced(store: Path) -> None:
    fill(store)
    with Database.open(store, read_only=True) as reader:
        assert not reader.is_replaced
        set_aside(store)
        assert reader.is_replaced
        fill(store)
        assert reader.is_replaced


def test_damage_met_later_is_corruption(store: Path) -> None:
    with Database.open(store) as database, database.transaction():
        database.run_many("INSERT INTO meta VALUES (?, ?)", [(str(n), "x" * 500) for n in range(500)])
    with store.open("r+b") as file:
        file.seek(4096 * 60)
        file.write(b"\xff" * 4096 * 20)
    with Database.open(store) as database, pytest.raises(StoreCorrupt):
        database.rows("SELECT sum(length(value)) FROM meta")


def test_damage_to_the_keyword_tables_is_not_damage_to_the_rest(store: Path) -> None:
    with Database.open(store) as database:
        database.run("INSERT INTO chunks_fts (rowid, head, body) VALUES (1, 'head', 'body')")
        database.run("UPDATE chunks_fts_data SET block = x'ffffffffffffffff' WHERE id > 10")
        with pytest.raises(KeywordsDamaged):
            database.rows("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'body'")


def test_a_writer_that_waits_too_long_is_told(store: Path) -> None:
    with Database.open(store) as first, Database.open(store) as second:
        second.connection.set_busy_timeout(50)
        with first.transaction(), pytest.raises(StoreBusy), second.transaction():
            pass


def test_a_search_does_not_wait_for_a_writer(store: Path) -> None:
    fill(store)
    with Database.open(store) as writer, Database.open(store, read_only=True) as reader, writer.transaction():
        writer.set_meta("k", "not committed")
        assert reader.meta("k") == "v"


def test_reads_in_a_snapshot_see_one_state(store: Path) -> None:
    fill(store)
    with Database.open(store) as writer, Database.open(store, read_only=True) as reader:
        with reader.snapshot():
            writer.set_meta("k", "later")
            assert reader.meta("k") == "v"
        assert reader.meta("k") == "later"


def test_a_transaction_that_fails_leaves_nothing(store: Path) -> None:
    with Database.open(store) as database:
        with pytest.raises(ValueError, match="stop"):
            set_and_fail(database, "k")
        assert database.meta("k") is None


def test_an_inner_transaction_fails_alone(store: Path) -> None:
    with Database.open(store) as database:
        with database.transaction():
            database.set_meta("outer", "1")
            with pytest.raises(ValueError, match="stop"):
                set_and_fail(database, "inner", later="late")
        assert (database.meta("outer"), database.meta("inner"), database.meta("late")) == ("1", None, None)


def test_deferred_work_belongs_to_its_transaction(store: Path) -> None:
    with Database.open(store) as database:
        with database.transaction():
            with database.transaction():
                database.before_commit(lambda _: database.set_meta("late", "1"), None)
            assert database.meta("late") is None
        assert database.meta("late") == "1"


def test_deferred_work_that_fails_undoes_the_transaction(store: Path) -> None:
    def fail_late(database: Database) -> None:
        with database.transaction():
            database.set_meta("k", "v")
            database.before_commit(lambda _: database.rows("SELECT * FROM no_such_table"), None)

    with Database.open(store) as database:
        with pytest.raises(StoreError):
            fail_late(database)
        assert database.meta("k") is None


def test_a_long_statement_can_be_cancelled(store: Path) -> None:
    fill(store)
    cancel = threading.Event()
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with Database.open(store, read_only=True) as reader:
        threading.Timer(0.05, cancel.set).start()
        with pytest.raises(apsw.InterruptError), reader.cancelled_by(cancel):
            reader.rows(endless)
        assert reader.meta("k") == "v"


def test_processes_that_open_a_new_index_at_once_share_it(store: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from core.store.database import Database\n"
        "database = Database.open(Path(sys.argv[1])); print(database.meta('index_id'))"
    )
    root = str(Path(__file__).parent.parent)
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(store)], cwd=root, stdout=subprocess.PIPE) for _ in range(4)
    ]
    names = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0, 0]
    assert len(names) == 1


def test_a_missing_extension_is_named_and_nothing_else_suffers(store: Path, tmp_path: Path) -> None:
    with Database.open(store, extension_path=str(tmp_path / "vec0.so")) as database:
        assert database.vector_error is not None
        assert "vec0.so" in database.vector_error
        database.set_meta("k", "v")
    with Database.open(store) as database:
        assert database.vector_error is None


def test_the_extension_for_another_machine_is_named(store: Path, tmp_path: Path) -> None:
    (tmp_path / "vec0.so").write_bytes(b"\x7fELF" + bytes(100))
    with Database.open(store, extension_path=str(tmp_path / "vec0.so")) as database:
        assert database.vector_error


@pytest.mark.parametrize(
    ("kind", "network"),
    [("ext4", False), ("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("fuseblk", False), ("tmpfs", False)],
)
def test_network_file_systems_are_known_by_their_mount(tmp_path: Path, kind: str, network: bool) -> None:
    table = tmp_path / "mountinfo"
    mount = str(tmp_path / "my disk").replace(" ", "\\040")
    table.write_text(
        "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"30 20 0:50 / {mount} rw,relatime shared:2 master:3 - {kind} host:/x rw\n"
    )
    assert is_network_file_system(tmp_path / "my disk" / "main.sqlite", table) is network
    assert not is_network_file_system(tmp_path / "other" / "main.sqlite", table)


def test_a_network_file_system_gets_a_rollback_journal(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.store.database.is_network_file_system", lambda path: True)
    fill(store)
    with Database.open(store) as database, Database.open(store, read_only=True) as reader:
        assert database.journal_mode == reader.journal_mode == "delete"
        assert reader.meta("k") == "v"
