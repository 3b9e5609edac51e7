"""The other side of the writer lock: hands syncs to the process that writes, and waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Callable

from core.store.database import Database
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import difference_from
from core.store.requests import Requests
from core.sync.flights import Flight
from core.sync.messages import SyncRequested
from core.sync.pulse import Pulse
from core.sync.reports import from_outcome, to_payload, with_warning
from core.types import IndexIdentity, Progress

POLL_SECONDS = 0.1
TELL_SECONDS = 0.5


class FollowerRole:
    """Used while another process holds the writer lock. All methods run on the worker's thread.

    `wanted` is what this process would build the index with. It redoes nothing: `differs` is told, once for each
    difference, what the writer builds otherwise, and who waits for a sync finds it in the report.
    """

    def __init__(
        self,
        database: Database,
        pid: int,
        owner: Callable[[], int | None],
        *,
        wanted: Callable[[], IndexIdentity],
        differs: Callable[[str], None],
    ) -> None:
        self._database = database
        self._wanted = wanted
        self._differs = differs
        self._difference: str | None = None
        self._pulse = Pulse(database, owner)
        self._requests = Requests(database)
        self._pid = pid
        self._asked: list[tuple[int, Flight]] = []
        self._queue = EmbeddingQueue(database)
        self._told = 0.0
        self._most_waiting = 0

    @property
    def is_waiting(self) -> bool:
        return bool(self._asked)

    def enqueue(self, request: SyncRequested) -> None:
        """Write the request where the writer reads. Raises StoreError."""
        if not self._asked:
            self._pulse.begin()
            self._most_waiting = 0
        flight = Flight(request, [request.ticket] if request.ticket is not None else [])
        request_id = self._requests.ask("sync", to_payload(request), pid=self._pid, now_ms=int(time.time() * 1000))
        self._asked.append((request_id, flight))

    def step(self) -> None:
        """Look for answers; who waits for a writer that gives no sign of life is told. Raises StoreError."""
        self._tell()
        left = []
        silent = self._pulse.look() if self._asked else None
        for request_id, flight in self._asked:
            outcome = self._requests.outcome(request_id)
            if outcome is None and not flight.is_cancelled() and not (silent is not None and flight.tickets):
                left.append((request_id, flight))
                continue
            warning = self._compared() if outcome is not None and not flight.is_targeted else None
            for ticket in flight.tickets:
                if ticket.done.done():
                    continue
                if outcome is not None:
                    ticket.done.set_result(with_warning(from_outcome(outcome), warning))
                elif silent is not None and not ticket.cancel.is_set():
                    ticket.done.set_exception(silent)
                else:
                    ticket.done.cancel()
        self._asked = left

    def _compared(self) -> str | None:
        """What the writer builds otherwise than this process would; to be asked after a sync of all files."""
        difference = difference_from(self._database, self._wanted())
        if difference is not None and difference != self._difference:
            self._differs(difference)
        self._difference = difference
        return f"the process that writes goes by settings of its own: {difference}" if difference is not None else None

    def _tell(self) -> None:
        """How many vectors the writer still has to make, to those who wait for them."""
        listeners = [
            ticket.on_progress
            for _, flight in self._asked
            for ticket in flight.tickets
            if ticket.vectors and ticket.on_progress is not None and not ticket.cancel.is_set()
        ]
        now = time.monotonic()
        if not listeners or now - self._told < TELL_SECONDS:
            return
        self._told = now
        waiting = self._queue.waiting()
        self._most_waiting = max(self._most_waiting, waiting)
        if not waiting:
            return
        for tell in listeners:
            tell(Progress(self._most_waiting - waiting, self._most_waiting, "The process that writes makes vectors…"))

    def take_all(self) -> list[Flight]:
        """Requests that the writer did not answer, for when this process takes over."""
        flights = [flight for _, flight in self._asked]
        for request_id, _ in self._asked:
            self._requests.withdraw(request_id)
        self._asked = []
        return flights

    def close(self) -> None:
        self._database.close()
