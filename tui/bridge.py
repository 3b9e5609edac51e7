"""From the memory's event bus to the app: any thread may publish, the app is told at most four times a second."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from textual.message import Message

from core import events

KEPT_EVENTS = 2000
"""Beyond this many between two deliveries the oldest are let go and counted."""


class EventsWait(Message):
    """Events wait in the bridge."""


class EventBridge:
    """Collects events and asks once for a delivery; `take` hands them over.

    `ask` is called on the publishing thread with the first event of a batch; it must not block.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._events: deque[events.Event] = deque(maxlen=KEPT_EVENTS)
        self._asked = False
        self._lost = 0
        self._lock = threading.Lock()

    def __call__(self, event: events.Event) -> None:
        with self._lock:
            self._lost += len(self._events) == KEPT_EVENTS
            self._events.append(event)
            first, self._asked = not self._asked, True
        if first:
            self._ask()

    def take(self) -> tuple[list[events.Event], int]:
        """The events since the last call, and how many older ones were let go."""
        with self._lock:
            batch, lost = list(self._events), self._lost
            self._events.clear()
            self._asked, self._lost = False, 0
        return batch, lost
