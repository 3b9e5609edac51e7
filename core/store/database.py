"""One connection to the index file: opened, checked, with its pragmas, and with errors told in our own words."""

from __future__ import annotations

import os
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import apsw

from core.errors import StoreCorrupt, StoreError, StoreMissing, StoreReadOnly
from core.store.failures import raise_ours, translated
from core.store.place import (
    is_foreign,
    is_network_file_system,
    make_file,
    move_aside,
    must_be_file,
    private_copy,
    vector_library,
)
from core.store.schema import APPLICATION_ID, KEYWORD_SETTINGS, SCHEMA_VERSION, TABLES, UPGRADES

Value = None | int | float | str | bytes
Item = TypeVar("Item")

BUSY_MS = 5000
CACHE_KIB = 65536
READER_CACHE_KIB = 16384
WAL_LIMIT_BYTES = 64 * 1024 * 1024
CANCEL_STEPS = 20_000
"""Virtual machine steps between two looks at a cancel event: about a millisecond."""
_OPEN_TRIES = 20


def id_array(ids: Iterable[int]) -> object:
    """Ids as a value for `SELECT value FROM carray(?)`; no ids find nothing."""
    return apsw.carray(array("q", ids) or array("q", [-1]), flags=apsw.SQLITE_CARRAY_INT64)


def set_aside(path: Path) -> Path:
    """Move a damaged or foreign file out of the way, with its side files; returns where it is kept.

    Only the holder of the writer lock may. Connections that are open go on with the file that was moved:
    `Database.is_replaced` tells them. Raises OSError.
    """
    return move_aside(path)


