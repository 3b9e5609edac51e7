"""What every backend can do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from core.records import record
from core.types import SearchRequest, SearchResult, SyncReason, SyncReport

if TYPE_CHECKING:
    from core.sync.messages import ProgressListener

PartialListener = Callable[[SearchResult], None]


@record(frozen=True, slots=True)
class Standing:
    """How a backend before the built-in one stands: who answers, `{from, reason}` of a fallback, facts, troubles."""

    backend: str
    fallback: Mapping[str, str] | None
    facts: Mapping[str, object]
    reasons: tuple[str, ...]


class MemoryBackend(Protocol):
    """Answers searches and keeps itself in step with the files. Calls block; they may come from any thread."""

    @property
    def name(self) -> str: ...

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Raises SearchCancelled, StoreError, BackendError."""
        ...

    def sync(
        self,
        reason: SyncReason,
        *,
        force: bool = False,
        vectors: bool = True,
        paths: tuple[str, ...] | None = None,
        on_progress: ProgressListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SyncReport:
        """Raises StoreError; errors of single files stand in the report."""
        ...

    def close(self) -> None: ...
