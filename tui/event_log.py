"""How an event reads: one line with fixed verbs, for the status screen and for `memdeck watch`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

from core import counted, events, record

LogLevel = Literal["info", "warning", "error"]


@record(frozen=True, slots=True)
class LogLine:
    """One row of the log: when (epoch ms), a fixed verb, what, and an amount or reason.

    `path` is the document that it is about, "" for none.
    """

    at_ms: int
    verb: str
    subject: str
    detail: str = ""
    level: LogLevel = "info"
    path: str = ""

    @property
    def clock(self) -> str:
        return time.strftime("%H:%M:%S", time.localtime(self.at_ms / 1000))


def log_line(event: events.Event) -> LogLine | None:
    """How an event reads in the log; None for those that only move a number."""
    line = _words(event)
    if line is None:
        return None
    about = (events.FileIndexed, events.SourceGone, events.FileRenamed, events.FileSkipped, events.FileFailed)
    path = event.path if isinstance(event, about) else ""
    return replace(line, level=_level(event), path=path)


def _level(event: events.Event) -> LogLevel:
    match event:
        case events.FileFailed() | events.EmbeddingFailed() | events.WatchLost() | events.WorkerFailed():
            return "error"
        case events.FileSkipped() | events.SourceGone() | events.IdentityChanged() | events.StoreRecovered():
            return "warning"
        case events.SyncFinished(report=report) if report.failed or report.warning:
            return "warning"
        case events.WatchStarted(mode=mode) if "poll" in mode:
            return "warning"
    return "info"


def _words(event: events.Event) -> LogLine | None:
    at = event.at_ms
    match event:
        case events.FileIndexed():
            changed = counted(event.chunks, "chunk") + (f", {event.chunks_same} same" if event.chunks_same else "")
            return LogLine(at, "indexed", event.path, f"{changed} · {event.milliseconds:.0f} ms")
        case events.FileRemoved():
            return LogLine(at, "removed", event.path)
        case events.SourceGone():
            return LogLine(at, "kept", event.path, "its source is gone")
        case events.FileRenamed():
            return LogLine(at, "renamed", f"{event.old_path} → {event.path}")
        case events.FileSkipped():
            return LogLine(at, "skipped", event.path, event.detail or event.kind)
        case events.FileFailed():
            return LogLine(at, "FAILED", event.path, event.error)
        case events.EventsBatched():
            return LogLine(at, "batched", f"{counted(event.events, 'event')} → {counted(event.paths, 'path')}")
        case events.SyncFinished(report=report):
            seconds = sum(report.seconds.values())
            amounts = (("indexed", report.indexed), ("removed", report.removed), ("FAILED", report.failed))
            counts = ", ".join(f"{number} {name}" for name, number in amounts if number) or "nothing changed"
            warning = f" · {report.warning}" if report.warning else ""
            return LogLine(at, "sync", report.reason, f"{counts} · {seconds:.2f} s{warning}")
        case events.EmbeddingFinished():
            return LogLine(at, "vectors", f"{event.vectors:,} made", f"{event.seconds:.1f} s")
        case events.EmbeddingFailed():
            again = "" if event.retry_in_seconds is None else f"; again in {event.retry_in_seconds:.0f} s"
            return LogLine(at, "FAILED", "vectors", f"{counted(event.chunks, 'chunk')}: {event.error}{again}")
        case events.IdentityChanged():
            return LogLine(at, "index", event.reason, "redone" if event.redone else "not redone here")
        case events.WatchStarted():
            return LogLine(at, "watch", event.mode, event.reason)
        case events.WatchLost():
            return LogLine(at, "watch", "LOST", event.reason)
        case events.WriterChanged():
            return LogLine(at, "index", "written by this process" if event.own else f"written by pid {event.pid}")
        case events.StoreRecovered():
            return LogLine(at, "index", event.action, event.detail)
        case events.WorkerFailed():
            return LogLine(at, "FAILED", "indexing worker", event.error)
    return None
