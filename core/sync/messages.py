"""What the indexing worker is asked and told: small typed messages on one queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import field
from typing import TYPE_CHECKING

from core.embedding.base import Vector
from core.errors import EmbeddingError, KeywordsDamaged
from core.records import record
from core.types import EmbeddingIdentity, Progress, SyncReason, SyncReport

if TYPE_CHECKING:
    from core.embedding.batch import BatchNews

ProgressListener = Callable[[Progress], None]


@record(slots=True, eq=False)
class Ticket:
    """One caller's interest in a sync: where the report goes, how to tell progress, how to give up.

    A sync ends early only when every ticket on it is cancelled. With `vectors`, the report comes when no chunk
    waits for a vector any more (or the provider has failed); without, when the keyword rows are committed.
    """

    vectors: bool = False
    on_progress: ProgressListener | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    done: Future[SyncReport] = field(default_factory=Future)


@record(frozen=True, slots=True)
class SyncRequested:
    """Bring everything in step, or only `paths` (absolute) when given.

    `forget` and `remember` name documents that leave the index for good, or may come back.
    """

    reason: SyncReason
    force: bool = False
    paths: tuple[str, ...] | None = None
    ticket: Ticket | None = None
    forget: tuple[str, ...] = ()
    remember: tuple[str, ...] = ()

    @property
    def is_targeted(self) -> bool:
        """Whether it is about named documents only."""
        return self.paths is not None or bool(self.forget) or bool(self.remember)


@record(frozen=True, slots=True)
class VectorsReady:
    """A request came back: a vector or an error for each embed hash, or the failure of the whole request.

    `sender` is the pool that made it: one whose embedder is no longer in force is not listened to.
    """

    hashes: tuple[bytes, ...]
    outcomes: tuple[Vector | EmbeddingError, ...] = ()
    failure: EmbeddingError | None = None
    seconds: float = 0.0
    sender: object = field(default=None, repr=False, compare=False)


@record(frozen=True, slots=True)
class BatchHeard:
    """Something happened to a batch of the feed `sender`."""

    news: BatchNews
    sender: object = field(default=None, repr=False, compare=False)


@record(frozen=True, slots=True)
class QueryFailed:
    """A query could not be embedded by the embedder with this identity."""

    identity: EmbeddingIdentity
    error: EmbeddingError


@record(frozen=True, slots=True, eq=False)
class MendRequested:
    """Set right what of the index is out of step; `done` gets what was done, in words."""

    done: Future[tuple[str, ...]] = field(default_factory=Future)


@record(frozen=True, slots=True)
class KeywordsFailed:
    """A search found the keyword tables damaged; they are to be made anew."""

    error: KeywordsDamaged


@record(frozen=True, slots=True)
class StopRequested:
    """End the worker after the transaction in hand."""


Message = SyncRequested | VectorsReady | BatchHeard | QueryFailed | KeywordsFailed | MendRequested | StopRequested
