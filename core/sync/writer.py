"""The writer's side of the worker: runs syncs in short steps and writes the vectors that come back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

from core.embedding.select import Selection
from core.errors import StoreError, SyncCancelled
from core.events import EventBus, FileRemoved, IdentityChanged, SyncFinished, SyncStarted
from core.store.check import repair
from core.store.database import Database
from core.store.documents import Documents
from core.store.forgetting import forget, owes_purge, purge, remember
from core.store.identity import difference_from, write_identity
from core.store.requests import Requests
from core.sync.embedding_desk import EmbeddingDesk
from core.sync.flights import Flight, FlightQueue
from core.sync.intake import Intake
from core.sync.job_tools import JobTools
from core.sync.keyword_job import KeywordJob
from core.sync.messages import BatchHeard, QueryFailed, SyncRequested, Ticket, VectorsReady
from core.sync.reports import from_payload, report_from, to_outcome, with_vectors
from core.sync.state import WorkerOptions
from core.types import EmbeddingIdentity, IndexIdentity, Progress, Scan, Source, SyncReport

REQUEST_POLL_SECONDS = 0.25
SIGN_SECONDS = 2.0
PURGE_SECONDS = 1.0
WARM_UP_SECONDS = 0.3
SETTLE_DOCUMENTS = 200
"""Documents written after which the keyword tables are worth joining."""


class WriterRole:
    """Owns the database while this process holds the writer lock. All methods run on the worker's thread."""

    def __init__(
        self,
        database: Database,
        options: WorkerOptions,
        intakes: Sequence[Intake],
        selection: Selection,
        bus: EventBus,
        *,
        identity: Callable[[EmbeddingIdentity | None], IndexIdentity],
        post: Callable[[VectorsReady | BatchHeard], None],
        called: threading.Event,
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._options = options
        self._bus = bus
        self._identity = identity
        self._called = called
        self._unsettled = 0
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memdeck-read")
        self._documents = Documents(database)
        self._requests = Requests(database)
        self._tools = JobTools(database, self._documents, intakes, self._executor, bus, clock, selection.courtesy)
        self._flights = FlightQueue()
        self._current: Flight | None = None
        self._awaiting: list[_AwaitingVectors] = []
        self._from_outside: dict[Ticket, int] = {}  # and the row of the requests table with what was asked
        self._last_poll = self._last_sign = 0.0
        self._purge_at = time.monotonic() if owes_purge(database) else None
        self._last_full = time.monotonic()
        self._warm_at: float | None = None
        self._wants_vectors = options.resident
        self.scans: dict[Source, Scan] = {}
        self.last_report: SyncReport | None = None
        self.progress: Progress | None = None
        self.desk = EmbeddingDesk(database, options, selection, intakes, bus, post=post, clock=clock)
        self._compare_identity()

    def _compare_identity(self) -> None:
        """Say what the index was built with differently; the documents are redone by the next full sync."""
        difference = difference_from(self._database, self._identity(self.desk.identity))
        if difference is not None:
            self._bus.publish(IdentityChanged(at_ms=self._tools.now_ms(), reason=difference, redone=True))

    @property
    def is_busy(self) -> bool:
        return self._current is not None or len(self._flights) > 0

    @property
    def is_dirty(self) -> bool:
        """No full sync has succeeded since the start, or one is due."""
        return self.last_report is None or self.last_report.failed > 0 or self.is_busy

    def enqueue(self, request: SyncRequested) -> None:
        self._wants_vectors |= request.ticket is None or request.ticket.vectors
        self._flights.add(request, self._current)

    def receive(self, message: VectorsReady | BatchHeard | QueryFailed) -> None:
        """What other threads have to tell of vectors. Raises StoreError."""
        if isinstance(message, VectorsReady):
            self.desk.receive(message)
        elif isinstance(message, BatchHeard):
            self.desk.hear(message)
        else:
            self.desk.query_failed(message)

    def sleep_seconds(self, longest: float) -> float:
        """How long there is nothing to do but wait for messages."""
        if self.is_busy:
            return 0.0
        retry = self.desk.seconds_to_retry
        return min(longest, retry) if retry is not None else longest

    def step(self) -> None:
        """One short piece of work: a step of a sync, then the embedding pool. Raises StoreError."""
        self._take_requests()
        self._ask_by_the_clock()
        outer = self._current
        if outer is not None and not outer.is_targeted and self._flights.has_targeted:
            self._run_targeted(outer)
        if self._current is None:
            self._begin(self._flights.pop())
        if self._current is not None:
            self._advance()
        if self._may_embed():
            self.desk.pump()
        self._settle()
        self._purge_again()
        self._warm_up()
        if self._unsettled >= SETTLE_DOCUMENTS and not self.is_busy:
            self._join_segments()

    def _may_embed(self) -> bool:
        """Words come first: a model on this machine would take the processor from the sync that makes them."""
        if not self._wants_vectors:
            return False
        return self._current is None or self._current.is_targeted or not self.desk.is_local

    def _warm_up(self) -> None:
        """Load in a quiet moment what the first change of a file would have to wait for, and the user with it."""
        if self._warm_at is None or time.monotonic() < self._warm_at or self.is_busy:
            return
        self._warm_at = None
        self._tools.courtesy.wait()
        for intake in self._tools.intakes:
            intake.warm_up()

    def _join_segments(self) -> None:
        """After much writing, and while nobody calls: searches then read fewer parts of the keyword tables."""
        if self._documents.settle(self._called):
            self._unsettled = 0
            self._database.release_cache()

    def _ask_by_the_clock(self) -> None:
        interval = self._options.interval_seconds
        now = time.monotonic()
        if interval > 0 and now - self._last_full > interval and not self.is_busy:
            self._last_full = now
            self._flights.add(SyncRequested("interval"), None)

    def _take_requests(self) -> None:
        """Syncs that other processes ask for."""
        now = time.monotonic()
        if now - self._last_poll < REQUEST_POLL_SECONDS:
            return
        self._last_poll = now
        self._show_life(now)
        for asked in self._requests.take("sync"):
            self._wants_vectors = True
            request = from_payload(asked.payload)
            if request.ticket is not None:
                self._from_outside[request.ticket] = asked.id
            self._flights.add(request, self._current)

    def _show_life(self, now: float) -> None:
        """Commit something while other processes wait: by that they know that the writer is at it."""
        if self._requests.in_hand and now - self._last_sign >= SIGN_SECONDS:
            self._last_sign = now
            self._requests.show_life(now_ms=self._tools.now_ms())

    def _run_targeted(self, outer: Flight) -> None:
        """A small sync between two steps of a full one."""
        self._current = None
        try:
            self._begin(self._flights.pop())
            while self._current is not None:
                self._advance()
        finally:
            self._current = outer

    def _begin(self, flight: Flight | None) -> None:
        if flight is None:
            return
        request = flight.request
        if flight.is_cancelled():
            self._finish(flight, SyncReport(request.reason, cancelled=True))
            return
        if request.forget or request.remember:
            self._finish(flight, self._forget(request))
            return
        flight.job = KeywordJob(
            self._tools,
            request.reason,
            force=request.force,
            paths=request.paths,
            cancelled=flight.is_cancelled,
            on_progress=lambda progress: self._tell(flight, progress),
        )
        flight.steps = flight.job.steps()
        self._current = flight
        self.desk.begin_sync(force=request.force)
        self._bus.publish(SyncStarted(at_ms=self._tools.now_ms(), reason=request.reason))

    def _forget(self, request: SyncRequested) -> SyncReport:
        """Documents leave for good, with every byte of their text, or may come back. Raises StoreError."""
        removed = chunks = 0
        for path in request.forget:
            found = self._documents.get_document(None, path)
            source: Source = found.source if found else "sessions" if path.startswith("sessions/") else "memory"
            if found is not None:
                removed += 1
                self.desk.forget({chunk.embed_hash for chunk in self._documents.chunks_of(found.id)})
            chunks += forget(self._database, source, path, now_ms=self._tools.now_ms())
            self._bus.publish(FileRemoved(at_ms=self._tools.now_ms(), source=source, path=path))
        back = [
            path for path in request.remember for source in get_args(Source) if remember(self._database, source, path)
        ]
        if back:
            self.desk.forget(None)
            self._flights.add(SyncRequested("manual"), self._current)
        warning = None
        if request.forget and not purge(self._database):
            self._purge_at = time.monotonic() + PURGE_SECONDS
            warning = "a search that is running keeps deleted text in the write-ahead log; it is emptied when it ends"
        return SyncReport(request.reason, removed=removed, chunks_removed=chunks, warning=warning)

    def _purge_again(self) -> None:
        if self._purge_at is None or time.monotonic() < self._purge_at or self.is_busy:
            return
        self._purge_at = None if purge(self._database) else time.monotonic() + PURGE_SECONDS

    def _tell(self, flight: Flight, progress: Progress) -> None:
        self.progress = progress
        flight.tell(progress)

    def _advance(self) -> None:
        flight = self._current
        assert flight is not None
        assert flight.steps is not None
        assert flight.job is not None
        cancelled = False
        try:
            next(flight.steps)
            return
        except StopIteration:
            pass
        except SyncCancelled:
            cancelled = True
        self._current = None
        if not flight.is_targeted:
            self.scans.update(flight.job.scans)
        self._finish(flight, report_from(flight.job, waiting=self.desk.waiting, cancelled=cancelled))

    def _finish(self, flight: Flight, report: SyncReport) -> None:
        self.progress = None
        self._unsettled += report.indexed
        if not flight.is_targeted and not report.cancelled:
            if self.last_report is None and self._options.resident:
                self._warm_at = time.monotonic() + WARM_UP_SECONDS
            self.last_report = report
            with self._database.transaction():
                write_identity(self._database, self._identity(self.desk.identity))
        self._bus.publish(SyncFinished(at_ms=self._tools.now_ms(), report=report))
        made = self.desk.made
        for ticket in flight.tickets:
            if ticket.vectors and self.desk.identity is not None and not report.cancelled:
                self._awaiting.append(_AwaitingVectors(ticket, report, made, time.perf_counter()))
            else:
                self._answer(ticket, report)

    def _answer(self, ticket: Ticket, report: SyncReport) -> None:
        """Hand a report to whoever waits for it, in this process or in another. Raises StoreError."""
        request_id = self._from_outside.pop(ticket, None)
        if request_id is not None:
            self._requests.finish(request_id, to_outcome(report), now_ms=self._tools.now_ms())
        if not ticket.done.done():
            ticket.done.set_result(report)

    def _settle(self) -> None:
        """Answer those who wait for vectors, when none is owed any more or the provider has failed."""
        if not self._awaiting:
            return
        waiting, idle = self.desk.waiting, self.desk.is_idle
        left = []
        for awaiting in self._awaiting:
            if idle or awaiting.ticket.cancel.is_set():
                self._answer(awaiting.ticket, awaiting.report(self.desk, waiting))
            else:
                awaiting.tell(self.desk, waiting)
                left.append(awaiting)
        self._awaiting = left

    def take_all(self) -> list[Flight]:
        """Every sync not finished, for whoever goes on with it (or has to say that it failed).

        What other processes ask stays where the next writer finds it.
        """
        flights = self._flights.drain()
        if self._current is not None:
            flights.insert(0, self._current)
            self._current = None
        for awaiting in self._awaiting:
            if awaiting.ticket not in self._from_outside:
                self._answer(awaiting.ticket, awaiting.report(self.desk, self.desk.waiting))
        self._awaiting = []
        left = []
        for flight in flights:
            own = [ticket for ticket in flight.tickets if ticket not in self._from_outside]
            if own or not flight.tickets:
                flight.tickets = own
                left.append(flight)
        return left

    def fail(self, error: Exception) -> None:
        """The sync in hand cannot go on: its callers get the error, the others stay in the queue."""
        flight, self._current = self._current, None
        if flight is None:
            return
        for ticket in flight.tickets:
            if ticket not in self._from_outside and not ticket.done.done():
                ticket.done.set_exception(error)

    def repair(self) -> tuple[str, ...]:
        """Set right what is out of step, between two steps; what was done, in words. Raises StoreError."""
        return repair(self._database)

    def close(self) -> None:
        self.desk.close()
        self._executor.shutdown(wait=False, cancel_futures=True)
        try:
            self._database.close()
        except StoreError:
            return


class _AwaitingVectors:
    """A caller who wants the vectors too."""

    def __init__(self, ticket: Ticket, report: SyncReport, made_before: int, started: float) -> None:
        self.ticket = ticket
        self._report = report
        self._made_before = made_before
        self._started = started
        self._told = 0.0

    def tell(self, desk: EmbeddingDesk, waiting: int) -> None:
        now = time.perf_counter()
        if self.ticket.on_progress is None or now - self._told < REQUEST_POLL_SECONDS:
            return
        self._told = now
        made = desk.made - self._made_before
        rate = made / (now - self._started) if made else None
        left = waiting / rate if rate else None
        self.ticket.on_progress(Progress(made, made + waiting, "Making vectors…", rate, left))

    def report(self, desk: EmbeddingDesk, waiting: int) -> SyncReport:
        return with_vectors(
            self._report,
            made=desk.made - self._made_before,
            waiting=waiting,
            seconds=time.perf_counter() - self._started,
            cancelled=self.ticket.cancel.is_set(),
            warning=desk.warning,
        )
