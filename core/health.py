"""How well a memory is, why, and what to do about it: the words that status, doctor and the app share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.backends.builtin import BuiltinBackend
from core.index_facts import Facts, trouble_of
from core.probing import Probes
from core.text.words import counted
from core.types import Finding, HealthState, Status

KEPT = "what was indexed of it is kept until it is back"
WRITE_PERMISSION = "searches go on; give it back write permission"
VEC0 = "an exact scan answers; reinstall sqlite-vec to speed it up"
UTF8 = "save it as UTF-8"
REBUILT = "run `memdeck index`: it is rebuilt from the files"
TRIED_AGAIN = "it is tried again at each sync"


def judge(
    status: Status, facts: Facts, backend: BuiltinBackend, troubles: Iterable[str], probes: Probes | None = None
) -> Status:
    """The status with its health, which `probes` may worsen.

    `down` when no store can be read or the keyword index fails, `degraded` while something is missing or failing.
    `findings` has each reason with its remedy, `reasons` the same in words alone.
    """
    health: HealthState
    findings: tuple[Finding, ...]
    broken = facts.store_error or facts.keyword_error
    if broken is not None:
        health = "down"
        findings = (Finding("index", False, broken, facts.store_remedy or REBUILT),)
    else:
        findings = (*_findings(status, facts, backend, troubles), *_of_probes(facts, backend, probes))
        health = "degraded" if findings else "healthy"
    reasons = tuple(finding.detail for finding in findings)
    return replace(status, health=health, reasons=reasons, findings=findings)


def _findings(status: Status, facts: Facts, backend: BuiltinBackend, troubles: Iterable[str]) -> Iterator[Finding]:
    yield from _of_provider(status, facts, backend)
    yield from _of_index(status, facts, backend)
    yield from _of_files(status, facts)
    for trouble in troubles:
        yield Finding("qmd", False, trouble, "the built-in index answers; `memdeck doctor` tells more")


def _of_provider(status: Status, facts: Facts, backend: BuiltinBackend) -> Iterator[Finding]:
    selection, fallback, trouble = backend.selection, facts.failover.fallback, trouble_of(facts, backend)
    if facts.failover.embedder is None:
        reason = f"keyword search only: {selection.reason or 'the provider is none'}"
        yield Finding("provider", False, reason, selection.remedy or "set provider in memdeck's config.toml")
    elif fallback is not None:
        replaced = f"{status.provider} is used in place of {fallback['from']}: {fallback['reason']}"
        yield Finding("provider", False, replaced, selection.remedy or "it is asked again by itself")
    if trouble is not None:
        words = "; ".join(part for part in (f"the provider fails: {trouble.error}", trouble.remedy) if part)
        yield Finding("provider", False, words, "" if trouble.remedy else "words are searched; it is tried again")
    if selection.standby_reason is not None:
        yield Finding("fallback", False, selection.standby_reason, "choose another fallback")


def _of_probes(facts: Facts, backend: BuiltinBackend, probes: Probes | None) -> Iterator[Finding]:
    if probes is None:
        return
    if probes.failing and trouble_of(facts, backend) is None:
        yield Finding("provider", False, f"the provider fails: {probes.embedder}", probes.remedy)
    if probes.vectors_remedy and facts.vectors:
        yield Finding("vectors", False, f"the vectors cannot be searched: {probes.vectors}", probes.vectors_remedy)


def _of_index(status: Status, facts: Facts, backend: BuiltinBackend) -> Iterator[Finding]:
    state = backend.worker.state
    if facts.vector_error is not None and status.vector["enabled"]:
        yield Finding("vec0", False, f"vec0 is missing, an exact scan answers: {facts.vector_error}", VEC0)
    if state.read_only or (backend.store.exists() and not os.access(backend.store, os.W_OK)):
        yield Finding("index", False, "the index cannot be written", WRITE_PERMISSION)
    if state.last_error is not None and state.alive and state.last_report is None:
        yield Finding("index", False, state.last_error, "`memdeck doctor` looks at each part")
    if facts.identity["status"] == "differs":
        yield Finding("identity", False, str(facts.identity["reason"]), _redone_by(status))
    if facts.refused:
        refused = f"{counted(len(facts.refused), 'chunk')} got no vector"
        yield Finding("vectors", False, refused, "found by words; `memdeck index --force` asks for them again")


def _redone_by(status: Status) -> str:
    pid = status.writer["pid"]
    if pid is None or status.writer["own"]:
        return "a sync redoes the documents, one by one"
    return f"process {pid} writes the index and goes by settings of its own: end it, or give both the same"


def _of_files(status: Status, facts: Facts) -> Iterator[Finding]:
    if status.failed:
        yield Finding("files", False, f"{counted(len(status.failed), 'file')} could not be indexed", TRIED_AGAIN)
    if facts.skips:
        number = len(facts.skips)
        yield Finding("files", False, f"{counted(number, 'file is', 'files are')} no text", UTF8)
    # Transcripts with records that nobody knows are told of, but are no lack.
    partial = [path for path, _ in facts.warnings if not path.startswith("sessions/")]
    if partial:
        partly = f"{counted(len(partial), 'file')} could be read only in part"
        yield Finding("files", False, partly, "what is no text shows as U+FFFD; save it as UTF-8")
    problems = status.custom["scanProblems"]
    for problem in problems if isinstance(problems, list) else ():
        yield Finding("files", False, str(problem), KEPT)
    for words in facts.paused:
        yield Finding("files", False, words, "they stay searchable")
    if status.watcher["mode"] == "polling":
        slower = "changes are found, only later; files on this machine's own disk need no polling"
        yield Finding("watcher", False, f"files are polled: {status.watcher['reason']}", slower)
