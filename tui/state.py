"""What the app knows of its memory at a moment, and how events change it."""

from __future__ import annotations

from dataclasses import field, replace

from core import Progress, Status, events, record
from tui.pace import Pace
from tui.text import counted


@record(frozen=True, slots=True)
class DeckState:
    """A snapshot that every screen draws from.

    `revision` grows with each change of what searches can find; `waiting` counts chunks without a vector; `alarm` is
    one line that stays until the cause is gone.
    """

    status: Status | None = None
    watching: str = ""
    syncing: bool = False
    sync_progress: Progress | None = None
    embedding: Progress | None = None
    waiting: int = 0
    revision: int = 0
    alarm: str = ""
    own_writer: bool = True
    synced: events.SyncFinished | None = None
    pace: Pace = field(default_factory=Pace)

    @property
    def busy(self) -> bool:
        return self.syncing or self.embedding is not None

    @property
    def banner(self) -> str:
        """One line about what is not as it should be, "" when all is well."""
        status = self.status
        if self.alarm or status is None:
            return self.alarm
        if status.health == "down":
            return "; ".join(status.reasons)
        if status.requested_provider == "none" or status.vector.get("semanticAvailable", True):
            return ""
        reason = status.custom.get("providerUnavailableReason") or status.vector.get("loadError")
        return f"words only: {reason}" if reason else ""

    def with_status(self, status: Status) -> DeckState:
        watching = str(status.watcher.get("mode") or self.watching)
        own = bool(status.writer.get("own")) if status.writer.get("pid") is not None else self.own_writer
        return replace(self, status=status, waiting=status.pending, watching=watching, own_writer=own)

    def after(self, event: events.Event) -> DeckState:
        """The state once `event` happened."""
        match event:
            case events.SyncStarted():
                return replace(self, syncing=True, sync_progress=None)
            case events.SyncProgressed(progress=progress):
                return replace(self, sync_progress=progress)
            case events.SyncFinished(report=report):
                grown = bool(report.indexed or report.removed or report.vectors_made or report.vectors_cached)
                revision = self.revision + int(grown)
                return replace(self, syncing=False, sync_progress=None, revision=revision, alarm="", synced=event)
            case events.FileIndexed(chunks_new=new, chunks_gone=gone):
                status = None if self.status is None else replace(self.status, chunks=self.status.chunks + new - gone)
                return replace(self, status=status, revision=self.revision + 1, pace=self.pace.after(event))
            case events.FileRemoved() | events.FileRenamed() | events.SourceGone():
                return replace(self, revision=self.revision + 1)
            case events.EmbeddingProgressed(waiting=waiting, progress=progress):
                embedding = progress if waiting else None
                return replace(self, waiting=waiting, embedding=embedding, pace=self.pace.after(event))
            case events.EmbeddingFinished():
                return replace(self, waiting=0, embedding=None, revision=self.revision + 1)
            case events.EmbeddingFailed(error=error):
                return replace(self, embedding=None, alarm=f"no vectors for now: {error}")
            case events.WatchStarted(mode=mode):
                return replace(self, watching=mode)
            case events.WatchLost(reason=reason):
                return replace(self, watching="lost", alarm=f"not watching the files: {reason}")
            case events.WriterChanged(own=own):
                return replace(self, own_writer=own)
            case events.WorkerFailed(error=error, fatal=True):
                return replace(self, syncing=False, alarm=f"indexing stopped: {error}")
        return self


def summary(state: DeckState, *, roomy: bool) -> list[tuple[str, str]]:
    """The right end of the top line: (text, style) of whether it is live, what it does, and how much there is."""
    status, parts = state.status, []
    if state.syncing and state.sync_progress is not None and state.sync_progress.total:
        progress = state.sync_progress
        parts.append((f"● indexing {progress.completed:,}/{progress.total:,}", "$accent"))
    elif state.syncing:
        parts.append(("● checking", "$accent"))
    elif status is None:
        parts.append(("○ opening", "$text-muted"))
    elif state.watching in ("", "off", "none", "stopped", "lost"):
        parts.append(("○ not watching", "$warning" if state.watching == "lost" else "$text-muted"))
    elif "poll" in state.watching:
        parts.append(("● polling", "$success"))
    else:
        parts.append(("● live" if state.own_writer else "● follows", "$success"))
    if status is not None and roomy:
        parts.append((counted(status.files, "file"), "$text-muted"))
    if status is not None and (roomy or not state.syncing):
        parts.append((counted(status.chunks, "chunk"), "$text-muted"))
    if state.waiting:
        parts.append((f"{state.waiting:,} waiting" + (_time_left(state.embedding) if roomy else ""), "$accent"))
    elif roomy and status is not None:
        parts.append(("vectors on" if status.provider not in ("", "none") else "words only", "$text-muted"))
    return parts


def _time_left(progress: Progress | None) -> str:
    if progress is None or progress.seconds_left is None:
        return " for vectors"
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f" for vectors, {minutes}:{seconds:02d} left"
