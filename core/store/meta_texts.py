"""A few texts that outlive the process, in the index's own meta table, under a prefix of their own."""

from __future__ import annotations

from core.store.database import Database


class MetaTexts:
    """What the providers remember. Writing belongs to the writer; a reader may `get`. Raises StoreError."""

    def __init__(self, database: Database, prefix: str) -> None:
        self._database = database
        self._prefix = prefix

    def get(self, key: str) -> str | None:
        """The text at a key."""
        return self._database.meta(self._prefix + key)

    def put(self, key: str, value: str) -> None:
        """Write a text."""
        self._database.set_meta(self._prefix + key, value)

    def delete(self, key: str) -> None:
        """Take a text away; nothing happens where there is none."""
        self._database.set_meta(self._prefix + key, None)
