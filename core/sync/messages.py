"""What the indexing worker is asked and told: small typed messages on one queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from core.embedding.base import Vector
from core.errors import EmbeddingError
from core.types import Progress, SyncReason, SyncReport

ProgressListener = Callable[[Progress], None]


@dataclass(slots=True, eq=False)
class Ticket:
    """One caller's interest in a sync: where the report goes, how to tell progress, how to give up.

    A sync ends early only when every ticket on it is cancelled. With `vectors`, the report comes when no chunk
    waits for a vector any more (or the provider has failed); without, when the keyword rows are committed.
    """

    vectors: bool = False
    on_progress: ProgressListener | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    done: Future[SyncReport] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class SyncRequested:
    """Bring everything in step, or only `paths` (absolute) when given."""

    reason: SyncReason
    force: bool = False
    paths: tuple[str, ...] | None = None
    ticket: Ticket | None = None


@dataclass(frozen=True, slots=True)
class VectorsReady:
    """A batch came back: a vector or an error for each embed hash, or the failure of the whole request."""

    hashes: tuple[bytes, ...]
    outcomes: tuple[Vector | EmbeddingError, ...] = ()
    failure: EmbeddingError | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EmbeddingWanted:
    """Look at the embedding queue again (a retry time has come, or the provider changed)."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """End the worker after the transaction in hand."""


Message = SyncRequested | VectorsReady | EmbeddingWanted | StopRequested
