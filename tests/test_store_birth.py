"""An index that is made while others look at it is never taken for a stranger's."""

from __future__ import annotations

from pathlib import Path

import apsw

from core.store import database as store
from core.store.schema import APPLICATION_ID, SCHEMA_VERSION


class Newborn:
    """A connection to a file whose tables another process makes right after the first look."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._looks = 0

    def _look(self) -> None:
        self._looks += 1
        if self._looks == 2:
            self._connection.execute("CREATE TABLE files (id)")
            self._connection.pragma("application_id", APPLICATION_ID)
            self._connection.pragma("user_version", SCHEMA_VERSION)

    def pragma(self, name: str) -> object:
        self._look()
        return self._connection.pragma(name)

    def execute(self, sql: str) -> object:
        self._look()
        return self._connection.execute(sql)


def test_tables_made_between_two_looks_are_ours() -> None:
    assert store._is_ours(Newborn(), Path("index.sqlite"))  # type: ignore[arg-type]
