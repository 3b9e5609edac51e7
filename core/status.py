"""The state of a memory and its health."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from core.backends.builtin import BuiltinBackend
from core.health import judge
from core.index_facts import Facts, Json, if_set, read_index, trouble_of
from core.probing import probe
from core.settings.model import Settings
from core.store.writer_lock import WriterLock
from core.sync.intake import Intake
from core.sync.watching import WatchState
from core.types import Scan, Status


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
    facts = read_index(backend, settings, intakes, scans)
    probes = probe(backend) if deep else None
    no_keywords = facts.store_error or facts.keyword_error
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
            **if_set("lastError", recovery.last_error),
        },
        "changedFiles": facts.changed,
        "refusedChunks": [asdict(chunk) for chunk in facts.refused],
        "warnings": [{"path": path, "warning": words} for path, words in facts.warnings],
        "scanProblems": [problem for scan in scans.values() for problem in scan.problems],
        "ignoredFolders": [folder for scan in scans.values() for folder in scan.ignored_folders],
        **({"probes": probes.json()} if probes is not None else {}),
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
        fts={"enabled": True, "available": no_keywords is None, **if_set("error", no_keywords)},
        cache={
            "enabled": settings.cache.enabled,
            "entries": facts.cache_entries,
            "maxEntries": settings.cache.max_entries,
            "hits": facts.cache_use.hits,
            "misses": facts.cache_use.misses,
            **if_set("hitRate", _rounded(facts.cache_use.hit_rate)),
        },
        batch=facts.batch,
        fallback=(standing.fallback if standing is not None else None) or facts.failover.fallback,
        custom=custom,
        watcher={"mode": watch.mode, "reason": watch.reason, "folders": watch.folders},
        writer={"pid": WriterLock(backend.store).owner(), "own": state.is_writer},
        failed=facts.failed,
        skipped=(*facts.skips, *(skip for scan in scans.values() for skip in scan.skipped), *facts.forgotten),
        ignored=_ignored(scans.values()),
    )
    return judge(status, facts, backend, standing.reasons if standing is not None else (), probes)


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
        "health": {
            "state": status.health,
            "reasons": list(status.reasons),
            "remedies": [finding.remedy for finding in status.findings],
        },
    }
    if status.fallback is not None:
        answer["fallback"] = dict(status.fallback)
    return answer


def _provider_state(facts: Facts, backend: BuiltinBackend) -> Json:
    selection, trouble = backend.selection, trouble_of(facts, backend)
    reason, remedy = (trouble.error, trouble.remedy) if trouble is not None else (selection.reason, selection.remedy)
    if trouble is not None:
        state = "failing"
    elif facts.failover.embedder is None:
        state = "off" if selection.requested == "none" else "missing"
    else:
        state = "fallback" if facts.failover.fallback is not None else "ready"
    return {
        "providerState": state,
        **if_set("providerUnavailableReason", reason),
        **if_set("providerRemedy", remedy or None),
    }


def _ignored(scans: Iterable[Scan]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for scan in scans:
        total.update(scan.ignored)
    return dict(total)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 3)
