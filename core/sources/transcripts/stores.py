"""Reading other programs' SQLite files: nothing is written beside them, and no version of them is taken for granted."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from core.sources.transcripts.found import path_stat

Value = None | int | float | str | bytes
Row = tuple[Value, ...]
Result = TypeVar("Result")

_BUSY_MS = 2000


class Store:
    """A database of another program, open for reading inside one transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tables: dict[str, frozenset[str]] = {}

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(sql, tuple(values)).fetchall()

    def each(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        yield from self._connection.execute(sql, tuple(values))

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; empty when there is no such table."""
        if table not in self._tables:
            found = self.rows("SELECT name FROM pragma_table_info(?)", (table,))
            self._tables[table] = frozenset(str(row[0]) for row in found)
        return self._tables[table]

    def column(self, table: str, name: str, otherwise: str = "NULL") -> str:
        """The column as SQL, or what stands for one that this version of the program has not."""
        return f"{table}.{name}" if name in self.columns(table) else otherwise


def read_store(path: str, read: Callable[[Store], Result]) -> Result:
    """What `read` makes of a database, in one state of it; raises OSError when it cannot be read.

    `read` may be called twice. A database that nobody has open is read as the plain file it is, since SQLite would
    leave files of its own beside it; if somebody begins to write meanwhile, it is read again with its log.
    """
    before = path_stat(path)
    if before is None:
        raise FileNotFoundError(errno.ENOENT, "not a regular file", path)
    try:
        if not _is_in_use(path):
            try:
                result = _read(_frozen(path), read)
                if not _is_in_use(path) and path_stat(path) == before:
                    return result
            except apsw.Error:
                if not _is_in_use(path) and path_stat(path) == before:
                    raise
        try:
            return _read(_live(path), read)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A place where SQLite may make no files: without a log the file is complete.
            if _has_log(path):
                raise
            return _read(_frozen(path), read)
    except apsw.Error as error:
        raise OSError(errno.EIO, str(error), path) from error


def _read(connection: apsw.Connection, read: Callable[[Store], Result]) -> Result:
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("BEGIN").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        return read(Store(connection))
    finally:
        connection.close(True)


def _live(path: str) -> apsw.Connection:
    return apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)


def _frozen(path: str) -> apsw.Connection:
    uri = f"file:{quote(os.fsencode(path))}?immutable=1"
    return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _is_in_use(path: str) -> bool:
    """Whether somebody has the database open for writing, or left it in the middle of that."""
    return any(Path(f"{path}{ending}").exists() for ending in ("-wal", "-journal"))


def _has_log(path: str) -> bool:
    log = path_stat(f"{path}-wal")
    return log is not None and log.size > 0
