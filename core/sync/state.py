"""What the worker is doing, as one frozen value that status and screens read without a lock."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from core.records import record
from core.settings.model import Batch
from core.types import Progress, Scan, Source, SyncReport


@record(frozen=True, slots=True)
class WorkerOptions:
    """What the worker is built from: `concurrency` embedding requests at once (None: the embedder's own number),
    `cache_entries` vectors kept unused, `batch` where the provider's batches are wanted.

    `interval_seconds` between syncs by the clock; 0 is off. `resident` is True in a process that lives long.
    """

    store: Path
    vector_extension: bool = True
    extension_path: str | None = None
    concurrency: int | None = None
    cache_entries: int = 50_000
    interval_seconds: float = 0.0
    batch: Batch | None = None
    resident: bool = False


@record(frozen=True, slots=True)
class RecoveryCounters:
    """How often a read-only index was reopened, and what came of it."""

    attempts: int = 0
    successes: int = 0
    failures: int = 0
    last_error: str | None = None


@record(frozen=True, slots=True)
class WorkerState:
    """A snapshot. `dirty`: files may have changed since the last sync that covered them all.

    `embedding_remedy` says what the user can do about `embedding_error`, "" where waiting is enough.
    """

    alive: bool = False
    busy: bool = False
    dirty: bool = True
    progress: Progress | None = None
    waiting: int = 0
    embedding_error: str | None = None
    embedding_remedy: str = ""
    last_report: SyncReport | None = None
    last_error: str | None = None
    owner_pid: int | None = None
    is_writer: bool = False
    read_only: bool = False
    recovery: RecoveryCounters = field(default_factory=RecoveryCounters)
    scans: tuple[tuple[Source, Scan], ...] = ()
