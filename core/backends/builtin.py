"""The built-in backend: our own index, searched on read-only connections while one worker writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path

from core.backends.base import PartialListener
from core.backends.query_vectors import QueryVectors
from core.backends.readers import Reader, ReaderPool
from core.embedding.base import Vector
from core.embedding.select import Selection
from core.errors import EmbeddingError, SearchCancelled, StoreMissing, SyncCancelled
from core.events import EventBus
from core.search.query import parse_query
from core.settings.model import Settings
from core.store.embedding_cache import EmbeddingCache
from core.store.identity import Identities
from core.sync.identity import index_identity
from core.sync.intake import Intake
from core.sync.messages import ProgressListener, Ticket
from core.sync.state import WorkerOptions
from core.sync.worker import IndexWorker
from core.types import SearchRequest, SearchResult, SyncReason, SyncReport

WAIT_SECONDS = 0.02


class BuiltinBackend:
    """One index file: a worker that writes it, readers that search it, a thread that embeds queries.

    `resident` is True in processes that live long (the app, servers): they keep the vectors in memory.
    """

    name = "builtin"

    def __init__(
        self,
        store: Path,
        settings: Settings,
        selection: Selection,
        intakes: Callable[[], list[Intake]],
        bus: EventBus,
        *,
        resident: bool,
    ) -> None:
        self.store = store
        self.selection = selection
        self._settings = settings
        embedder = selection.embedder
        self.worker = IndexWorker(
            WorkerOptions(
                store,
                vector_extension=settings.store.vector.enabled,
                extension_path=settings.store.vector.extension_path,
                concurrency=settings.indexing.concurrency or (embedder.limits.concurrency if embedder else 1),
                cache_entries=settings.cache.max_entries if settings.cache.enabled else 0,
                interval_seconds=settings.sync.interval_minutes * 60,
            ),
            intakes,
            embedder,
            bus,
            identity=lambda: index_identity(settings, intakes(), embedder.identity if embedder else None),
        )
        self.readers = ReaderPool(store, settings, embedder, keep_matrix=resident)
        self._query_vectors = QueryVectors(embedder) if embedder is not None else None

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Keyword hits first (told to `on_partial`), ranked anew when the query's vector is there.

        The vector is waited for until the deadline; then keyword hits are the answer, with a warning.
        """
        started = time.perf_counter()
        if request.mode == "hybrid" and not self._settings.query.hybrid.enabled:
            request = replace(request, mode="semantic" if self._query_vectors is not None else "keyword")
        if not request.query.strip():
            return SearchResult(request.query, mode=request.mode)
        try:
            with self.readers.lease(cancel) as reader:
                return self._search(reader, request, started, on_partial, cancel)
        except StoreMissing:
            return SearchResult(request.query, mode=request.mode, warning="nothing is indexed yet", catching_up=True)

    def _search(
        self,
        reader: Reader,
        request: SearchRequest,
        started: float,
        on_partial: PartialListener | None,
        cancel: threading.Event | None,
    ) -> SearchResult:
        pending, warning = self._start_vector(reader, request)
        if pending is not None and on_partial is not None and not pending.done() and request.mode == "hybrid":
            first = reader.searcher.search(request, None, cancel)
            on_partial(replace(self._dressed(first, started, None), partial=True))
        waited = time.perf_counter()
        vector, late = self._await_vector(pending, request, started, cancel)
        embed_ms = (time.perf_counter() - waited) * 1000 if vector is not None else None
        result = reader.searcher.search(request, vector, cancel)
        return self._dressed(result, started, warning or late, embed_ms)

    def _start_vector(self, reader: Reader, request: SearchRequest) -> tuple[Future[Vector] | None, str | None]:
        """Begin to embed the query, if there are vectors to compare it with; else say why not."""
        if request.mode == "keyword":
            return None, None
        if self._query_vectors is None:
            wanted_vectors = request.mode == "semantic" or self.selection.requested != "none"
            return None, (self.selection.reason if wanted_vectors else None)
        row = Identities(reader.database).find(self._query_vectors.embedder.identity)
        if row is None or row.state == "retired" or not EmbeddingCache(reader.database).has_any(row.id):
            return None, "keyword hits only: no vectors are made yet"
        text = parse_query(request.query).semantic_text
        return (self._query_vectors.start(text) if text else None), None

    def _await_vector(
        self,
        pending: Future[Vector] | None,
        request: SearchRequest,
        started: float,
        cancel: threading.Event | None,
    ) -> tuple[Vector | None, str | None]:
        if pending is None:
            return None, None
        limit_ms = request.deadline_ms if request.deadline_ms is not None else self._settings.query.deadline_ms
        deadline = started + limit_ms / 1000
        while True:
            if cancel is not None and cancel.is_set():
                raise SearchCancelled("the search was cancelled")
            try:
                return pending.result(timeout=WAIT_SECONDS), None
            except TimeoutError:
                if time.perf_counter() >= deadline:
                    return None, f"the query's vector did not come within {limit_ms} ms; keyword hits only"
            except EmbeddingError as error:
                return None, f"keyword hits only: {error}"

    def _dressed(
        self, result: SearchResult, started: float, warning: str | None, embed_ms: float | None = None
    ) -> SearchResult:
        state = self.worker.state
        times = {**result.milliseconds, "total": (time.perf_counter() - started) * 1000}
        if embed_ms is not None:
            times.setdefault("embed", embed_ms)
        return replace(
            result,
            provider=self.selection.provider,
            model=self.selection.model,
            warning="; ".join(part for part in (result.warning, warning) if part) or None,
            catching_up=result.catching_up or (state.alive and state.busy),
            milliseconds=times,
        )

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
        """Ask the worker and wait. Raises StoreError, SyncCancelled when the worker ended first."""
        ticket = Ticket(vectors=vectors, on_progress=on_progress, cancel=cancel or threading.Event())
        self.worker.request(reason, force=force, paths=paths, ticket=ticket)
        while True:
            try:
                return ticket.done.result(timeout=0.5)
            except TimeoutError:
                if not self.worker.is_alive and not ticket.done.done():
                    raise SyncCancelled("the indexing worker ended before the sync did") from None
            except CancelledError:
                raise SyncCancelled("the sync was cancelled") from None

    def close(self) -> None:
        self.worker.stop()
        if self._query_vectors is not None:
            self._query_vectors.close()
        self.readers.close()
        if self.selection.embedder is not None:
            self.selection.embedder.close()
