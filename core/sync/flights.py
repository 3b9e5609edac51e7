"""One sync at a time: who runs, who waits, and who shares whose sync."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from core.records import record
from core.sync.keyword_job import KeywordJob
from core.sync.messages import SyncRequested, Ticket
from core.types import Progress


@record(slots=True, eq=False)
class Flight:
    """A sync that runs or waits its turn, and everyone who waits for it."""

    request: SyncRequested
    tickets: list[Ticket] = field(default_factory=list)
    job: KeywordJob | None = None
    steps: Iterator[None] | None = None

    @property
    def is_targeted(self) -> bool:
        return self.request.is_targeted

    def is_cancelled(self) -> bool:
        """Everyone who asked has given up; a sync that nobody waits for goes on."""
        return bool(self.tickets) and all(ticket.cancel.is_set() for ticket in self.tickets)

    def requests(self) -> list[SyncRequested]:
        """The same sync asked for anew, once for each who waits."""
        if not self.tickets:
            return [replace(self.request, ticket=None)]
        return [replace(self.request, ticket=ticket) for ticket in self.tickets]

    def tell(self, progress: Progress) -> None:
        for ticket in self.tickets:
            if ticket.on_progress is not None and not ticket.cancel.is_set():
                ticket.on_progress(progress)


class FlightQueue:
    """Waiting syncs. Targeted ones go first, in their order; of full ones at most one waits, shared by all who ask."""

    def __init__(self) -> None:
        self._targeted: list[Flight] = []
        self._full: Flight | None = None

    def __len__(self) -> int:
        return len(self._targeted) + (self._full is not None)

    def add(self, request: SyncRequested, running: Flight | None) -> None:
        """Queue a request, or join it to one that will answer it.

        A full sync that runs already answers only a search (which waits for nothing); everyone else wants the files
        as they are now, and shares the next one.
        """
        tickets = [request.ticket] if request.ticket is not None else []
        if request.is_targeted:
            self._targeted.append(Flight(request, tickets))
        elif request.reason == "search" and running is not None and not running.is_targeted:
            running.tickets.extend(tickets)
        elif self._full is None:
            self._full = Flight(request, tickets)
        else:
            self._full.tickets.extend(tickets)
            if request.force and not self._full.request.force:
                self._full.request = replace(self._full.request, force=True, reason=request.reason)

    @property
    def has_targeted(self) -> bool:
        return bool(self._targeted)

    def pop(self) -> Flight | None:
        """The next to run, targeted ones first."""
        if self._targeted:
            return self._targeted.pop(0)
        flight, self._full = self._full, None
        return flight

    def drain(self) -> list[Flight]:
        """Take all that wait."""
        flights = [*self._targeted, *([self._full] if self._full is not None else [])]
        self._targeted, self._full = [], None
        return flights
