"""Forgetting: a document leaves the index for good, and nothing of its text stays in the file."""

from __future__ import annotations

from core.store.database import Database
from core.store.texts import storable
from core.types import Source

_OWED = "purge_owed"


def forget(database: Database, source: Source, path: str, *, now_ms: int) -> int:
    """Take a document out with its cached vectors and leave a tombstone; the number of its chunks. One transaction.

    The bytes stay in free pages and in the write-ahead log until `purge`. Raises StoreError.
    """
    from core.store.documents import Documents
    from core.store.embedding_cache import EmbeddingCache

    documents = Documents(database)
    with database.transaction():
        found = documents.get_document(source, path)
        hashes = {chunk.embed_hash for chunk in documents.chunks_of(found.id)} if found is not None else set()
        count = documents.remove(source, path)
        EmbeddingCache(database).forget(hashes)
        documents.clear_error(source, path)
        database.run(
            "INSERT INTO tombstones VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms",
            (source, storable(path), now_ms),
        )
        database.set_meta(_OWED, "1")
    return count


def owes_purge(database: Database) -> bool:
    """Whether something was forgotten and no purge has succeeded since."""
    return database.meta(_OWED) is not None


def forgotten(database: Database) -> frozenset[tuple[Source, str]]:
    """The documents that must not come back, as (source, path)."""
    return frozenset(database.rows("SELECT source, path FROM tombstones"))  # type: ignore[arg-type]


def is_forgotten(database: Database, path: str) -> bool:
    """Whether a document of this path must not come back. Raises StoreError."""
    return (
        database.value(
            "SELECT 1 FROM tombstones WHERE source IN ('memory', 'sessions') AND path = ?", (storable(path),)
        )
        is not None
    )


def remember(database: Database, source: Source, path: str) -> bool:
    """Let a forgotten document come back; whether it was forgotten."""
    with database.transaction():
        return database.run("DELETE FROM tombstones WHERE source = ? AND path = ?", (source, storable(path))) > 0


def purge(database: Database) -> bool:
    """Leave nothing of deleted text in the file or its write-ahead log.

    Deleted rows are overwritten when they go (secure_delete); the keyword tables keep words until they are written as
    one segment each. False when a search that is running keeps the log from being emptied: call it again later. Not
    inside a transaction. Raises StoreError.
    """
    from core.store.keyword_rows import KeywordRows

    KeywordRows(database).purge()
    database.run("DELETE FROM requests WHERE done_ms IS NOT NULL")
    database.rows("PRAGMA incremental_vacuum")
    if not database.empty_log():
        return False
    database.set_meta(_OWED, None)
    return True
