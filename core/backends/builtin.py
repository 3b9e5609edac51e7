"""The built-in backend: our own index, searched on read-only connections while one worker writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from core.backends.base import PartialListener, Standing
from core.backends.query_vectors import QueryVectors
from core.backends.readers import Reader, ReaderPool
from core.embedding.base import Embedder, Vector
from core.embedding.select import Selection
from core.errors import EmbeddingError, KeywordsDamaged, SearchCancelled, StoreMissing, SyncCancelled
from core.records import record
from core.settings.model import Settings
from core.types import Finding, SearchRequest, SearchResult, SyncReason, SyncReport

if TYPE_CHECKING:
    from concurrent.futures import Future

    from core.bus import EventBus
    from core.embedding.fallback import Failover
    from core.store.database import Database
    from core.sync.intake import Intake
    from core.sync.messages import Message, ProgressListener
    from core.sync.worker import IndexWorker

R = TypeVar("R")
WAIT_SECONDS = 0.02


@record(frozen=True, slots=True)
class _Asking:
    """Which embedder a search asks, what is on its way, and why there may be no vector."""

    failover: Failover
    embedder: Embedder | None = None
    pending: Future[Vector] | None = None
    warning: str | None = None


class BuiltinBackend:
    """One index file: a worker that writes it, readers that search it, a thread that embeds queries.

    `resident` is True in processes that live long (the app, servers): they keep the vectors in memory.
    """

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
        self._intakes = intakes
        self._bus = bus
        self._worker: IndexWorker | None = None
        self._worker_lock = threading.Lock()
        self._resident = resident
        self.readers = ReaderPool(store, settings, keep_matrix=resident)
        self._query_vectors = QueryVectors()

    @property
    def name(self) -> str:
        """Who answers at the moment."""
        return "builtin"

    def start(self) -> None:
        """Keep the index in step in the background, beginning now."""
        self.worker.request("session-start")
        if self._resident:
            import core.search.pipeline  # the first search need not wait for these
            import core.store.matrix  # noqa: F401

    def standing(self) -> Standing | None:
        """How a backend before this one stands; None where there is none."""
        return None

    def findings(self) -> Iterator[Finding]:
        """What doctor finds of a backend before this one."""
        return iter(())

    @property
    def worker(self) -> IndexWorker:
        """What writes the index; made when it is first asked for, since a search alone needs none."""
        with self._worker_lock:
            if self._worker is None:
                self._worker = self._make_worker()
            return self._worker

    def _make_worker(self) -> IndexWorker:
        from core.sync.identity import index_identity
        from core.sync.state import WorkerOptions
        from core.sync.worker import IndexWorker

        settings, intakes = self._settings, self._intakes
        options = WorkerOptions(
            self.store,
            vector_extension=settings.store.vector.enabled,
            extension_path=settings.store.vector.extension_path,
            concurrency=settings.indexing.concurrency,
            cache_entries=settings.cache.max_entries if settings.cache.enabled else 0,
            interval_seconds=settings.sync.interval_minutes * 60,
            batch=settings.remote.batch if settings.remote.batch.enabled else None,
            resident=self._resident,
        )
        return IndexWorker(
            options,
            intakes,
            self.selection,
            self._bus,
            identity=lambda embedding: index_identity(settings, intakes(), embedding),
        )

    def failover(self, database: Database | None) -> Failover:
        """Which embedder is in force, as the index tells; for looking only. Raises StoreError."""
        from core.sync.provider_memory import failover_of

        return failover_of(database, self.selection)

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
            embeds = self.selection.embedder is not None or self.selection.standby is not None
            request = replace(request, mode="semantic" if embeds else "keyword")
        if not request.query.strip():
            return SearchResult(request.query, mode=request.mode)
        try:
            with self.readers.lease(cancel) as reader:
                return self._search(reader, request, started, on_partial, cancel)
        except StoreMissing:
            return SearchResult(request.query, mode=request.mode, warning="nothing is indexed yet", catching_up=True)
        except KeywordsDamaged as error:
            if self._worker is not None and self._worker.is_alive:
                from core.sync.messages import KeywordsFailed

                self._worker.post(KeywordsFailed(error))
            raise

    def _search(
        self,
        reader: Reader,
        request: SearchRequest,
        started: float,
        on_partial: PartialListener | None,
        cancel: threading.Event | None,
    ) -> SearchResult:
        asking = self._ask(reader, request)
        searcher = reader.searcher(asking.embedder)
        pending = asking.pending
        if pending is not None and on_partial is not None and not pending.done() and request.mode == "hybrid":
            first = searcher.search(request, None, cancel)
            on_partial(replace(self._dressed(first, started, asking), partial=True))
        waited = time.perf_counter()
        vector, late = self._await_vector(asking, request, started, cancel)
        embed_ms = (time.perf_counter() - waited) * 1000 if vector is not None else None
        result = searcher.search(request, vector, cancel)
        return self._dressed(result, started, replace(asking, warning=asking.warning or late), embed_ms)

    def _ask(self, reader: Reader, request: SearchRequest) -> _Asking:
        """Begin to embed the query, if there are vectors to compare it with; else say why not."""
        from core.search.query import parse_query
        from core.sync.provider_memory import has_vectors

        failover = self.failover(reader.database)
        if request.mode == "keyword":
            return _Asking(failover, failover.embedder)
        if failover.embedder is None and self.selection.embedder is None:
            wanted_vectors = request.mode == "semantic" or self.selection.requested != "none"
            return _Asking(failover, warning=self.selection.reason if wanted_vectors else None)
        embedder = failover.for_queries(partial(has_vectors, reader.database))
        if embedder is None:
            return _Asking(failover, failover.embedder, warning="keyword hits only: no vectors are made yet")
        text = parse_query(request.query).semantic_text
        return _Asking(failover, embedder, self._query_vectors.start(embedder, text) if text else None)

    def _await_vector(
        self,
        asking: _Asking,
        request: SearchRequest,
        started: float,
        cancel: threading.Event | None,
    ) -> tuple[Vector | None, str | None]:
        pending, embedder = asking.pending, asking.embedder
        if pending is None or embedder is None:
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
                if self.selection.standby is not None and self._worker is not None and self._worker.is_alive:
                    from core.sync.messages import QueryFailed

                    self._worker.post(QueryFailed(embedder.identity, error))
                return None, f"keyword hits only: {error.in_full}"

    def _dressed(
        self, result: SearchResult, started: float, asking: _Asking, embed_ms: float | None = None
    ) -> SearchResult:
        identity = asking.embedder.identity if asking.embedder is not None else None
        times = {**result.milliseconds, "total": (time.perf_counter() - started) * 1000}
        if embed_ms is not None:
            times.setdefault("embed", embed_ms)
        return replace(
            result,
            provider=identity.provider if identity is not None else "none",
            model=identity.model if identity is not None else "",
            fallback=asking.failover.fallback,
            warning="; ".join(part for part in (result.warning, asking.warning) if part) or None,
            catching_up=result.catching_up or self._is_syncing,
            milliseconds=times,
        )

    @property
    def _is_syncing(self) -> bool:
        state = self._worker.state if self._worker is not None else None
        return state is not None and state.alive and state.busy

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
        from core.sync.messages import SyncRequested, Ticket

        ticket = Ticket(vectors=vectors, on_progress=on_progress, cancel=cancel or threading.Event())
        return self._wait_for(SyncRequested(reason, force, paths, ticket), ticket.done, "sync")

    def forget(self, paths: tuple[str, ...], *, back: bool = False) -> SyncReport:
        """Have documents leave the index for good, or let them come `back`. Raises StoreError, SyncCancelled."""
        from core.sync.messages import SyncRequested, Ticket

        ticket = Ticket()
        forget, remember = ((), paths) if back else (paths, ())
        request = SyncRequested("manual", ticket=ticket, forget=forget, remember=remember)
        return self._wait_for(request, ticket.done, "sync")

    @property
    def is_running(self) -> bool:
        """Whether a worker of this process is at it."""
        return self._worker is not None and self._worker.is_alive

    def mend(self) -> tuple[str, ...]:
        """Have the worker set right what of the index is out of step; what was done, in words.

        Raises StoreError, SyncCancelled when the worker ended first.
        """
        from core.sync.messages import MendRequested

        request = MendRequested()
        return self._wait_for(request, request.done, "repair")

    def _wait_for(self, message: Message, done: Future[R], what: str) -> R:
        from concurrent.futures import CancelledError

        self.worker.post(message)
        self.worker.start()
        while True:
            try:
                return done.result(timeout=0.5)
            except TimeoutError:
                if not self.worker.is_alive and not done.done():
                    raise SyncCancelled(f"the indexing worker ended before the {what} did") from None
            except CancelledError:
                raise SyncCancelled(f"the {what} was cancelled") from None

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._query_vectors.close()
        self.readers.close()
        self.selection.close()
