"""Looking at the files from time to time, where the system does not tell of changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

from core.sync.watching import ChangeSink, WatchRoot, folders_below

LEAST_SECONDS = 2.0
MOST_SECONDS = 60.0
SHARE = 100
"""A look may take one part in so many of the time: idle costs stay under one percent of a core."""

_Key = tuple[int, int, int, int]


class PollingWatch:
    """Compares stat keys of all files that count, at an interval that grows with what a look costs."""

    def __init__(self, roots: Sequence[WatchRoot], sink: ChangeSink, *, seconds: float | None = None) -> None:
        self._roots = list(roots)
        self._sink = sink
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: dict[str, _Key] = {}
        self.folders = 0

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        self._seen = self._look()
        self._thread = threading.Thread(target=self._run, name="memdeck-poll", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        pause = self._seconds or LEAST_SECONDS
        while not self._stopping.wait(pause):
            started = time.perf_counter()
            now = self._look()
            for path in self._seen.keys() ^ now.keys():
                self._sink.changed(path)
            for path in self._seen.keys() & now.keys():
                if self._seen[path] != now[path]:
                    self._sink.changed(path)
            self._seen = now
            cost = time.perf_counter() - started
            pause = self._seconds or min(MOST_SECONDS, max(LEAST_SECONDS, cost * SHARE))

    def _look(self) -> dict[str, _Key]:
        found: dict[str, _Key] = {}
        folders = 0
        for root in self._roots:
            if not os.path.isdir(root.path) or os.path.islink(root.path):
                continue
            for folder in folders_below(root, root.path):
                folders += 1
                self._look_into(folder, root, found)
        self.folders = folders
        return found

    def _look_into(self, folder: str, root: WatchRoot, found: dict[str, _Key]) -> None:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if root.counts(entry.name) and entry.is_file(follow_symlinks=False):
                        stat = entry.stat(follow_symlinks=False)
                        found[entry.path] = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        except OSError:
            return
