"""What happened, as dataclasses in the past tense; the bus carries them to whoever subscribed."""

from __future__ import annotations

from core.bus import Event as Event
from core.bus import EventBus as EventBus
from core.records import record
from core.types import Progress, Source, SyncReason, SyncReport


@record(frozen=True, slots=True, kw_only=True)
class SyncStarted(Event):
    reason: SyncReason


@record(frozen=True, slots=True, kw_only=True)
class SyncProgressed(Event):
    progress: Progress


@record(frozen=True, slots=True, kw_only=True)
class SyncFinished(Event):
    report: SyncReport


@record(frozen=True, slots=True, kw_only=True)
class FileIndexed(Event):
    """A document's keyword rows are committed. `milliseconds` is read + chunk + write."""

    source: Source
    path: str
    chunks: int
    chunks_new: int
    chunks_same: int
    chunks_gone: int
    milliseconds: float


@record(frozen=True, slots=True, kw_only=True)
class FileRemoved(Event):
    source: Source
    path: str


@record(frozen=True, slots=True, kw_only=True)
class SourceGone(Event):
    """A transcript is gone; what the index has of it stays, marked."""

    source: Source
    path: str


@record(frozen=True, slots=True, kw_only=True)
class FileRenamed(Event):
    source: Source
    old_path: str
    path: str


@record(frozen=True, slots=True, kw_only=True)
class FileSkipped(Event):
    path: str
    kind: str
    detail: str


@record(frozen=True, slots=True, kw_only=True)
class FileFailed(Event):
    source: Source
    path: str
    error: str
    attempts: int


@record(frozen=True, slots=True, kw_only=True)
class EmbeddingProgressed(Event):
    """Vectors were written. `waiting` counts chunks still without one."""

    written: int
    waiting: int
    progress: Progress


@record(frozen=True, slots=True, kw_only=True)
class EmbeddingFailed(Event):
    """A batch or a chunk could not be embedded; keyword search is not affected."""

    error: str
    chunks: int
    retry_in_seconds: float | None = None


@record(frozen=True, slots=True, kw_only=True)
class EmbeddingFinished(Event):
    vectors: int
    seconds: float


@record(frozen=True, slots=True, kw_only=True)
class IdentityChanged(Event):
    """The index was built with something else; `reason` names the first difference."""

    reason: str
    redone: bool


@record(frozen=True, slots=True, kw_only=True)
class EventsBatched(Event):
    """A burst of file events became few syncs."""

    events: int
    paths: int


@record(frozen=True, slots=True, kw_only=True)
class WatchStarted(Event):
    mode: str
    reason: str = ""


@record(frozen=True, slots=True, kw_only=True)
class WatchLost(Event):
    reason: str


@record(frozen=True, slots=True, kw_only=True)
class WriterChanged(Event):
    """Which process writes the index; `own` tells whether it is this one."""

    pid: int | None
    own: bool


@record(frozen=True, slots=True, kw_only=True)
class StoreRecovered(Event):
    """The index file was reopened, repaired or rebuilt; `action` says which."""

    action: str
    detail: str = ""


@record(frozen=True, slots=True, kw_only=True)
class WorkerFailed(Event):
    """The indexing worker met an error that belongs to no file; it was restarted unless `fatal`."""

    error: str
    fatal: bool = False
