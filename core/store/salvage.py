"""What can be saved from an index that was set aside: its vectors, which cost time or money to make again."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import cast

import apsw
import numpy as np

from core.store.database import Database
from core.store.embedding_cache import EmbeddingCache
from core.store.identity import Identities
from core.store.schema import APPLICATION_ID
from core.types import EmbeddingIdentity

_BATCH = 1000


def salvage_vectors(database: Database, kept: Path) -> int:
    """Copy into the cache what can still be read of the vectors in `kept`; how many. One transaction.

    Their identities come as retired ones, so that the one put in force next finds them. Text that is indexed again
    then needs no embedding. Whatever cannot be read is left out. Raises StoreError for `database` alone.
    """
    with suppress(apsw.Error):
        damaged = apsw.Connection(os.fspath(kept), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if damaged.pragma("application_id") == APPLICATION_ID:
                with database.transaction():
                    return _copy(damaged, database)
        finally:
            damaged.close(True)
    return 0


def _copy(damaged: apsw.Connection, database: Database) -> int:
    identities, cache, count = Identities(database), EmbeddingCache(database), 0
    known: dict[int, tuple[int, int]] = {}
    with suppress(apsw.Error):
        for number, provider, model, endpoint, recipe, dims in damaged.execute(
            "SELECT id, provider, model, endpoint, recipe, dims FROM embedding_identities WHERE dims > 0"
        ):
            row = identities.keep(EmbeddingIdentity(str(provider), str(model), str(endpoint), int(dims), str(recipe)))
            known[number] = (row.id, int(dims))
    for number, (identity_id, dims) in known.items():
        with suppress(apsw.Error):
            rows = damaged.execute(
                "SELECT hash, vector FROM embedding_cache NOT INDEXED WHERE identity_id = ? AND dims = ? "
                "AND typeof(hash) = 'blob' AND length(hash) = 32 AND typeof(vector) = 'blob' AND length(vector) = ?",
                (number, dims, dims * 4),
            )
            while batch := cast("list[tuple[bytes, bytes]]", list(islice(rows, _BATCH))):
                good = [(key, vector) for key, vector in batch if _is_unit(vector)]
                cache.put(identity_id, dims, good, now_ms=0)
                count += len(good)
    return count


def _is_unit(vector: bytes) -> bool:
    values = np.frombuffer(vector, np.float32)
    with np.errstate(all="ignore"):
        return abs(float(values @ values) - 1.0) < 1e-3
