"""The semantic leg: cosines of the query's vector, from a matrix in memory or from the index file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.records import record
from core.store.database import Database

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from core.store.identity import IdentityRow
    from core.types import EmbeddingIdentity

    Vector = npt.NDArray[np.float32]

SAMPLE = 1000


class Matrix(Protocol):
    """All vectors in memory, as the read transaction of `database` sees them."""

    def cosines(
        self, database: Database, row: IdentityRow, query: Vector
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]] | None:
        """Chunk ids and cosines, in no order; None when this transaction must ask the file."""
        ...


@record(frozen=True, slots=True)
class SemanticHits:
    """`best` maps the nearest chunks to their cosines, best first; `known` further chunks that were asked for.

    `mean` and `deviation` are of the query's cosines over all chunks that have a vector.
    """

    best: dict[int, float]
    known: dict[int, float]
    mean: float
    deviation: float

    def cosine(self, chunk_id: int) -> float | None:
        """None for a chunk without a vector."""
        found = self.best.get(chunk_id)
        return self.known.get(chunk_id) if found is None else found


def nearest(
    database: Database,
    identity: EmbeddingIdentity,
    matrix: Matrix | None,
    query: Vector,
    *,
    limit: int,
    allowed: Sequence[int] | None,
    also: Iterable[int],
) -> SemanticHits | None:
    """The `limit` nearest of the allowed chunks, and the cosines of `also`; None when there are no vectors.

    Call it inside a read transaction. Raises BadVector, StoreError, apsw.InterruptError.
    """
    from core.store.identity import Identities

    row = Identities(database).find(identity)
    if row is None or row.state == "retired" or row.identity.dims is None:
        return None
    found = matrix.cosines(database, row, query) if matrix is not None else None
    if found is not None:
        return _from_memory(*found, limit=limit, allowed=allowed, also=also)
    return _from_file(database, row, query, limit=limit, allowed=allowed, also=also)


def _from_memory(
    ids: npt.NDArray[np.int64],
    cosines: npt.NDArray[np.float32],
    *,
    limit: int,
    allowed: Sequence[int] | None,
    also: Iterable[int],
) -> SemanticHits | None:
    import numpy as np

    if not len(ids):
        return None
    wanted = np.fromiter(also, np.int64)
    asked = np.flatnonzero(np.isin(ids, wanted))
    known = dict(zip(ids[asked].tolist(), cosines[asked].tolist(), strict=True))
    mean, deviation = float(cosines.mean(dtype=np.float64)), float(cosines.std(dtype=np.float64))
    if allowed is not None:
        mask = np.isin(ids, np.fromiter(allowed, np.int64, len(allowed)))
        ids, cosines = ids[mask], cosines[mask]
    if len(ids) > limit:
        kept = np.argpartition(-cosines, limit - 1)[:limit]
        ids, cosines = ids[kept], cosines[kept]
    order = np.lexsort((ids, -cosines))
    best = dict(zip(ids[order].tolist(), cosines[order].tolist(), strict=True))
    return SemanticHits(best, known, mean, deviation)


def _from_file(
    database: Database,
    row: IdentityRow,
    query: Vector,
    *,
    limit: int,
    allowed: Sequence[int] | None,
    also: Iterable[int],
) -> SemanticHits | None:
    from core.store.vectors import Vectors

    vectors = Vectors(database, row)
    best = dict(vectors.search(query, limit, allowed=allowed))
    known = vectors.cosines(query, [chunk_id for chunk_id in also if chunk_id not in best])
    if not best and not known:
        return None
    stats = vectors.stats()
    if stats is not None and stats.covariance is not None:
        mean = float(stats.mean @ query)
        return SemanticHits(best, known, mean, math.sqrt(max(0.0, float(query @ stats.covariance @ query))))
    sample = list(vectors.cosines(query, _sample_ids(database)).values())
    mean = math.fsum(sample) / len(sample) if sample else 0.0
    deviation = math.sqrt(math.fsum((cosine - mean) ** 2 for cosine in sample) / len(sample)) if sample else 0.0
    return SemanticHits(best, known, mean, deviation)


def _sample_ids(database: Database) -> list[int]:
    """Up to about 1000 chunks, spread over the index, for statistics that the index does not keep."""
    step = max(1, database.count("SELECT sum(chunks) FROM files") // SAMPLE)
    found = database.connection.execute("SELECT id FROM chunks WHERE id % ? = 0 LIMIT ?", (step, 2 * SAMPLE))
    return [int(chunk_id) for (chunk_id,) in found]
