"""The vectors of one embedding identity: written, searched, and what is known of all of them together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from core.errors import BadVector
from core.store.database import Database, Value, id_array
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.failures import translated
from core.store.identity import Identities, IdentityRow
from core.store.schema import vector_table
from core.store.vector_rows import JOINED_VECTORS, VectorRows

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

VEC0_MOST = 4096
"""The most neighbours that vec0 gives; more are found by a scan."""
FEW = 1000
"""Up to so many allowed chunks, reading their vectors costs less than asking vec0."""
BATCH = 4096
COVARIANCE_DIMS = 1024
SAMPLE = 10_000
_DRIFT = 0.01


class VectorStats(NamedTuple):
    """Mean and covariance of the vectors, and `n`, of how many they were computed.

    For a query q the mean of all cosines is q·mean and their variance qᵀ·covariance·q. The covariance is None above
    1024 dims.
    """

    mean: npt.NDArray[np.float64]
    covariance: npt.NDArray[np.float64] | None
    n: int


class Vectors:
    """The vectors of the identity `row`. Writing happens in the caller's transaction."""

    def __init__(self, database: Database, row: IdentityRow, *, clock: Callable[[], float] = time.time) -> None:
        self.row = row
        self._database = database
        self._clock = clock
        self._rows = VectorRows(database)
        self._cache = EmbeddingCache(database)
        self._queue = EmbeddingQueue(database)
        self._identities = Identities(database)

    @property
    def dims(self) -> int | None:
        """Length of the vectors; None before the first."""
        return self.row.identity.dims

    def write(self, vectors: Sequence[tuple[bytes, Vector]]) -> int:
        """Keep vectors, (hash of the text, vector), and give them to every chunk with that text; how many chunks.

        Vectors with NaN, infinity, only zeros or another length are refused: the queue keeps the reason with the chunk.
        A text that no chunk has any more goes to the cache alone. Raises StoreError.
        """
        good: dict[bytes, bytes] = {}
        for key, vector in vectors:
            try:
                checked = unit(vector, self.dims)
            except BadVector as error:
                self._queue.refuse(key, str(error))
                continue
            self.row = self._identities.set_dims(self.row, len(checked))
            good[key] = checked.tobytes()
        dims = self.dims
        if not good or dims is None:
            return 0
        self._cache.put(self.row.id, dims, list(good.items()), now_ms=int(self._clock() * 1000))
        live = self._identities.live()
        if all(row.id != self.row.id for row in live):
            return 0
        rows = [
            (chunk_id, vector)
            for key, vector in good.items()
            for chunk_id in self._database.numbers("SELECT id FROM chunks WHERE embed_hash = ?", (key,))
        ]
        self._rows.insert(self.row.id, dims, rows)
        in_force = self._identities.in_force()
        if in_force is not None and in_force.id == self.row.id:
            self._queue.drop([chunk_id for chunk_id, _ in rows])
        return len(rows)

    def search(self, query: Vector, k: int, *, allowed: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """The `k` nearest chunks as (chunk id, cosine), best first; only those in `allowed` if given.

        vec0 answers, or an exact scan of the cache where vec0 is missing or cannot. Raises BadVector, StoreError.
        """
        if k < 1 or self.dims is None or (allowed is not None and not allowed):
            return []
        wanted = unit(query, self.dims)
        if allowed is not None and len(allowed) <= FEW:
            return _nearest(self._some(allowed), wanted, k)
        if k > VEC0_MOST or not self._rows.usable(self.row.id):
            kept = None if allowed is None else np.fromiter(allowed, np.int64, len(allowed))
            return _nearest(self.scan(), wanted, k, kept)
        sql = f"SELECT rowid, distance FROM {vector_table(self.row.id)} WHERE embedding MATCH ? AND k = ?"
        values: list[object] = [wanted.tobytes(), k]
        if allowed is not None:
            sql += " AND rowid IN (SELECT value FROM carray(?))"
            values.append(id_array(allowed))
        found = cast("list[tuple[int, float]]", self._database.rows(sql, values))
        # L2 distance d of unit vectors: cosine = 1 − d²/2.
        near = [(chunk_id, 1.0 - distance * distance / 2.0) for chunk_id, distance in found]
        return sorted(near, key=lambda pair: (-pair[1], pair[0]))

    def cosines(self, query: Vector, ids: Iterable[int]) -> dict[int, float]:
        """The cosine of each chunk that has a vector. Raises BadVector, StoreError."""
        if self.dims is None:
            return {}
        wanted = unit(query, self.dims)
        found: dict[int, float] = {}
        for keys, matrix in self._some(ids):
            found.update(zip(keys.tolist(), (matrix @ wanted).tolist(), strict=True))
        return found

    def count(self) -> int:
        """How many chunks have a vector."""
        return self._database.count(
            "SELECT count(*) FROM chunks CROSS JOIN embedding_cache "
            "ON embedding_cache.identity_id = ? AND embedding_cache.hash = chunks.embed_hash",
            (self.row.id,),
        )

    def scan(self, every: int = 1) -> Iterator[tuple[Ids, Matrix]]:
        """All vectors, or one in `every`, in batches: ids int64[n], rows float32[n, dims], in no order.

        Raises StoreError.
        """
        if self.dims is None:
            return
        sql = f"{JOINED_VECTORS} AND embedding_cache.dims = ? WHERE chunks.id % ? = 0"
        with translated(self._database.path, self._database.connection):
            cursor = self._database.connection.execute(sql, (*self._key(), every))
            while rows := list(islice(cursor, BATCH)):
                yield _arrays(rows, self.dims)

    def stats(self) -> VectorStats | None:
        """Mean and covariance as `refresh_stats` last found them; None before."""
        rows = self._database.rows("SELECT count, total, outer FROM vector_stats WHERE identity_id = ?", (self.row.id,))
        if not rows or self.dims is None:
            return None
        count, total, outer = rows[0]
        mean = np.frombuffer(total, np.float64) / count  # type: ignore[arg-type, operator]
        if outer is None:
            return VectorStats(mean, None, count)  # type: ignore[arg-type]
        products = np.frombuffer(outer, np.float64).reshape(self.dims, self.dims)  # type: ignore[arg-type]
        return VectorStats(mean, products / count - np.outer(mean, mean), count)  # type: ignore[arg-type, operator]

    def refresh_stats(self, *, force: bool = False) -> bool:
        """Compute mean and covariance anew if more than a hundredth of the vectors changed; whether it did.

        Beyond 10,000 vectors an even sample of about so many is taken, whose deviations are right within a hundredth.
        In the caller's transaction.
        """
        if self.dims is None:
            return False
        seq = self._database.count("SELECT max(seq) FROM changes")
        rows = self._database.rows("SELECT seq, count FROM vector_stats WHERE identity_id = ?", (self.row.id,))
        known = cast("list[tuple[int, int]]", rows)
        if known and not force and seq - known[0][0] <= max(10, known[0][1] * _DRIFT):
            return False
        count = 0
        total = np.zeros(self.dims, np.float64)
        outer = np.zeros((self.dims, self.dims), np.float64) if self.dims <= COVARIANCE_DIMS else None
        for keys, matrix in self.scan(every=max(1, self.count() // SAMPLE)):
            count += len(keys)
            total += matrix.sum(axis=0, dtype=np.float64)
            if outer is not None:
                outer += matrix.T @ matrix
        if count == 0:
            self._database.run("DELETE FROM vector_stats WHERE identity_id = ?", (self.row.id,))
            return bool(known)
        self._database.run(
            "INSERT INTO vector_stats VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, "
            "count = excluded.count, total = excluded.total, outer = excluded.outer",
            (self.row.id, seq, count, total.tobytes(), outer.tobytes() if outer is not None else None),
        )
        return True

    def _key(self) -> tuple[Value, ...]:
        return (self.row.id, self.dims)

    def _some(self, ids: Iterable[int]) -> Iterator[tuple[Ids, Matrix]]:
        assert self.dims is not None
        rows = self._database.rows(
            "SELECT chunks.id, embedding_cache.vector FROM carray(?3) AS wanted "
            "CROSS JOIN chunks ON chunks.id = wanted.value CROSS JOIN embedding_cache "
            "ON embedding_cache.identity_id = ?1 AND embedding_cache.hash = chunks.embed_hash "
            "AND embedding_cache.dims = ?2",
            (*self._key(), id_array(ids)),
        )
        if rows:
            yield _arrays(rows, self.dims)


def unit(vector: Vector, dims: int | None) -> Vector:
    """`vector` with norm 1. Raises BadVector for NaN, infinity, zero, another length or another shape."""
    values = np.asarray(vector, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise BadVector(f"not a row of numbers: shape {values.shape}")
    if dims is not None and values.size != dims:
        raise BadVector(f"{values.size} numbers where {dims} were expected")
    if not np.isfinite(values).all():
        raise BadVector("NaN or infinity in the vector")
    largest = float(np.abs(values).max())
    if largest <= 1e-10:
        raise BadVector("the vector is zero")
    scaled = values / largest
    return (scaled / np.linalg.norm(scaled)).astype(np.float32)


def _arrays(rows: Sequence[tuple[Value, ...]], dims: int) -> tuple[Ids, Matrix]:
    pairs = cast("Sequence[tuple[int, bytes]]", rows)
    ids = np.fromiter((chunk_id for chunk_id, _ in pairs), np.int64, len(pairs))
    return ids, np.frombuffer(b"".join(vector for _, vector in pairs), np.float32).reshape(len(pairs), dims)


def _nearest(
    batches: Iterable[tuple[Ids, Matrix]], query: Vector, k: int, allowed: Ids | None = None
) -> list[tuple[int, float]]:
    best_ids, best = np.empty(0, np.int64), np.empty(0, np.float32)
    for ids, matrix in batches:
        if allowed is not None:
            mask = np.isin(ids, allowed)
            ids, matrix = ids[mask], matrix[mask]
        best_ids, best = np.concatenate((best_ids, ids)), np.concatenate((best, matrix @ query))
        if len(best) > k:
            kept = np.argpartition(-best, k - 1)[:k]
            best_ids, best = best_ids[kept], best[kept]
    order = np.lexsort((best_ids, -best))
    return [(int(best_ids[position]), float(best[position])) for position in order]
