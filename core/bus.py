"""What every event is, and the bus that carries events to whoever subscribed; the events themselves load apart."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field

from core.records import record


@record(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; `at_ms` is epoch milliseconds."""

    at_ms: int


Listener = Callable[[Event], None]


@record(slots=True)
class EventBus:
    """Hands each event to every listener, on the publisher's thread and in order; a listener's error is only logged.

    Listeners must not block: they hand the event on (`post_message`, a queue) and return.
    """

    _listeners: list[Listener] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the returned function takes it away again."""
        with self._lock:
            self._listeners = [*self._listeners, listener]

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [kept for kept in self._listeners if kept is not listener]

        return unsubscribe

    def publish(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                import logging

                logging.getLogger(__name__).exception("a listener failed on %s", type(event).__name__)
