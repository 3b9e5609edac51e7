"""Sync reports: from a finished job, with vectors added, and as JSON between processes."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import get_args

from core.sync.keyword_job import KeywordJob
from core.sync.messages import SyncRequested, Ticket
from core.types import SyncReason, SyncReport


def report_from(job: KeywordJob, *, waiting: int, cancelled: bool) -> SyncReport:
    """The report of a job that has ended."""
    counts = job.counts
    return SyncReport(
        job.reason,
        scanned=counts.scanned,
        indexed=counts.indexed,
        unchanged=counts.unchanged,
        removed=counts.removed,
        sources_gone=counts.sources_gone,
        failed=counts.failed,
        skipped=counts.skipped,
        chunks_added=counts.chunks_added,
        chunks_removed=counts.chunks_removed,
        vectors_cached=counts.vectors_cached,
        vectors_waiting=waiting,
        cancelled=cancelled,
        warning="; ".join(job.warnings) or None,
        seconds=dict(counts.seconds),
    )


def with_vectors(
    report: SyncReport, *, made: int, waiting: int, seconds: float, cancelled: bool, warning: str | None
) -> SyncReport:
    """The same report after the wait for vectors; `seconds` is the time of that wait."""
    return replace(
        with_warning(report, warning),
        vectors_made=made,
        vectors_waiting=waiting,
        cancelled=report.cancelled or cancelled,
        seconds={**report.seconds, "embed": seconds},
    )


def with_warning(report: SyncReport, warning: str | None) -> SyncReport:
    """The same report with a warning more, if there is one."""
    return replace(report, warning="; ".join(part for part in (report.warning, warning) if part) or None)


def to_outcome(report: SyncReport) -> str:
    """JSON for the requests table."""
    return json.dumps(asdict(report))


def from_outcome(outcome: str) -> SyncReport:
    """The reverse of `to_outcome`; fields of another version are dropped."""
    values = json.loads(outcome)
    known = {name: values[name] for name in SyncReport.__dataclass_fields__ if name in values}
    return SyncReport(**known)


def to_payload(request: SyncRequested) -> str:
    """A sync request as JSON for the requests table."""
    return json.dumps(
        {
            "reason": request.reason,
            "force": request.force,
            "paths": request.paths,
            "forget": request.forget,
            "remember": request.remember,
            "vectors": request.ticket is not None and request.ticket.vectors,
        }
    )


def from_payload(payload: str) -> SyncRequested:
    """The reverse of `to_payload`, with a ticket of its own; an unknown reason counts as manual."""
    values = json.loads(payload)
    reason: SyncReason = values.get("reason") if values.get("reason") in get_args(SyncReason) else "manual"
    paths = values.get("paths")
    return SyncRequested(
        reason,
        bool(values.get("force")),
        tuple(paths) if paths is not None else None,
        Ticket(vectors=bool(values.get("vectors"))),
        forget=tuple(values.get("forget") or ()),
        remember=tuple(values.get("remember") or ()),
    )
