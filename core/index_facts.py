"""What the index file says of itself, read in one snapshot: the raw material of the status."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial

from core.backends.builtin import BuiltinBackend
from core.backends.changes import changed_in
from core.backends.readers import Reader
from core.embedding.fallback import Failover
from core.errors import KeywordsDamaged, StoreError, StoreMissing
from core.records import record
from core.settings.model import Settings
from core.store.check import try_keywords
from core.store.database import Database
from core.store.embedding_cache import CacheUse, EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue, RefusedChunk
from core.store.file_errors import FileErrors
from core.store.forgetting import forgotten
from core.store.identity import Identities, compare, read_identity
from core.store.place import file_bytes
from core.store.vectors import Vectors
from core.sync.identity import index_identity
from core.sync.intake import Intake
from core.sync.plan import without_forgotten
from core.sync.provider_memory import Trouble, has_vectors, provider_texts, recall_trouble
from core.types import FileFailure, Scan, SkippedPath, Source, SourceCount

Json = dict[str, object]


@record(slots=True)
class Facts:
    """What the index file says of itself; the defaults are those of an index that does not exist yet."""

    failover: Failover
    batch: Json
    semantic_ready: bool = False
    trouble: Trouble | None = None
    cache_use: CacheUse = field(default_factory=lambda: CacheUse(0, 0))
    counts: tuple[SourceCount, ...] = ()
    pending: int = 0
    changed: int = 0
    db_bytes: int = 0
    cache_entries: int = 0
    failed: tuple[FileFailure, ...] = ()
    skips: tuple[SkippedPath, ...] = ()
    forgotten: tuple[SkippedPath, ...] = ()
    warnings: list[tuple[str, str]] = field(default_factory=list)
    refused: tuple[RefusedChunk, ...] = ()
    store_error: str | None = None
    store_remedy: str = ""
    keyword_error: str | None = None
    vector_error: str | None = None
    dims: int | None = None
    vectors: int = 0
    paused: list[str] = field(default_factory=list)
    identity: Json = field(default_factory=lambda: {"status": "new"})

    def vector(self, settings: Settings) -> Json:
        return {
            "enabled": settings.store.vector.enabled,
            "available": self.vector_error is None,
            **if_set("loadError", self.vector_error),
            **if_set("extensionPath", settings.store.vector.extension_path),
            "dims": self.dims,
            "vectors": self.vectors,
            "storeAvailable": self.vector_error is None,
            "semanticAvailable": self.semantic_ready,
        }


def read_index(
    backend: BuiltinBackend, settings: Settings, intakes: Sequence[Intake], scans: Mapping[Source, Scan]
) -> Facts:
    failover = backend.failover(None)
    facts = Facts(failover, _batch(failover, settings, None), db_bytes=file_bytes(backend.store))
    try:
        with backend.readers.lease() as reader, reader.database.snapshot():
            _fill(facts, reader, backend, settings, intakes)
            gone = forgotten(reader.database)
            facts.forgotten = tuple(
                skip for scan in scans.values() for skip in without_forgotten(scan, gone).skipped[len(scan.skipped) :]
            )
            facts.changed = changed_in(reader, intakes, scans, facts.paused)
    except StoreMissing:
        facts.changed = sum(len(scan.files) for scan in scans.values())
    except StoreError as error:
        facts.store_error, facts.store_remedy = str(error), error.remedy
    return facts


def _fill(facts: Facts, reader: Reader, backend: BuiltinBackend, settings: Settings, intakes: Sequence[Intake]) -> None:
    database = reader.database
    queue, errors = EmbeddingQueue(database), FileErrors(database)
    try:
        try_keywords(database)
    except KeywordsDamaged as error:
        facts.keyword_error, facts.store_remedy = str(error), error.remedy
    facts.counts = reader.documents.counts()
    facts.pending = queue.waiting()
    facts.refused = queue.refused()
    facts.failed = errors.errors()
    facts.skips = errors.skips()
    facts.warnings = reader.documents.warnings()
    facts.cache_entries = EmbeddingCache(database).entries()
    facts.cache_use = EmbeddingCache(database).use()
    facts.vector_error = database.vector_error
    facts.failover = backend.failover(database)
    facts.batch = _batch(facts.failover, settings, database)
    facts.semantic_ready = facts.failover.for_queries(partial(has_vectors, database)) is not None
    embedder = facts.failover.embedder
    if embedder is not None and facts.pending:
        facts.trouble = recall_trouble(provider_texts(database), embedder.identity)
    wanted = index_identity(settings, intakes, facts.failover.identity)
    stored = read_identity(database)
    difference = compare(stored, wanted)
    facts.identity = {
        "status": "matches" if difference is None else "differs",
        **if_set("reason", difference),
        **if_set("stored", str(stored.embedding) if stored is not None and stored.embedding is not None else None),
        **if_set("wanted", str(wanted.embedding) if wanted.embedding is not None else None),
    }
    row = Identities(database).find(embedder.identity) if embedder is not None else Identities(database).active()
    if row is not None and row.state != "retired":
        facts.dims = row.identity.dims
        facts.vectors = Vectors(database, row).count()


def _batch(failover: Failover, settings: Settings, database: Database | None) -> Json:
    """The keys of `batch`: of the embedder in force, if its provider takes batches."""
    from core.embedding.batch_memory import remembered_status
    from core.embedding.providers import batch_api

    embedder = failover.embedder
    identity = embedder.identity if embedder is not None and batch_api(embedder) is not None else None
    texts = provider_texts(database) if database is not None else None
    return remembered_status(settings.remote.batch, texts, identity, now=time.time())


def trouble_of(facts: Facts, backend: BuiltinBackend) -> Trouble | None:
    """Why no vectors are made although chunks wait: as this process's worker knows, or the one that writes wrote."""
    state = backend.worker.state
    if state.embedding_error is not None:
        return Trouble(state.embedding_error, state.embedding_remedy)
    return facts.trouble


def if_set(key: str, value: object) -> Json:
    """The key with its value, or nothing where there is none."""
    return {} if value is None else {key: value}
