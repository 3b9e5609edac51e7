"""What an index was built with, and which embedding identity its vectors belong to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from core.records import record
from core.store.database import Database, Value
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.vector_rows import VectorRows
from core.types import EmbeddingIdentity, IndexIdentity

State = Literal["active", "building", "retired"]
_KEY = "identity"
_COLUMNS = "id, provider, model, endpoint, recipe, dims, state"


def read_identity(database: Database) -> IndexIdentity | None:
    """What the index was built with; None for a new one, or when the record cannot be read."""
    text = database.meta(_KEY)
    if text is None:
        return None
    try:
        values = json.loads(text)
        embedding = values["embedding"]
        return IndexIdentity(
            EmbeddingIdentity(**embedding) if embedding is not None else None,
            tuple(values["sources"]),
            str(values["scope"]),
            str(values["chunking"]),
            str(values["tokenizer"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def write_identity(database: Database, identity: IndexIdentity) -> None:
    """Record what the index is built with; without an embedder the recorded embedding identity stays."""
    embedding = identity.embedding
    if embedding is None:
        stored = read_identity(database)
        embedding = stored.embedding if stored is not None else None
    values = {
        "embedding": None
        if embedding is None
        else {
            "provider": embedding.provider,
            "model": embedding.model,
            "endpoint": embedding.endpoint,
            "dims": embedding.dims,
            "recipe": embedding.recipe,
        },
        "sources": list(identity.sources),
        "scope": identity.scope,
        "chunking": identity.chunking,
        "tokenizer": identity.tokenizer,
    }
    database.set_meta(_KEY, json.dumps(values))


def compare(stored: IndexIdentity | None, wanted: IndexIdentity) -> str | None:
    """The first difference between what the index was built with and what is wanted, as a sentence; None if it fits.

    A wanted identity without an embedder fits any vectors: a key that is merely missing changes nothing.
    """
    if stored is None:
        return "the index does not say what it was built with"
    if sorted(stored.sources) != sorted(wanted.sources):
        return _differs("sources", ", ".join(sorted(stored.sources)), ", ".join(sorted(wanted.sources)))
    if stored.chunking != wanted.chunking:
        return _differs("chunking", stored.chunking, wanted.chunking)
    old, new = stored.embedding, wanted.embedding
    if new is not None:
        if old is None:
            return f"the index has no vectors yet; {new} will make them"
        for name in ("model", "provider", "endpoint", "recipe"):
            before, after = getattr(old, name), getattr(new, name)
            if before != after:
                return _differs(f"embedding {name}", before or "none", after or "none")
        if old.dims is not None and new.dims is not None and old.dims != new.dims:
            return _differs("vector length", str(old.dims), str(new.dims))
    if stored.scope != wanted.scope:
        return _differs("scope", _shortened(stored.scope), _shortened(wanted.scope))
    if stored.tokenizer != wanted.tokenizer:
        return _differs("tokenizer", stored.tokenizer, wanted.tokenizer)
    return None


def difference_from(database: Database, wanted: IndexIdentity) -> str | None:
    """The same for an index; also None for one that was never built. Raises StoreError."""
    stored = read_identity(database)
    return compare(stored, wanted) if stored is not None else None


def _differs(what: str, before: str, after: str) -> str:
    return f"{what} differs: built with {before}, wanted {after}"


def _shortened(scope: str) -> str:
    """A scope for people: of the hash at its beginning the first 8 digits, and what follows in words."""
    digest, mark, words = scope.partition("; ")
    return f"{digest[:8]}{mark}{words}"


@record(frozen=True, slots=True)
class IdentityRow:
    """An embedding identity of this index; `id` names its vec0 table and its cache rows."""

    id: int
    identity: EmbeddingIdentity
    state: State


def in_force_of(live: Sequence[IdentityRow]) -> IdentityRow | None:
    """The identity that new vectors are made for: the one being built, else the active one."""
    return min(live, key=lambda row: row.state == "active", default=None)


class Identities:
    """The embedding identities of an index: at most one active and one building, any number retired."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue = EmbeddingQueue(database)
        self._rows = VectorRows(database)

    def all(self) -> list[IdentityRow]:
        """Every identity, oldest first."""
        return [
            _row(values) for values in self._database.rows(f"SELECT {_COLUMNS} FROM embedding_identities ORDER BY id")
        ]

    def live(self) -> list[IdentityRow]:
        """Those with vectors to search: the active one and the one being built."""
        return [row for row in self.all() if row.state != "retired"]

    def in_force(self) -> IdentityRow | None:
        """The identity that new vectors are made for: the one being built, else the active one."""
        return in_force_of(self.live())

    def active(self) -> IdentityRow | None:
        """The identity whose vectors were complete once."""
        return next((row for row in self.live() if row.state == "active"), None)

    def find(self, identity: EmbeddingIdentity) -> IdentityRow | None:
        """The row of an identity; dims count only where both sides know them. Live rows come before retired ones."""
        rows = [
            row
            for row in self.all()
            if row.identity.key == identity.key
            and (identity.dims is None or row.identity.dims is None or row.identity.dims == identity.dims)
        ]
        rows.sort(key=lambda row: (row.state == "retired", row.state == "active", -row.id))
        return rows[0] if rows else None

    def put_in_force(self, identity: EmbeddingIdentity) -> IdentityRow:
        """Make `identity` the one that vectors are made for; what the cache lacks of it waits in the queue.

        The active identity keeps its vectors until `complete`; one that was being built is retired. Costs nothing
        when it is in force already, unless rows were written without vec0 meanwhile: these are made up for. One
        transaction.
        """
        with self._database.transaction():
            row, current = self.find(identity), self.in_force()
            if row is None or current is None or row.id != current.id:
                row = self._switch(row, identity)
            row = self.set_dims(row, identity.dims)
            self._mend_tables()
            return row

    def complete(self, row: IdentityRow) -> bool:
        """Make `row` the active identity and retire every other, in one transaction.

        False, and nothing done, while chunks wait for its vectors.
        """
        with self._database.transaction():
            current = self.in_force()
            if current is None or current.id != row.id or self._queue.waiting():
                return False
            if current.state != "active" or len(self.live()) > 1:
                for other in self.live():
                    if other.id != row.id:
                        self._retire(other)
                self._set_state(row, "active")
            return True

    def _switch(self, row: IdentityRow | None, identity: EmbeddingIdentity) -> IdentityRow:
        for other in self.live():
            if other.state == "building":
                self._retire(other)
        if row is None:
            row = self._insert(identity)
        elif row.state == "retired":
            row = self._set_state(row, "building")
            if row.identity.dims is not None:
                self._rows.refill(row.id, row.identity.dims)
        waiting = self._queue.refill(row.id)
        there = self._database.count("SELECT count(*) FROM chunks") - waiting
        EmbeddingCache(self._database).note_use(hits=there, misses=waiting)
        return row

    def _mend_tables(self) -> None:
        if self._database.vector_error is not None:
            return
        live = self.live()
        self._rows.drop_all_but([row.id for row in live])
        if self._rows.is_stale:
            for row in live:
                if row.identity.dims is not None:
                    self._rows.refill(row.id, row.identity.dims)
            self._rows.set_stale(False)

    def _retire(self, row: IdentityRow) -> None:
        """Its vectors go; its cache rows stay within the cache's bound."""
        self._rows.drop(row.id)
        self._database.run("DELETE FROM vector_stats WHERE identity_id = ?", (row.id,))
        self._set_state(row, "retired")

    def _set_state(self, row: IdentityRow, state: State) -> IdentityRow:
        self._database.run("UPDATE embedding_identities SET state = ? WHERE id = ?", (state, row.id))
        return replace(row, state=state)

    def keep(self, identity: EmbeddingIdentity) -> IdentityRow:
        """The row of an identity, made as a retired one where there is none. In the caller's transaction."""
        return self.find(identity) or self._set_state(self._insert(identity), "retired")

    def set_dims(self, row: IdentityRow, dims: int | None) -> IdentityRow:
        """Record the length of the vectors once it is known. In the caller's transaction."""
        if dims is None or row.identity.dims == dims:
            return row
        self._database.run("UPDATE embedding_identities SET dims = ? WHERE id = ?", (dims, row.id))
        return replace(row, identity=replace(row.identity, dims=dims))

    def _insert(self, identity: EmbeddingIdentity) -> IdentityRow:
        values = (identity.key, identity.provider, identity.model, identity.endpoint, identity.recipe, identity.dims)
        found = self._database.value(
            "INSERT INTO embedding_identities (key, provider, model, endpoint, recipe, dims, state) "
            "VALUES (?, ?, ?, ?, ?, ?, 'building') RETURNING id",
            values,
        )
        assert isinstance(found, int)
        return IdentityRow(found, identity, "building")


def _row(values: tuple[Value, ...]) -> IdentityRow:
    number, provider, model, endpoint, recipe, dims, state = values
    identity = EmbeddingIdentity(str(provider), str(model), str(endpoint), dims, str(recipe))  # type: ignore[arg-type]
    return IdentityRow(number, identity, state)  # type: ignore[arg-type]
