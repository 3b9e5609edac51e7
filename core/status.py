"""The state of a memory and its health."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from core.backends.builtin import BuiltinBackend
from core.backends.changes import changed_in
from core.backends.readers import Reader
from core.embedding.fallback import Failover
from core.errors import EmbeddingError, StoreError, StoreMissing
from core.settings.model import Settings
from core.store.database import Database
from core.store.embedding_cache import CacheUse, EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue, RefusedChunk
from core.store.file_errors import FileErrors
from core.store.identity import Identities, compare, read_identity
from core.store.vectors import Vectors
from core.store.writer_lock import WriterLock
from core.sync.identity import index_identity
from core.sync.intake import Intake
from core.sync.provider_memory import Trouble, has_vectors, provider_texts, recall_trouble
from core.sync.watching import WatchState
from core.types import FileFailure, HealthState, Scan, SkippedPath, Source, SourceCount, Status

Json = dict[str, object]


def collect(
    backend: BuiltinBackend,
    settings: Settings,
    *,
    workspace: Path,
    intakes: Sequence[Intake],
    watch: WatchState,
    deep: bool = False,
) -> Status:
    """Everything that `memdeck status` says. Reads the index and scans the folders; writes nothing.

    With `deep` the vector table, the embedder and the writer are asked to do real work.
    """
    scans = {intake.source: intake.scan() for intake in intakes}
    standing = backend.standing()
    facts = _read_index(backend, settings, intakes, scans)
    state, selection = backend.worker.state, backend.selection
    embedder = facts.failover.embedder
    identity = embedder.identity if embedder is not None else None
    recovery = state.recovery
    custom: Json = {
        "searchMode": "hybrid" if facts.semantic_ready else "keyword",
        **_provider_state(facts, backend),
        "textGoesTo": facts.failover.text_goes_to,
        "indexIdentity": facts.identity,
        "readonlyRecovery": {
            "attempts": recovery.attempts,
            "successes": recovery.successes,
            "failures": recovery.failures,
            **_if("lastError", recovery.last_error),
        },
        "changedFiles": facts.changed,
        "refusedChunks": [asdict(chunk) for chunk in facts.refused],
        "warnings": [{"path": path, "warning": words} for path, words in facts.warnings],
        "scanProblems": [problem for scan in scans.values() for problem in scan.problems],
        **({"probes": probe(backend)} if deep else {}),
        **({"qmd": dict(standing.facts)} if standing is not None else {}),
    }
    status = Status(
        backend=backend.name if standing is None else standing.backend,
        provider=identity.provider if identity is not None else "none",
        model=identity.model if identity is not None else "",
        requested_provider=selection.requested,
        files=sum(count.files for count in facts.counts),
        chunks=sum(count.chunks for count in facts.counts),
        pending=facts.pending,
        dirty=facts.changed > 0 or (state.alive and state.busy),
        workspace_dir=str(workspace),
        db_path=str(backend.store),
        db_bytes=facts.db_bytes,
        sources=tuple(settings.sources),
        extra_paths=tuple(settings.extra_paths),
        source_counts=facts.counts,
        vector=facts.vector(settings),
        fts={"enabled": True, "available": facts.store_error is None, **_if("error", facts.store_error)},
        cache={
            "enabled": settings.cache.enabled,
            "entries": facts.cache_entries,
            "maxEntries": settings.cache.max_entries,
            "hits": facts.cache_use.hits,
            "misses": facts.cache_use.misses,
            **_if("hitRate", _rounded(facts.cache_use.hit_rate)),
        },
        batch=facts.batch,
        fallback=(standing.fallback if standing is not None else None) or facts.failover.fallback,
        custom=custom,
        watcher={"mode": watch.mode, "reason": watch.reason, "folders": watch.folders},
        writer={"pid": WriterLock(backend.store).owner(), "own": state.is_writer},
        failed=facts.failed,
        skipped=(*facts.skips, *(skip for scan in scans.values() for skip in scan.skipped)),
        ignored=_ignored(scans.values()),
    )
    return _judged(status, facts, backend, standing.reasons if standing is not None else ())


def in_force(backend: BuiltinBackend) -> Failover:
    """Which embedder makes the vectors, as the index tells where there is one that can be read."""
    try:
        with backend.readers.lease() as reader:
            return backend.failover(reader.database)
    except StoreError:
        return backend.failover(None)


def probe(backend: BuiltinBackend) -> Json:
    """Real work for the embedder, the vector table and the writer lock: "ok", or what went wrong."""
    answer: Json = {}
    vector = None
    embedder = in_force(backend).embedder
    if embedder is None:
        answer["embedder"] = backend.selection.reason or "switched off"
    else:
        try:
            vector = embedder.embed_query("ping")
            answer["embedder"] = "ok"
        except EmbeddingError as error:
            answer["embedder"] = str(error)
    try:
        with backend.readers.lease() as reader:
            row = Identities(reader.database).find(embedder.identity) if embedder is not None else None
            if vector is None or row is None:
                answer["vectors"] = "there are none of this model"
            else:
                found = Vectors(reader.database, row).search(vector, 1)
                answer["vectors"] = "ok" if found else "the vector table is empty"
    except (StoreError, EmbeddingError) as error:
        answer["vectors"] = str(error)
    owner = WriterLock(backend.store).owner()
    answer["writer"] = "nobody writes at the moment" if owner is None else f"process {owner}"
    return answer


def status_json(status: Status) -> Json:
    """The status under the reference's camelCase keys."""
    answer: Json = {
        "backend": status.backend,
        "provider": status.provider,
        "model": status.model,
        "requestedProvider": status.requested_provider,
        "files": status.files,
        "chunks": status.chunks,
        "pending": status.pending,
        "dirty": status.dirty,
        "workspaceDir": status.workspace_dir,
        "dbPath": status.db_path,
        "dbBytes": status.db_bytes,
        "sources": list(status.sources),
        "extraPaths": list(status.extra_paths),
        "sourceCounts": [
            {
                "source": count.source,
                "files": count.files,
                "chunks": count.chunks,
                **({"sourcesGone": count.sources_gone} if count.sources_gone else {}),
            }
            for count in status.source_counts
        ],
        "vector": dict(status.vector),
        "fts": dict(status.fts),
        "cache": dict(status.cache),
        "batch": dict(status.batch),
        "custom": dict(status.custom),
        "watcher": dict(status.watcher),
        "writer": dict(status.writer),
        "failed": [
            {"source": one.source, "path": one.path, "error": one.error, "attempts": one.attempts, "atMs": one.at_ms}
            for one in status.failed
        ],
        "skipped": [asdict(one) for one in status.skipped],
        "ignored": dict(status.ignored),
        "health": {"state": status.health, "reasons": list(status.reasons)},
    }
    if status.fallback is not None:
        answer["fallback"] = dict(status.fallback)
    return answer


