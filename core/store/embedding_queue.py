"""Chunks that wait for a vector of the identity in force, newest documents first."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import islice
from typing import Any

from core.records import record
from core.store.chunk_rows import CHUNK_COLUMNS, chunk_from
from core.store.database import Database
from core.store.failures import translated
from core.store.texts import storable
from core.types import Chunk, Source


@record(frozen=True, slots=True)
class QueuedChunk:
    """A chunk to embed; `embed_hash` is the key of its text, `attempts` counts how often it was refused.

    `path`, `absolute` and `document_hash` (sha256 hex of its bytes) are those of the document that it stands in.
    """

    chunk_id: int
    embed_hash: bytes
    chunk: Chunk
    attempts: int
    path: str
    absolute: str
    document_hash: str


@record(frozen=True, slots=True)
class RefusedChunk:
    """A chunk that gets no vector, and why; it stays searchable by keyword."""

    source: Source
    path: str
    start_line: int
    end_line: int
    error: str
    attempts: int


class EmbeddingQueue:
    """Writing happens in the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self) -> int:
        """Chunks that may still get a vector."""
        return self._database.count("SELECT count(*) FROM embedding_queue WHERE error IS NULL")

    def queued(self, limit: int, *, now_ms: int, skip: Container[bytes] = frozenset()) -> list[QueuedChunk]:
        """The first `limit` chunks to embed, of those not put off to after `now_ms`; none whose hash is in `skip`."""
        sql = (
            "SELECT embedding_queue.attempts, chunks.id, chunks.embed_hash, files.path, files.absolute, files.hash, "
            f"{CHUNK_COLUMNS} FROM embedding_queue CROSS JOIN chunks ON chunks.id = embedding_queue.chunk_id "
            "CROSS JOIN files ON files.id = chunks.file_id "
            "WHERE embedding_queue.error IS NULL AND embedding_queue.retry_ms <= ? "
            "ORDER BY embedding_queue.newest_ns DESC, embedding_queue.chunk_id"
        )
        with translated(self._database.path, self._database.connection):
            cursor = self._database.connection.execute(sql, (now_ms,))
            rows = list(islice((row for row in cursor if row[2] not in skip), limit))
            cursor.close()
        return list(map(_queued, rows))

    def done(self, most: int) -> list[QueuedChunk]:
        """The first `most` chunks that wait for nothing."""
        rows = self._database.rows(
            f"SELECT 0, chunks.id, chunks.embed_hash, files.path, files.absolute, files.hash, {CHUNK_COLUMNS} "
            "FROM chunks CROSS JOIN files ON files.id = chunks.file_id "
            "WHERE NOT EXISTS (SELECT 1 FROM embedding_queue WHERE chunk_id = chunks.id) LIMIT ?",
            (most,),
        )
        return [_queued(row) for row in rows]

    def has_text(self, embed_hash: bytes) -> bool:
        """Whether a chunk of the index has this text."""
        return bool(self._database.rows("SELECT 1 FROM chunks WHERE embed_hash = ? LIMIT 1", (embed_hash,)))

    def put_off(self, embed_hash: bytes, *, until_ms: int) -> None:
        """Keep the chunks of a text out of `queued` for a while."""
        self._database.run(
            "UPDATE embedding_queue SET retry_ms = ?, attempts = attempts + 1 "
            "WHERE chunk_id IN (SELECT id FROM chunks WHERE embed_hash = ?)",
            (until_ms, embed_hash),
        )

    def refuse(self, embed_hash: bytes, error: str) -> int:
        """Note that a text gets no vector, and why; the number of chunks with that text."""
        return self._database.run(
            "UPDATE embedding_queue SET error = ?, attempts = attempts + 1 "
            "WHERE chunk_id IN (SELECT id FROM chunks WHERE embed_hash = ?)",
            (storable(error), embed_hash),
        )

    def refused(self) -> tuple[RefusedChunk, ...]:
        """Chunks without a vector for good, by path and line."""
        rows = self._database.rows(
            "SELECT files.source, files.path, chunks.start_line, chunks.end_line, embedding_queue.error, "
            "embedding_queue.attempts FROM embedding_queue CROSS JOIN chunks ON chunks.id = embedding_queue.chunk_id "
            "JOIN files ON files.id = chunks.file_id WHERE embedding_queue.error IS NOT NULL "
            "ORDER BY files.path, chunks.ordinal"
        )
        return tuple(RefusedChunk(*row) for row in rows)  # type: ignore[arg-type]

    def retry(self) -> int:
        """Let everything that was refused or put off be tried again; the number of chunks."""
        return self._database.run(
            "UPDATE embedding_queue SET error = NULL, retry_ms = 0 WHERE error IS NOT NULL OR retry_ms > 0"
        )

    def add(self, identity_id: int, file_id: int, first_id: int) -> int:
        """Queue the chunks of a document from `first_id` on whose vector the cache does not have; how many."""
        return self._database.run(
            "INSERT INTO embedding_queue (chunk_id, newest_ns) SELECT chunks.id, files.mtime_ns "
            "FROM chunks JOIN files ON files.id = chunks.file_id WHERE chunks.file_id = ? AND chunks.id >= ? "
            "AND NOT EXISTS (SELECT 1 FROM embedding_cache WHERE identity_id = ? AND hash = chunks.embed_hash)",
            (file_id, first_id, identity_id),
        )

    def put(self, chunk_ids: list[int]) -> None:
        """Queue chunks, whatever the cache has."""
        self._database.run_many(
            "INSERT INTO embedding_queue (chunk_id, newest_ns) SELECT chunks.id, files.mtime_ns "
            "FROM chunks JOIN files ON files.id = chunks.file_id WHERE chunks.id = ?",
            [(chunk_id,) for chunk_id in chunk_ids],
        )

    def renew(self, file_id: int) -> None:
        """The document was written again: what waits of it takes its new place in the order."""
        self._database.run(
            "UPDATE embedding_queue SET newest_ns = (SELECT mtime_ns FROM files WHERE id = ?1) "
            "WHERE chunk_id IN (SELECT id FROM chunks WHERE file_id = ?1)",
            (file_id,),
        )

    def refill(self, identity_id: int) -> int:
        """Make the queue anew for an identity; its length."""
        self._database.run("DELETE FROM embedding_queue")
        return self._database.run(
            "INSERT INTO embedding_queue (chunk_id, newest_ns) SELECT chunks.id, files.mtime_ns "
            "FROM chunks JOIN files ON files.id = chunks.file_id "
            "WHERE NOT EXISTS (SELECT 1 FROM embedding_cache WHERE identity_id = ? AND hash = chunks.embed_hash)",
            (identity_id,),
        )

    def drop(self, chunk_ids: list[int]) -> None:
        """Take chunks out of the queue."""
        self._database.run_many("DELETE FROM embedding_queue WHERE chunk_id = ?", [(key,) for key in chunk_ids])


def _queued(row: Sequence[Any]) -> QueuedChunk:
    attempts, chunk_id, embed_hash, path, absolute, document_hash, *columns = row
    return QueuedChunk(chunk_id, embed_hash, chunk_from(columns), attempts, path, absolute, document_hash)
