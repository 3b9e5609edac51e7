"""What `doctor` looks at, part by part, with a remedy for each finding."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.backends.builtin import BuiltinBackend
from core.backends.changes import changed_files
from core.errors import MemdeckError, StoreBusy, StoreError, StoreMissing
from core.health import KEPT, REBUILT, TRIED_AGAIN, UTF8, VEC0, WRITE_PERMISSION
from core.probing import OK, in_force, probe
from core.settings import LoadedSettings
from core.store.check import check, repair
from core.store.database import Database
from core.store.file_errors import FileErrors
from core.store.place import file_bytes
from core.store.writer_lock import WriterLock
from core.sync.intake import Intake
from core.text.words import counted, skip_words
from core.types import Finding

LOOK = "the log has more, where MEMDECK_LOG=debug is set; then run this again"


def examine(
    backend: BuiltinBackend,
    loaded: LoadedSettings,
    *,
    workspace: Path,
    intakes: Sequence[Intake],
    mend: bool = False,
) -> tuple[Finding, ...]:
    """Check settings, workspace, index and provider; one finding each, at least. Never raises.

    With `mend` keyword and vector rows out of step are set right, if no other process writes.
    """
    parts: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: _settings(loaded),
        lambda: _workspace(workspace, intakes),
        lambda: _index(backend, mend=mend),
        lambda: _provider(backend),
        lambda: _freshness(backend, intakes),
        backend.findings,
    )
    findings: list[Finding] = []
    for part in parts:
        try:
            findings.extend(part())
        except MemdeckError as error:
            findings.append(Finding("memdeck", False, str(error), error.remedy or LOOK))
        except OSError as error:
            findings.append(Finding("file system", False, str(error), "see that it can be read, then run this again"))
    return tuple(findings)


def _settings(loaded: LoadedSettings) -> Iterator[Finding]:
    files = ", ".join(str(file) for file in loaded.files)
    yield Finding("settings", True, f"read from {files}" if files else "defaults only: there is no settings file")
    for warning in loaded.warnings:
        yield Finding("settings", False, warning, "see `memdeck config`")


def _workspace(workspace: Path, intakes: Sequence[Intake]) -> Iterator[Finding]:
    for intake in intakes:
        scan = intake.scan()
        yield Finding(
            f"files: {intake.source}", bool(scan.files), f"{len(scan.files)} in {workspace}", _if_empty(scan.files)
        )
        for problem in scan.problems:
            yield Finding(f"files: {intake.source}", False, problem, KEPT)
        for skip in scan.skipped:
            yield Finding("skipped", True, f"{skip.path}: {skip_words(skip)}")
        if scan.ignored:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(scan.ignored.items()))
            yield Finding("ignored folders", True, names)


def _if_empty(files: Sequence[object]) -> str:
    return "" if files else "write MEMORY.md or memory/*.md, or name another folder with --workspace"


def _index(backend: BuiltinBackend, *, mend: bool) -> Iterator[Finding]:
    try:
        with backend.readers.lease() as reader:
            yield Finding("index", True, f"{backend.store} ({file_bytes(backend.store):,} bytes)")
            vector_error = reader.database.vector_error
            yield Finding(
                "vec0",
                vector_error is None,
                vector_error or "loaded",
                "" if vector_error is None else VEC0,
            )
            for failure in FileErrors(reader.database).errors():
                yield Finding("failed file", False, f"{failure.path}: {failure.error}", TRIED_AGAIN)
            for skip in FileErrors(reader.database).skips():
                yield Finding("not text", False, f"{skip.path}: {skip_words(skip)}", UTF8)
            checked = check(reader.database)
    except StoreMissing as error:
        yield Finding("index", False, str(error), "run `memdeck index`")
        return
    except StoreError as error:
        yield Finding("index", False, str(error), error.remedy or REBUILT)
        return
    if mend and any(not finding.ok for finding in checked):
        try:
            for done in _mend(backend):
                yield Finding("repair", True, done)
        except StoreBusy as error:
            yield Finding("repair", False, str(error), error.remedy)
        with backend.readers.lease() as reader:
            checked = check(reader.database)
    yield from checked
    if not os.access(backend.store, os.W_OK):
        yield Finding(
            "index",
            False,
            f"{backend.store} cannot be written by this user",
            WRITE_PERMISSION,
        )


def _mend(backend: BuiltinBackend) -> tuple[str, ...]:
    """Repair as the writer: through the worker of this process where one runs. Raises StoreError, SyncCancelled."""
    if backend.is_running:
        return backend.mend()
    lock = WriterLock(backend.store)
    if not lock.acquire():
        raise StoreBusy(f"process {lock.owner()} writes the index", remedy="close it, then run this again")
    try:
        with Database.open(backend.store) as database:
            return repair(database)
    finally:
        lock.release()


def _provider(backend: BuiltinBackend) -> Iterator[Finding]:
    selection, failover = backend.selection, in_force(backend)
    embedder, fallback = failover.embedder, failover.fallback
    if fallback is not None:
        replaced = f"{fallback['from']} is replaced by its fallback: {fallback['reason']}"
        yield Finding("provider", False, replaced, selection.remedy or "it is asked again by itself")
    if selection.standby_reason is not None:
        yield Finding("fallback", False, selection.standby_reason, "choose another fallback")
    if embedder is None:
        chosen = selection.requested == "none"
        reason = selection.reason or "none: keyword search only"
        yield Finding("provider", chosen, reason, selection.remedy or "set provider in memdeck's config.toml")
        return
    answers = probe(backend)
    name = f"{embedder.identity.provider}/{embedder.identity.model}"
    yield Finding("provider", not answers.failing, f"{name}: {answers.embedder}", answers.remedy)
    remedy = answers.vectors_remedy or "they follow when the provider answers"
    yield Finding("vectors", answers.vectors == OK, answers.vectors, remedy)


def _freshness(backend: BuiltinBackend, intakes: Sequence[Intake]) -> Iterator[Finding]:
    changed = changed_files(backend.readers, intakes)
    yield Finding(
        "freshness",
        changed == 0,
        "the index is in step with the files"
        if changed == 0
        else f"{counted(changed, 'file differs', 'files differ')} from the index",
        "" if changed == 0 else "run `memdeck index`",
    )
