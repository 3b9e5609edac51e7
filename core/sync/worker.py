"""The indexing worker: one thread that owns the write connection. It takes messages, plays writer or follower as the
writer lock says, and recovers the store when it fails."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from core.embedding.select import Selection
from core.errors import KeywordsDamaged, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly
from core.events import EventBus, IdentityChanged, StoreRecovered, WorkerFailed, WriterChanged
from core.store.database import Database, set_aside
from core.store.writer_lock import WriterLock
from core.sync.flights import Flight
from core.sync.follower import FollowerRole
from core.sync.intake import Intake
from core.sync.later import Later
from core.sync.mending import Mending, answer_mend
from core.sync.messages import (
    BatchHeard,
    KeywordsFailed,
    MendRequested,
    Message,
    QueryFailed,
    StopRequested,
    SyncRequested,
    Ticket,
    VectorsReady,
)
from core.sync.provider_memory import failover_of
from core.sync.state import WorkerOptions, WorkerState
from core.sync.writer import WriterRole
from core.types import EmbeddingIdentity, IndexIdentity, SyncReason

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.5
"""How long the worker sleeps on its queue before it looks at timers and at other processes."""
FOLLOW_SECONDS = 0.1
TAKEOVER_SECONDS = 1.0
REOPEN_SECONDS = 5.0
"""A store that fails as read-only again this soon after it was reopened stays read-only."""


class IndexWorker:
    """`post`, `request`, `start` and `stop` may be called from any thread; `state` is a frozen snapshot."""

    def __init__(
        self,
        options: WorkerOptions,
        intakes: Callable[[], Sequence[Intake]],
        selection: Selection,
        bus: EventBus,
        *,
        identity: Callable[[EmbeddingIdentity | None], IndexIdentity],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._make_intakes = intakes
        self._selection = selection
        self._bus = bus
        self._identity = identity
        self._clock = clock
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self._stopping = threading.Event()
        self._lock = WriterLock(options.store)
        self._role: WriterRole | FollowerRole | None = None
        self._reopened_at = float("-inf")
        self._takeover_at = 0.0
        self._later = Later()
        self._was_full = False
        self._mending = Mending()
        self._called = threading.Event()
        self.state = WorkerState()

    # -- from any thread

    def start(self) -> None:
        """Begin the thread if it does not run. Idempotent."""
        with self._start_lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="memdeck-index", daemon=True)
            self._note(alive=True)
            self._thread.start()

    def post(self, message: Message) -> None:
        self._inbox.put(message)
        self._called.set()

    def request(
        self,
        reason: SyncReason,
        *,
        force: bool = False,
        paths: tuple[str, ...] | None = None,
        ticket: Ticket | None = None,
    ) -> None:
        """Ask for a sync; starts the thread when needed."""
        self.post(SyncRequested(reason, force, paths, ticket))
        self.start()

    def stop(self, timeout: float = 2.0) -> None:
        """End after the transaction in hand; waits at most `timeout` seconds."""
        self._stopping.set()
        self.post(StopRequested())
        if self._thread is not None:
            self._thread.join(timeout)

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    # -- the thread

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._turn()
                except StoreError as error:
                    self._recover(error)
                except Exception as error:
                    self._survive(error)
        finally:
            self._end()

    def _turn(self) -> None:
        messages = list(self._messages(self._sleep_seconds()))
        self._called.clear()
        for message in messages:
            self._handle(message)
        if self._stopping.is_set():
            return
        if self._later.is_due():
            self._handle(SyncRequested("interval"))
        if isinstance(self._role, FollowerRole):
            self._role.step()
            self._try_takeover()
        elif isinstance(self._role, WriterRole):
            self._role.step()
            self._note_writer(self._role)

    def _sleep_seconds(self) -> float:
        if isinstance(self._role, WriterRole):
            return self._role.sleep_seconds(IDLE_SECONDS)
        if isinstance(self._role, FollowerRole) and self._role.is_waiting:
            return FOLLOW_SECONDS
        return IDLE_SECONDS

    def _messages(self, wait: float) -> Iterator[Message]:
        try:
            yield self._inbox.get(timeout=wait) if wait > 0 else self._inbox.get_nowait()
            while True:
                yield self._inbox.get_nowait()
        except queue.Empty:
            return

    def _handle(self, message: Message) -> None:
        if isinstance(message, SyncRequested):
            try:
                self._open_role()
                assert self._role is not None
                self._role.enqueue(message)
            except StoreError as error:
                self._recover(error, message)
        elif isinstance(message, MendRequested):
            answer_mend(message, self._open_role, lambda: self._role, self._lock, self._bus)
        elif isinstance(message, VectorsReady | BatchHeard | QueryFailed) and isinstance(self._role, WriterRole):
            self._role.receive(message)
        elif isinstance(message, KeywordsFailed) and isinstance(self._role, WriterRole):
            self._recover(message.error)

    # -- roles

    def _open_role(self) -> None:
        """Open the store as its writer when the lock is free, else as a follower. Raises StoreError."""
        if self._role is not None:
            return
        if self._lock.acquire():
            self._become_writer([])
        else:
            owner = self._lock.owner()
            database = self._open_database()
            self._role = FollowerRole(
                database,
                os.getpid(),
                self._lock.owner,
                wanted=lambda: self._identity(failover_of(database, self._selection, clock=self._clock).identity),
                differs=self._differs,
            )
            self._note(is_writer=False, owner_pid=owner)
            self._bus.publish(WriterChanged(at_ms=self._now_ms(), pid=owner, own=False))

    def _differs(self, reason: str) -> None:
        self._bus.publish(IdentityChanged(at_ms=self._now_ms(), reason=reason, redone=False))

    def _open_database(self) -> Database:
        return Database.open(
            self._options.store,
            vector_extension=self._options.vector_extension,
            extension_path=self._options.extension_path,
        )

    def _become_writer(self, flights: list[Flight]) -> None:
        database = self._open_database()
        try:
            if self._was_full:
                with suppress(StoreFull):  # what fills the disk may be the log alone
                    database.empty_log()
            for done in self._mending.mend(database):
                self._bus.publish(StoreRecovered(at_ms=self._now_ms(), action="repaired", detail=done))
            role = WriterRole(
                database,
                self._options,
                self._make_intakes(),
                self._selection,
                self._bus,
                identity=self._identity,
                post=self.post,
                called=self._called,
                clock=self._clock,
            )
        except BaseException:
            database.close()
            raise
        self._role = role
        for flight in flights:
            for request in flight.requests():
                role.enqueue(request)
        self._note(is_writer=True, owner_pid=os.getpid(), read_only=False)
        self._bus.publish(WriterChanged(at_ms=self._now_ms(), pid=os.getpid(), own=True))

    def _try_takeover(self) -> None:
        """Become the writer when the one that wrote is gone; what it left unanswered is done here."""
        role = self._role
        now = time.monotonic()
        if not isinstance(role, FollowerRole) or now < self._takeover_at:
            return
        self._takeover_at = now + (FOLLOW_SECONDS if role.is_waiting else TAKEOVER_SECONDS)
        if not self._lock.acquire():
            return
        flights = role.take_all()
        role.close()
        self._role = None
        self._become_writer(flights)

    # -- trouble

    def _recover(self, error: StoreError, message: SyncRequested | None = None) -> None:
        """Answer a failure of the store: reopen once when read-only, set aside and rebuild when corrupt, else wait."""
        flights = self._leave_role()
        if message is not None:
            flights.append(Flight(message, [message.ticket] if message.ticket is not None else []))
        self._note(last_error=str(error), busy=False, progress=None)
        self._was_full = isinstance(error, StoreFull)
        if isinstance(error, StoreCorrupt):
            if self._rebuild(error):
                self._retry(flights)
                return
        elif isinstance(error, KeywordsDamaged) and not self._mending.keywords_damaged:
            self._mending.keywords_damaged = True
            self._retry(flights)
            return
        elif isinstance(error, StoreReadOnly):
            if self._reopen(error, flights):
                return
        elif isinstance(error, StoreBusy):
            log.warning("the index is busy: %s", error)
        self._note(dirty=True)
        if self._later.put_off(str(error)):
            self._bus.publish(WorkerFailed(at_ms=self._now_ms(), error=str(error)))
        for flight in flights:
            for ticket in flight.tickets:
                if not ticket.done.done():
                    ticket.done.set_exception(error)

    def _leave_role(self) -> list[Flight]:
        role, self._role = self._role, None
        flights = role.take_all() if isinstance(role, WriterRole) else []
        if role is not None:
            try:
                role.close()
            except StoreError:
                log.exception("closing the index failed")
        self._lock.release()
        return flights

    def _retry(self, flights: list[Flight]) -> None:
        for flight in flights:
            for request in flight.requests():
                self.post(request)
        if all(flight.is_targeted for flight in flights):
            self.post(SyncRequested("manual"))  # an index that was set aside is made anew as a whole

    def _rebuild(self, error: StoreCorrupt) -> bool:
        try:
            self._mending.kept = set_aside(self._options.store)
        except OSError as failure:
            log.warning("the damaged index cannot be set aside: %s", failure)
            return False
        self._bus.publish(
            StoreRecovered(
                at_ms=self._now_ms(), action="set aside and rebuilt", detail=f"{error}; kept as {self._mending.kept}"
            )
        )
        return True

    def _reopen(self, error: StoreReadOnly, flights: list[Flight]) -> bool:
        """One more try with a new connection; searches go on in any case. True when it worked."""
        counters = self.state.recovery
        counters = replace(counters, attempts=counters.attempts + 1, last_error=str(error))
        reopened_at, self._reopened_at = self._reopened_at, time.monotonic()
        try:
            if self._reopened_at - reopened_at < REOPEN_SECONDS or not self._lock.acquire():
                raise error
            self._become_writer(flights)
        except StoreError as again:
            self._role = None
            self._lock.release()
            failed = replace(counters, failures=counters.failures + 1, last_error=str(again))
            self._note(recovery=failed, read_only=True, is_writer=False)
            return False
        self._note(recovery=replace(counters, successes=counters.successes + 1), read_only=False)
        return True

    def _survive(self, error: Exception) -> None:
        """An error that belongs to no file: its sync fails, the worker goes on with a fresh connection."""
        log.exception("the indexing worker failed")
        self._note(last_error=f"{type(error).__name__}: {error}")
        if isinstance(self._role, WriterRole):
            self._role.fail(error)
        flights = self._leave_role()
        self._bus.publish(WorkerFailed(at_ms=self._now_ms(), error=f"{type(error).__name__}: {error}"))
        for flight in flights:
            for request in flight.requests():
                self.post(request)

    def _end(self) -> None:
        for flight in self._leave_role():
            for ticket in flight.tickets:
                ticket.done.cancel()
        while not self._inbox.empty():
            message = self._inbox.get_nowait()
            if isinstance(message, SyncRequested) and message.ticket is not None:
                message.ticket.done.cancel()
            elif isinstance(message, MendRequested):
                message.done.cancel()
        self._note(alive=False, busy=False, is_writer=False, progress=None)

    # -- state

    def _note_writer(self, role: WriterRole) -> None:
        if role.last_report is not None:
            self._later.settle()
        failure = role.desk.failure
        self._note(
            busy=role.is_busy,
            dirty=role.is_dirty,
            progress=role.progress,
            waiting=role.desk.waiting,
            embedding_error=str(failure) if failure is not None else None,
            embedding_remedy=failure.remedy if failure is not None else "",
            last_report=role.last_report,
            scans=tuple(role.scans.items()),
        )

    def _note(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