@dataclass(slots=True)
class _Facts:
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
    warnings: list[tuple[str, str]] = field(default_factory=list)
    refused: tuple[RefusedChunk, ...] = ()
    store_error: str | None = None
    vector_error: str | None = None
    dims: int | None = None
    vectors: int = 0
    paused: list[str] = field(default_factory=list)
    identity: Json = field(default_factory=lambda: {"status": "new"})

    def vector(self, settings: Settings) -> Json:
        return {
            "enabled": settings.store.vector.enabled,
            "available": self.vector_error is None,
            **_if("loadError", self.vector_error),
            **_if("extensionPath", settings.store.vector.extension_path),
            "dims": self.dims,
            "vectors": self.vectors,
            "storeAvailable": self.vector_error is None,
            "semanticAvailable": self.semantic_ready,
        }


def _read_index(
    backend: BuiltinBackend, settings: Settings, intakes: Sequence[Intake], scans: Mapping[Source, Scan]
) -> _Facts:
    failover = backend.failover(None)
    facts = _Facts(failover, _batch(failover, settings, None))
    try:
        with backend.readers.lease() as reader, reader.database.snapshot():
            _fill(facts, reader, backend, settings, intakes)
            facts.changed = changed_in(reader, intakes, scans, facts.paused)
    except StoreMissing:
        facts.changed = sum(len(scan.files) for scan in scans.values())
    except StoreError as error:
        facts.store_error = str(error)
    return facts


def _fill(
    facts: _Facts, reader: Reader, backend: BuiltinBackend, settings: Settings, intakes: Sequence[Intake]
) -> None:
    database = reader.database
    queue, errors = EmbeddingQueue(database), FileErrors(database)
    facts.counts = reader.documents.counts()
    facts.pending = queue.waiting()
    facts.refused = queue.refused()
    facts.failed = errors.errors()
    facts.skips = errors.skips()
    facts.warnings = reader.documents.warnings()
    facts.db_bytes = database.file_bytes()
    facts.cache_entries = EmbeddingCache(database).entries()
    facts.cache_use = EmbeddingCache(database).use()
    facts.vector_error = database.vector_error
    facts.failover = backend.failover(database)
    facts.batch = _batch(facts.failover, settings, database)
    facts.semantic_ready = facts.failover.for_queries(partial(has_vectors, database)) is not None
    embedder = facts.failover.embedder
    if embedder is not None and facts.pending:
        facts.trouble = recall_trouble(provider_texts(database), embedder.identity)
    wanted = index_identity(settings, intakes, embedder.identity if embedder is not None else None)
    stored = read_identity(database)
    difference = compare(stored, wanted)
    facts.identity = {
        "status": "matches" if difference is None else "differs",
        **_if("reason", difference),
        **_if("stored", str(stored.embedding) if stored is not None and stored.embedding is not None else None),
        **_if("wanted", str(wanted.embedding) if wanted.embedding is not None else None),
    }
    row = Identities(database).find(embedder.identity) if embedder is not None else Identities(database).active()
    if row is not None and row.state != "retired":
        facts.dims = row.identity.dims
        facts.vectors = Vectors(database, row).count()


