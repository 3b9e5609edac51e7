"""All vectors of one identity in memory, for processes that live long and search often."""

from __future__ import annotations

import threading
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from core.store.database import Database, id_array
from core.store.identity import IdentityRow
from core.store.vector_rows import JOINED_VECTORS
from core.store.vectors import Ids, Matrix, Vector, Vectors, unit

_GROWTH = 2
_LEAST_CAPACITY = 1024
_RELOAD_SHARE = 2
"""With more changes than one part in so many of the rows, loading anew is quicker than following."""


class Cosines(NamedTuple):
    """The cosine of a query with every vector: ids int64[n], values float32[n], in no order."""

    ids: Ids
    values: npt.NDArray[np.float32]


class VectorMatrix:
    """A float32 matrix that follows the writer through the changes table.

    Several threads may share one: `cosines` is safe as it is. Whoever reads `ids` and `matrix` holds `lock` from
    `follow` until done with them, since following moves rows. Memory is bounded by `limit_mb` (10⁶ bytes).
    """

    def __init__(self, limit_mb: float) -> None:
        self.lock = threading.RLock()
        self._limit_bytes = int(limit_mb * 1_000_000)
        self._key: tuple[str | None, int, int] | None = None
        self._seq = -1
        self._is_beyond = False
        self._empty(0)

    @property
    def ids(self) -> Ids:
        """Chunk ids of the rows, int64[n]; a view."""
        return self._ids[: self._count]

    @property
    def matrix(self) -> Matrix:
        """Unit vectors, float32[n, dims]; a view."""
        return self._rows[: self._count]

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self._rows.nbytes + self._ids.nbytes)

    def follow(self, database: Database, row: IdentityRow) -> bool:
        """Become exactly what the read transaction of `database` sees of the identity; call it inside one.

        False when it cannot: the vectors are beyond the limit, there are none yet, or another thread has brought the
        matrix further than this transaction sees. Then vec0 answers. Raises StoreError.
        """
        with self.lock:
            vectors = Vectors(database, row)
            if vectors.dims is None:
                return False
            key = (database.meta("index_id"), row.id, vectors.dims)
            seq = database.count("SELECT max(seq) FROM changes")
            if key == self._key:
                if seq <= self._seq:
                    return seq == self._seq and not self._is_beyond
                if not self._is_beyond and self._apply(database, vectors, seq):
                    self._key, self._seq = key, seq
                    return True
            self._key = None
            self._load(database, vectors)
            self._key, self._seq = key, seq
            return not self._is_beyond

    def cosines(self, database: Database, row: IdentityRow, query: Vector) -> Cosines | None:
        """The query's cosine with every vector of this read transaction; None when `follow` says False.

        Raises BadVector, StoreError.
        """
        with self.lock:
            if not self.follow(database, row):
                return None
            return Cosines(self.ids.copy(), self.matrix @ unit(query, row.identity.dims))

    def clear(self) -> None:
        """Give the memory back."""
        with self.lock:
            self._key = None
            self._empty(0)

    def _empty(self, dims: int, capacity: int = 0) -> None:
        self._count = 0
        self._ids: Ids = np.empty(capacity, np.int64)
        self._rows: Matrix = np.empty((capacity, dims), np.float32)
        self._places: dict[int, int] = {}

    def _load(self, database: Database, vectors: Vectors) -> None:
        dims, chunks = vectors.dims or 0, _chunks(database)
        self._is_beyond = not self._fits(chunks, dims)
        self._empty(dims, 0 if self._is_beyond else chunks)
        if self._is_beyond:
            return
        for ids, rows in vectors.scan():
            end = self._count + len(ids)
            if end > len(self._ids):
                self._grow(end)
            self._ids[self._count : end] = ids
            self._rows[self._count : end] = rows
            self._count = end
        self._places = {chunk_id: place for place, chunk_id in enumerate(self.ids.tolist())}

    def _fits(self, count: int, dims: int) -> bool:
        return count * dims * 4 <= self._limit_bytes

    def _apply(self, database: Database, vectors: Vectors, seq: int) -> bool:
        """Follow the log; False when it has a gap, asks for all anew, or is long, or when memory would not do."""
        if not self._fits(_chunks(database), vectors.dims or 0):
            return False
        oldest = database.count("SELECT min(seq) FROM changes")
        if oldest > self._seq + 1 or seq - self._seq > max(_LEAST_CAPACITY, self._count // _RELOAD_SHARE):
            return False
        changed = database.rows("SELECT DISTINCT chunk_id, op FROM changes WHERE seq > ?", (self._seq,))
        if any(op == "reset" for _, op in changed):
            return False
        touched = {cast("int", chunk_id) for chunk_id, _ in changed}
        rows = database.rows(
            f"{JOINED_VECTORS} AND embedding_cache.dims = ? WHERE chunks.id IN (SELECT value FROM carray(?))",
            (vectors.row.id, vectors.dims, id_array(touched)),
        )
        now = dict(cast("list[tuple[int, bytes]]", rows))
        self._key = None
        for gone in touched.difference(now):
            self._drop(gone)
        for chunk_id, vector in now.items():
            self._put(chunk_id, vector)
        return True

    def _put(self, chunk_id: int, vector: bytes) -> None:
        place = self._places.get(chunk_id)
        if place is None:
            place = self._count
            if place == len(self._ids):
                self._grow(place + 1)
            self._places[chunk_id] = place
            self._ids[place] = chunk_id
            self._count += 1
        self._rows[place] = np.frombuffer(vector, np.float32)

    def _grow(self, least: int) -> None:
        dims = int(self._rows.shape[1])
        most = max(self._limit_bytes // (dims * 4), least)
        capacity = min(max(_LEAST_CAPACITY, least, len(self._ids) * _GROWTH), most)
        ids, rows = np.empty(capacity, np.int64), np.empty((capacity, dims), np.float32)
        ids[: self._count], rows[: self._count] = self.ids, self.matrix
        self._ids, self._rows = ids, rows

    def _drop(self, chunk_id: int) -> None:
        """The last row takes the place of the one that goes."""
        place = self._places.pop(chunk_id, None)
        if place is None:
            return
        self._count -= 1
        last = self._count
        if place != last:
            moved = int(self._ids[last])
            self._ids[place], self._rows[place] = moved, self._rows[last]
            self._places[moved] = place


def _chunks(database: Database) -> int:
    return database.count("SELECT sum(chunks) FROM files")
