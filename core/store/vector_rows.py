"""Rows of the vec0 tables, and the log of changes that the vector matrices of other connections follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.store.database import Database
from core.store.schema import vector_table

CHANGES_KEPT = 100_000
_STALE = "vec0_stale"
JOINED_VECTORS = (
    "SELECT chunks.id, embedding_cache.vector FROM chunks CROSS JOIN embedding_cache "
    "ON embedding_cache.identity_id = ? AND embedding_cache.hash = chunks.embed_hash"
)


class VectorRows:
    """What vec0 holds is always what chunks and embedding_cache say; without vec0 the table is marked stale.

    All writing happens in the caller's transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def is_stale(self) -> bool:
        """Whether rows were written or deleted by a connection without vec0."""
        return self._database.meta(_STALE) is not None

    def set_stale(self, stale: bool) -> None:
        """Mark the vec0 tables as out of step, or as in step again."""
        self._database.set_meta(_STALE, "1" if stale else None)

    def tables(self) -> list[int]:
        """Identity ids of the vec0 tables that exist."""
        prefix = vector_table(0).removesuffix("0")
        rows = self._database.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%vec0(%' "
            "AND name GLOB ? || '[0-9]*'",
            (prefix,),
        )
        return [int(str(name).removeprefix(prefix)) for (name,) in rows]

    def usable(self, identity_id: int) -> bool:
        """Whether the vec0 table of this identity can be asked and holds all."""
        return self._database.vector_error is None and identity_id in self.tables() and not self.is_stale

    def insert(self, identity_id: int, dims: int, rows: Sequence[tuple[int, bytes]]) -> None:
        """Write vectors, (chunk id, float32 bytes); a chunk's earlier one goes."""
        if not rows:
            return
        if self._database.vector_error is None:
            table = vector_table(identity_id)
            self._create(identity_id, dims)
            self._database.run_many(f"DELETE FROM {table} WHERE rowid = ?", [(chunk_id,) for chunk_id, _ in rows])
            self._database.run_many(f"INSERT INTO {table} (rowid, embedding) VALUES (?, ?)", rows)
        else:
            self.set_stale(True)
        self._note("vector", (chunk_id for chunk_id, _ in rows))

    def insert_cached(self, identity_id: int, dims: int, file_id: int, first_id: int) -> None:
        """Write the vectors of a document's chunks from `first_id` on that the cache has."""
        rows = self._database.rows(
            f"{JOINED_VECTORS} AND embedding_cache.dims = ? WHERE chunks.file_id = ? AND chunks.id >= ?",
            (identity_id, dims, file_id, first_id),
        )
        self.insert(identity_id, dims, rows)  # type: ignore[arg-type]

    def delete(self, chunk_ids: Sequence[int]) -> None:
        """Take the vectors of chunks out of every table."""
        if not chunk_ids:
            return
        tables = self.tables()
        if self._database.vector_error is None:
            for identity_id in tables:
                self._database.run_many(
                    f"DELETE FROM {vector_table(identity_id)} WHERE rowid = ?", [(chunk_id,) for chunk_id in chunk_ids]
                )
        elif tables:
            self.set_stale(True)
        self._note("delete", chunk_ids)

    def refill(self, identity_id: int, dims: int) -> int:
        """Make the table anew from the cache; the number of vectors."""
        self._note("reset", (0,))
        if self._database.vector_error is not None:
            self.set_stale(True)
            return 0
        self.drop(identity_id)
        self._create(identity_id, dims)
        return self._database.run(
            f"INSERT INTO {vector_table(identity_id)} (rowid, embedding) {JOINED_VECTORS} AND embedding_cache.dims = ? "
            "ORDER BY chunks.id",
            (identity_id, dims),
        )

    def drop(self, identity_id: int) -> None:
        """Take a table away; without vec0 it stays until `drop_all_but` can."""
        if self._database.vector_error is None:
            self._database.run(f"DROP TABLE IF EXISTS {vector_table(identity_id)}")

    def drop_all_but(self, kept: Sequence[int]) -> None:
        """Take away tables that belong to no identity in use."""
        for identity_id in self.tables():
            if identity_id not in kept:
                self.drop(identity_id)

    def _create(self, identity_id: int, dims: int) -> None:
        # L2 over vectors of norm 1 orders as cosine does, and vec0 computes it in a third of the time.
        self._database.run(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {vector_table(identity_id)} USING vec0(embedding float[{dims}])"
        )

    def _note(self, op: str, chunk_ids: Iterable[int]) -> None:
        self._database.run_many(
            "INSERT INTO changes (chunk_id, op) VALUES (?, ?)", [(chunk_id, op) for chunk_id in chunk_ids]
        )
        self._database.run("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", (CHANGES_KEPT,))