def _batch(failover: Failover, settings: Settings, database: Database | None) -> Json:
    """The keys of `batch`: of the embedder in force, if its provider takes batches."""
    from core.embedding.batch import remembered_status
    from core.embedding.providers import batch_api

    embedder = failover.embedder
    identity = embedder.identity if embedder is not None and batch_api(embedder) is not None else None
    texts = provider_texts(database) if database is not None else None
    return remembered_status(settings.remote.batch, texts, identity, now=time.time())


def _trouble(facts: _Facts, backend: BuiltinBackend) -> Trouble | None:
    """Why no vectors are made although chunks wait: as this process's worker knows, or the one that writes wrote."""
    state = backend.worker.state
    if state.embedding_error is not None:
        return Trouble(state.embedding_error, state.embedding_remedy)
    return facts.trouble


def _provider_state(facts: _Facts, backend: BuiltinBackend) -> Json:
    selection, trouble = backend.selection, _trouble(facts, backend)
    reason, remedy = (trouble.error, trouble.remedy) if trouble is not None else (selection.reason, selection.remedy)
    if trouble is not None:
        state = "failing"
    elif facts.failover.embedder is None:
        state = "off" if selection.requested == "none" else "missing"
    else:
        state = "fallback" if facts.failover.fallback is not None else "ready"
    return {
        "providerState": state,
        **_if("providerUnavailableReason", reason),
        **_if("providerRemedy", remedy or None),
    }


def _judged(status: Status, facts: _Facts, backend: BuiltinBackend, troubles: Iterable[str]) -> Status:
    """Health: `down` when no store can be read, `degraded` while something is missing or failing, else `healthy`."""
    if facts.store_error is not None:
        return replace(status, health="down", reasons=(facts.store_error,))
    state, selection = backend.worker.state, backend.selection
    reasons = []
    fallback = facts.failover.fallback
    trouble = _trouble(facts, backend)
    if facts.failover.embedder is None:
        reasons.append(f"keyword search only: {selection.reason or 'the provider is none'}")
    elif fallback is not None:
        reasons.append(f"{status.provider} is used in place of {fallback['from']}: {fallback['reason']}")
    if trouble is not None:
        reasons.append("; ".join(part for part in (f"the provider fails: {trouble.error}", trouble.remedy) if part))
    if selection.standby_reason is not None:
        reasons.append(selection.standby_reason)
    if facts.vector_error is not None and status.vector["enabled"]:
        reasons.append(f"vec0 is missing, an exact scan answers: {facts.vector_error}")
    if state.read_only or (backend.store.exists() and not os.access(backend.store, os.W_OK)):
        reasons.append("the index cannot be written")
    if state.last_error is not None and state.alive and state.last_report is None:
        reasons.append(state.last_error)
    if facts.identity["status"] == "differs":
        reasons.append(str(facts.identity["reason"]))
    if status.failed:
        reasons.append(f"{len(status.failed)} file(s) could not be indexed")
    if facts.skips:
        reasons.append(f"{len(facts.skips)} file(s) are no text")
    if facts.warnings:
        reasons.append(f"{len(facts.warnings)} file(s) could be read only in part")
    if facts.refused:
        reasons.append(f"{len(facts.refused)} chunk(s) got no vector")
    reasons.extend(str(problem) for problem in _problems(status))
    reasons.extend(facts.paused)
    if status.watcher["mode"] == "polling":
        reasons.append(f"files are polled: {status.watcher['reason']}")
    reasons.extend(troubles)
    health: HealthState = "degraded" if reasons else "healthy"
    return replace(status, health=health, reasons=tuple(reasons))


def _problems(status: Status) -> Iterable[object]:
    problems = status.custom["scanProblems"]
    return problems if isinstance(problems, list) else ()


def _ignored(scans: Iterable[Scan]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for scan in scans:
        total.update(scan.ignored)
    return dict(total)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 3)


def _if(key: str, value: object) -> Json:
    return {} if value is None else {key: value}
