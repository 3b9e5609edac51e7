"""The embedding cache: every vector that was made, by identity and by the hash of the text it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.store.database import Database

_UNUSED = (
    "NOT EXISTS (SELECT 1 FROM embedding_identities AS live WHERE live.id = embedding_cache.identity_id "
    "AND live.state <> 'retired') "
    "OR NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.embed_hash = embedding_cache.hash)"
)
_HITS, _MISSES = "embedding_cache_hits", "embedding_cache_misses"


class CacheUse(NamedTuple):
    """How often a new chunk found its vector in the cache, and how often it did not, since the index was made."""

    hits: int
    misses: int

    @property
    def hit_rate(self) -> float | None:
        """The share of hits, 0 to 1; None before the first look."""
        total = self.hits + self.misses
        return self.hits / total if total else None


class EmbeddingCache:
    """Rows that a chunk uses are never evicted. Writing happens in the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, identity_id: int, dims: int, rows: Sequence[tuple[bytes, bytes]], *, now_ms: int) -> None:
        """Keep vectors, (text hash, float32 bytes)."""
        self._database.run_many(
            "INSERT INTO embedding_cache (identity_id, hash, dims, vector, updated_ms) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET dims = excluded.dims, vector = excluded.vector, "
            "updated_ms = excluded.updated_ms",
            [(identity_id, key, dims, vector, now_ms) for key, vector in rows],
        )

    def get(self, identity_id: int, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors that are there, float32 bytes by text hash."""
        found = {}
        for key in hashes:
            vector = self._database.value(
                "SELECT vector FROM embedding_cache WHERE identity_id = ? AND hash = ?", (identity_id, key)
            )
            if isinstance(vector, bytes):
                found[key] = vector
        return found

    def entries(self) -> int:
        """How many vectors there are, of all identities."""
        return self._database.count("SELECT count(*) FROM embedding_cache")

    def note_use(self, *, hits: int, misses: int) -> None:
        """Count looks into the cache, in chunks."""
        self._database.run_many(
            "INSERT INTO meta VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + CAST(excluded.value AS INTEGER) AS TEXT)",
            [(key, str(count)) for key, count in ((_HITS, hits), (_MISSES, misses)) if count],
        )

    def use(self) -> CacheUse:
        """The counts that `note_use` added up."""
        hits, misses = (
            self._database.count("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?", (key,))
            for key in (_HITS, _MISSES)
        )
        return CacheUse(hits, misses)

    def has_any(self, identity_id: int) -> bool:
        """Whether there is a vector of this identity."""
        return bool(self._database.rows("SELECT 1 FROM embedding_cache WHERE identity_id = ? LIMIT 1", (identity_id,)))

    def prune(self, max_entries: int) -> int:
        """Evict, oldest first, all but `max_entries` of the vectors that no chunk uses; how many went."""
        if self.entries() <= max_entries:
            return 0
        return self._database.run(
            f"DELETE FROM embedding_cache WHERE id IN (SELECT id FROM embedding_cache WHERE {_UNUSED} "
            "ORDER BY updated_ms DESC, id DESC LIMIT -1 OFFSET ?)",
            (max(0, max_entries),),
        )

    def forget(self, hashes: Iterable[bytes]) -> None:
        """Take the vectors of texts out, of every identity, unless another chunk has the same text."""
        self._database.run_many(
            "DELETE FROM embedding_cache WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?1)",
            [(key,) for key in hashes],
        )
