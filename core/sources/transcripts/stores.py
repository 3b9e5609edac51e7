"""Reading other programs' SQLite files: never written to, never held open, never believed to be as documented."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

Value = None | int | float | str | bytes
Row = tuple[Value, ...]

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


@contextmanager
def open_store(path: str) -> Iterator[Store]:
    """Open a database for reading; raises OSError when it cannot be read.

    Where SQLite may make no side files (a read-only place), a file without a write-ahead log is read as it is.
    """
    _refuse_symlink(path)
    try:
        connection = _connect(path)
    except apsw.Error as error:
        raise OSError(f"{path}: {error}") from error
    try:
        try:
            yield Store(connection)
        except apsw.Error as error:
            raise OSError(f"{path}: {error}") from error
    finally:
        connection.close(True)


def _connect(path: str) -> apsw.Connection:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("BEGIN").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        return connection
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close(True)
        wal = Path(f"{path}-wal")
        if wal.exists() and wal.stat().st_size > 0:
            raise
    except BaseException:
        connection.close(True)
        raise
    uri = f"file:{quote(os.fsencode(path))}?immutable=1"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.execute("BEGIN").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def _refuse_symlink(path: str) -> None:
    place = Path(path)
    if place.is_symlink() or not place.is_file():
        raise OSError(f"{path}: not a regular file")
