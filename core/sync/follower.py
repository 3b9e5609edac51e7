"""The other side of the writer lock: hands syncs to the process that writes, and waits for its answers."""

from __future__ import annotations

import time

from core.store.database import Database
from core.store.requests import Requests
from core.sync.flights import Flight
from core.sync.messages import SyncRequested
from core.sync.reports import from_outcome, to_payload

POLL_SECONDS = 0.1


class FollowerRole:
    """Used while another process holds the writer lock. All methods run on the worker's thread."""

    def __init__(self, database: Database, pid: int) -> None:
        self._database = database
        self._requests = Requests(database)
        self._pid = pid
        self._asked: list[tuple[int, Flight]] = []

    @property
    def is_waiting(self) -> bool:
        return bool(self._asked)

    def enqueue(self, request: SyncRequested) -> None:
        """Write the request where the writer reads. Raises StoreError."""
        flight = Flight(request, [request.ticket] if request.ticket is not None else [])
        request_id = self._requests.ask("sync", to_payload(request), pid=self._pid, now_ms=int(time.time() * 1000))
        self._asked.append((request_id, flight))

    def step(self) -> None:
        """Look for answers. Raises StoreError."""
        left = []
        for request_id, flight in self._asked:
            outcome = self._requests.outcome(request_id)
            if outcome is None and not flight.is_cancelled():
                left.append((request_id, flight))
                continue
            for ticket in flight.tickets:
                if ticket.done.done():
                    continue
                if outcome is None:
                    ticket.done.cancel()
                else:
                    ticket.done.set_result(from_outcome(outcome))
        self._asked = left

    def take_all(self) -> list[Flight]:
        """Requests that the writer did not answer, for when this process takes over."""
        flights = [flight for _, flight in self._asked]
        for request_id, _ in self._asked:
            self._requests.withdraw(request_id)
        self._asked = []
        return flights

    def close(self) -> None:
        self._database.close()