class Database:
    """A connection for the life of one thread.

    `connection` is apsw's; `vector_error` says why vec0 is missing; `journal_mode` is what SQLite settled on.
    `is_frozen` marks a reader that cannot follow later changes, because the file lies where nothing can be written
    beside it: reopen it when `is_replaced`.
    """

    def __init__(self, path: Path, connection: apsw.Connection, *, read_only: bool, copy: Path | None = None) -> None:
        self.path = path
        self.connection = connection
        self.read_only = read_only
        self.vector_error: str | None = "switched off in the settings"
        self.journal_mode = ""
        self.is_frozen = copy is not None
        self._copy = copy
        self._seen = _marks(path, frozen=False)
        self._depth = 0
        self._deferred: list[tuple[Callable[[list[Any]], None], object]] = []

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        vector_extension: bool = True,
        extension_path: str | None = None,
    ) -> Database:
        """Open the index at `path`; a writer makes what is missing, the folder included.

        Raises StoreMissing (reader, no index yet), StoreCorrupt (damaged, or another program's), StoreReadOnly
        (writer, cannot be written), StoreBusy, StoreFull, StoreError.
        """
        with translated(path):
            database = cls._open_reader(path) if read_only else cls._open_writer(path)
        if vector_extension:
            database._load_vectors(extension_path)
        return database

    @classmethod
    def _open_writer(cls, path: Path) -> Database:
        path = path.resolve()
        make_file(path)
        connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
        database = cls(path, connection, read_only=False)
        try:
            database._prepare_writer()
        except BaseException:
            connection.close(True)
            raise
        return database

    def _prepare_writer(self) -> None:
        connection = self.connection
        connection.set_busy_timeout(BUSY_MS)
        if connection.readonly("main"):
            raise StoreReadOnly(f"{self.path} cannot be written")
        if connection.pragma("application_id") == APPLICATION_ID:
            self._upgrade()
        ready = _is_ours(connection, self.path)
        if not ready:
            connection.pragma("auto_vacuum", "incremental")
        self.journal_mode = self._journal("delete" if is_network_file_system(self.path) else "wal")
        connection.pragma("synchronous", "normal" if self.journal_mode == "wal" else "full")
        connection.pragma("secure_delete", "on")
        connection.pragma("journal_size_limit", WAL_LIMIT_BYTES)
        connection.pragma("foreign_keys", "on")
        connection.pragma("temp_store", "memory")
        connection.pragma("cache_size", -CACHE_KIB)
        if not ready:
            with self.transaction():
                if not _is_ours(connection, self.path):
                    connection.execute(TABLES).fetchall()
                    connection.execute(KEYWORD_SETTINGS).fetchall()
                    connection.execute("INSERT INTO meta VALUES ('index_id', lower(hex(randomblob(16))))")
                    connection.pragma("application_id", APPLICATION_ID)
                    connection.pragma("user_version", SCHEMA_VERSION)

    def _upgrade(self) -> None:
        """Bring an older layout up to date in place, as far as that is possible."""
        while (version := self.connection.pragma("user_version")) in UPGRADES:
            with self.transaction():
                if self.connection.pragma("user_version") == version:  # no other process was quicker
                    self.connection.execute(UPGRADES[version]).fetchall()
                    self.connection.pragma("user_version", version + 1)

    def _journal(self, mode: str) -> str:
        # The switch to WAL does not wait for another process that makes it at the same time.
        for attempt in range(_OPEN_TRIES):
            try:
                return str(self.connection.pragma("journal_mode", mode))
            except apsw.BusyError:
                if attempt == _OPEN_TRIES - 1:
                    raise
                time.sleep(0.05)
        raise AssertionError("unreachable")

    @classmethod
    def _open_reader(cls, path: Path) -> Database:
        path = path.resolve()
        if not path.exists():
            raise StoreMissing(f"there is no index at {path}", remedy="memdeck index")
        must_be_file(path)
        if is_foreign(path):
            raise StoreCorrupt(f"{path} is not a database")
        if path.stat().st_size == 0:
            raise StoreMissing(f"the index at {path} is empty", remedy="memdeck index")
        connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
        database = cls(path, connection, read_only=True)
        try:
            connection.set_busy_timeout(BUSY_MS)
            try:
                ready = _is_ours(connection, path)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                connection.close(True)
                database = cls._open_frozen(path)
                ready = _is_ours(database.connection, path)
            if not ready:
                raise StoreMissing(f"the index at {path} is empty", remedy="memdeck index")
            database.connection.pragma("query_only", "on")
            database.connection.pragma("temp_store", "memory")
            database.connection.pragma("cache_size", -READER_CACHE_KIB)
            database.journal_mode = str(database.connection.pragma("journal_mode"))
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def _open_frozen(cls, path: Path) -> Database:
        """A reader for a file that SQLite cannot open in place, since it may make no side files there.

        Without a write-ahead log the file is complete. With one, only both together are, and a copy is read.
        """
        wal = path.with_name(path.name + "-wal")
        if wal.exists() and wal.stat().st_size > 0:
            copy = private_copy(path)
            database = cls(path, apsw.Connection(os.fspath(copy)), read_only=True, copy=copy)
        else:
            uri = f"file:{quote(os.fsencode(path))}?immutable=1"
            connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
            database = cls(path, connection, read_only=True)
            database.is_frozen = True
        database._seen = _marks(path, frozen=True)
        return database

    def _load_vectors(self, extension_path: str | None) -> None:
        try:
            if extension_path is None:
                extension_path = vector_library()
            self.connection.enable_load_extension(True)
            try:
                self.connection.load_extension(extension_path)
            finally:
                self.connection.enable_load_extension(False)
            self.value("SELECT vec_version()")
        except (apsw.Error, StoreError, ImportError, OSError) as error:
            self.vector_error = str(error) or type(error).__name__
        else:
            self.vector_error = None

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Value, ...]]:
        """All rows of a statement. Raises StoreError."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise_ours(error, self.path, self.connection)

    def value(self, sql: str, values: Sequence[object] = ()) -> Value:
        """The first column of the first row, None when there is none. Raises StoreError."""
        rows = self.rows(sql, values)
        return rows[0][0] if rows else None

    def count(self, sql: str, values: Sequence[object] = ()) -> int:
        """The first column of the first row as a number, 0 when there is none. Raises StoreError."""
        value = self.value(sql, values)
        return value if isinstance(value, int) else 0

    def numbers(self, sql: str, values: Sequence[object] = ()) -> list[int]:
        """The first column of all rows, which are whole numbers. Raises StoreError."""
        return [cast("int", row[0]) for row in self.rows(sql, values)]

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute one statement; the number of rows it changed. Raises StoreError."""
        self.rows(sql, values)
        return int(self.connection.changes())

    def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute one statement for each row of values. Raises StoreError."""
        if rows:
            try:
                self.connection.executemany(sql, rows)
            except apsw.Error as error:
                raise_ours(error, self.path, self.connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing. An inner transaction is a savepoint: it can fail alone. Raises StoreError."""
        depth, mark = self._depth, len(self._deferred)
        undo: tuple[str, ...]
        if depth == 0:
            begin, commit, undo = "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
        else:
            begin, commit = f"SAVEPOINT inner_{depth}", f"RELEASE inner_{depth}"
            undo = (f"ROLLBACK TO inner_{depth}", commit)
        self.run(begin)
        self._depth += 1
        try:
            yield
            if depth == 0:
                self._run_deferred()
            self.run(commit)
        except BaseException:
            del self._deferred[mark:]
            # A full disk may have ended the transaction already.
            if self.connection.in_transaction:
                with suppress(apsw.Error):
                    for statement in undo:
                        self.connection.execute(statement).fetchall()
            raise
        finally:
            self._depth -= 1

    def before_commit(self, write: Callable[[list[Item]], None], item: Item) -> None:
        """Have `write` take all its items as the outermost transaction commits, or at once when there is none.

        FTS5 writes out all that it holds at every savepoint: keyword rows wait for the end, which halves their cost.
        """
        if self._depth == 0:
            with self.transaction():
                write([item])
        else:
            self._deferred.append((write, item))

    def _run_deferred(self) -> None:
        items: dict[Callable[[list[Any]], None], list[object]] = {}
        for write, item in self._deferred:
            items.setdefault(write, []).append(item)
        self._deferred = []
        for write, some in items.items():
            write(some)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the index for all reads inside. Raises StoreError."""
        if self.connection.in_transaction:
            yield
            return
        self.run("BEGIN")
        try:
            self.rows("SELECT 1 FROM sqlite_schema LIMIT 1")
            yield
        finally:
            with suppress(apsw.Error):
                self.connection.execute("ROLLBACK").fetchall()

    @contextmanager
    def cancelled_by(self, cancel: threading.Event | None) -> Iterator[None]:
        """Statements inside raise apsw.InterruptError soon after `cancel` is set."""
        if cancel is None:
            yield
            return
        self.connection.set_progress_handler(cancel.is_set, CANCEL_STEPS)
        try:
            yield
        finally:
            self.connection.set_progress_handler(None)

    def meta(self, key: str) -> str | None:
        """A value of the meta table."""
        value = self.value("SELECT value FROM meta WHERE key = ?", (key,))
        return value if isinstance(value, str) else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Write a value of the meta table; None takes it away."""
        if value is None:
            self.run("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self.run("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, value))

    def empty_log(self) -> bool:
        """Write the log into the file and give its space back; False while a search needs it. Raises StoreError."""
        return self.count("PRAGMA wal_checkpoint(TRUNCATE)") == 0

    def release_cache(self) -> None:
        """Let go of the pages that much writing has left in memory; what is needed again is read again."""
        self.rows("PRAGMA shrink_memory")

    @property
    def is_replaced(self) -> bool:
        """Whether another file (or none) lies at the path now; for a frozen reader also whether the file changed."""
        return _marks(self.path, frozen=self.is_frozen) != self._seen

    def close(self) -> None:
        """Give the connection back. Idempotent; may be called while a statement is open."""
        with suppress(apsw.Error):
            self.connection.close(True)
        if self._copy is not None:
            import shutil

            shutil.rmtree(self._copy.parent, ignore_errors=True)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _marks(path: Path, *, frozen: bool) -> tuple[int, ...]:
    """What tells one file from another: device and inode, and for frozen readers also its size and time."""
    marks: list[int] = []
    for suffix in ("", "-wal") if frozen else ("",):
        try:
            found = path.with_name(path.name + suffix).stat()
        except OSError:
            marks.append(-1)
            continue
        marks += (found.st_dev, found.st_ino)
        if frozen:
            marks += (found.st_size, found.st_mtime_ns)
    return tuple(marks)


def _is_ours(connection: apsw.Connection, path: Path) -> bool:
    """Whether the schema stands; False for a database without tables. Raises StoreCorrupt for any other."""
    # In this order: another process may make the tables between the two looks, together with the mark.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    application = connection.pragma("application_id")
    if application == APPLICATION_ID:
        version = connection.pragma("user_version")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{path} was written by a newer memdeck (layout {version}, this one knows {SCHEMA_VERSION})",
                remedy="upgrade memdeck, or give another file with --store",
            )
        if version < SCHEMA_VERSION:
            raise StoreCorrupt(f"{path} has the older layout {version}", remedy="memdeck index brings it up to date")
        return True
    if application or tables:
        raise StoreCorrupt(f"{path} is a database of another program")
    return False
