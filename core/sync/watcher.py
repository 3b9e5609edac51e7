"""From file events to syncs: ignored names filtered, bursts gathered, a path handed on when it has come to rest."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from core.events import EventBus, EventsBatched, WatchLost, WatchStarted
from core.store.place import is_network_file_system
from core.sync.watching import Watch, WatchRoot, WatchState

MOST_PATHS = 1024
"""Beyond so many changed paths at once everything is looked at instead."""
PATIENCE = 8
"""A path that never rests is handed on after so many debounce times."""
GAP_SECONDS = 0.2
"""Paths that come to rest one after the other are handed on together, this often at most."""
CHECK_SECONDS = 5.0
"""How often an idle watcher looks whether its watch still lives."""


class Watcher:
    """Watches roots and calls `deliver` with the absolute paths that changed, or None for "anything may have".

    `deliver` is called from the watcher's thread and must not block.
    """

    def __init__(
        self,
        roots: Callable[[], Sequence[WatchRoot]],
        deliver: Callable[[tuple[str, ...] | None], None],
        bus: EventBus,
        *,
        debounce_ms: int,
        poll_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._roots = roots
        self._deliver = deliver
        self._bus = bus
        self._debounce = debounce_ms / 1000
        self._poll_seconds = poll_seconds
        self._clock = clock
        self._wake = threading.Condition()
        self._last: dict[str, float] = {}
        self._first: dict[str, float] = {}
        self._events = 0
        self._everything = False
        self._delivered = 0.0
        self._stopping = False
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self.state = WatchState()

    def start(self) -> None:
        """Begin; falls back to polling, and says why, where the system does not tell of changes."""
        self._begin()
        self._thread = threading.Thread(target=self._run, name="memdeck-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._watch is not None:
            self._watch.stop()
        self.state = WatchState()

    # -- the sink of the watches

    def changed(self, path: str) -> None:
        now = time.monotonic()
        with self._wake:
            idle = not self._last
            self._events += 1
            self._last[path] = now
            self._first.setdefault(path, now)
            if idle:
                self._wake.notify()

    def lost(self) -> None:
        with self._wake:
            self._everything = True
            self._wake.notify()

    # -- the thread

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._stopping:
                    self._wake.wait(self._seconds_to_wait())
                if self._stopping:
                    return
                due, events = self._take_due()
            if due is None or due:
                paths = len(due) if due is not None else 0
                self._bus.publish(EventsBatched(at_ms=self._now_ms(), events=events, paths=paths))
                self._deliver(due)
            if self._watch is not None and not self._watch.is_alive:
                self._revive()

    def _seconds_to_wait(self) -> float:
        if self._everything:
            return 0.0
        if not self._last:
            return CHECK_SECONDS
        now = time.monotonic()
        due = min(self._due_at(path) for path in self._last)
        return max(0.0, max(due, self._delivered + GAP_SECONDS) - now)

    def _due_at(self, path: str) -> float:
        return min(self._last[path] + self._debounce, self._first[path] + PATIENCE * self._debounce)

    def _take_due(self) -> tuple[tuple[str, ...] | None, int]:
        """The paths that have come to rest, without those below another of them; None for everything."""
        if self._everything or len(self._last) > MOST_PATHS:
            rest = not self._everything and max(self._last.values()) + self._debounce > time.monotonic()
            if not rest or self._oldest_is_due():
                events, self._events, self._everything = self._events, 0, False
                self._last.clear()
                self._first.clear()
                return None, events
            return (), 0
        now = time.monotonic()
        if now < self._delivered + GAP_SECONDS:
            return (), 0
        due = {path for path in self._last if self._due_at(path) <= now}
        for path in due:
            del self._last[path]
            del self._first[path]
        events = 0
        if due:
            events, self._events = self._events, 0
            self._delivered = now
        tops = [path for path in sorted(due) if not any(above in due for above in _above(path))]
        return tuple(tops), events

    def _oldest_is_due(self) -> bool:
        return min(self._first.values()) + PATIENCE * self._debounce <= time.monotonic()

    # -- starting and reviving

    def _begin(self) -> None:
        roots = list(self._roots())
        why = self._why_not_events(roots)
        if why is None:
            watch = _event_watch(roots, self)
            try:
                watch.start()
                self._use(watch, WatchState("events", "", watch.folders))
                return
            except OSError as error:
                why = error.strerror or str(error)
        from core.sync.watch_polling import PollingWatch

        polling = PollingWatch(roots, self, seconds=self._poll_seconds)
        polling.start()
        self._use(polling, WatchState("polling", why, polling.folders))

    def _use(self, watch: Watch, state: WatchState) -> None:
        self._watch, self.state = watch, state
        self._bus.publish(WatchStarted(at_ms=self._now_ms(), mode=state.mode, reason=state.reason))

    def _why_not_events(self, roots: Sequence[WatchRoot]) -> str | None:
        for root in roots:
            if is_network_file_system(Path(root.path)):
                return f"{root.path} lies on a network file system, which does not tell of changes made elsewhere"
        return None

    def _revive(self) -> None:
        """The watch's thread has died: say so, begin anew, and look at everything once."""
        self._bus.publish(WatchLost(at_ms=self._now_ms(), reason="the thread that reads file events has ended"))
        self._begin()
        self.lost()

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _event_watch(roots: Sequence[WatchRoot], sink: Watcher) -> Watch:
    if sys.platform.startswith("linux"):
        from core.sync.watch_inotify import InotifyWatch

        return InotifyWatch(roots, sink)
    from core.sync.watch_native import NativeWatch

    return NativeWatch(roots, sink)


def _above(path: str) -> list[str]:
    above = []
    parent = os.path.dirname(path)
    while parent != path:
        above.append(parent)
        path, parent = parent, os.path.dirname(parent)
    return above
