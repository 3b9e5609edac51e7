"""macOS, Windows, BSD: watchdog's observer for the platform, recursive, with the ignored trees filtered out."""

from __future__ import annotations

import os
from collections.abc import Sequence

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from core.sync.watching import ChangeSink, WatchRoot, folders_below, nearest_folder


class NativeWatch:
    """One observer over the roots; those that do not exist yet are watched from the nearest folder above."""

    def __init__(self, roots: Sequence[WatchRoot], sink: ChangeSink) -> None:
        self._roots = list(roots)
        self._sink = sink
        self._observer = Observer()
        self.folders = 0

    @property
    def is_alive(self) -> bool:
        return self._observer.is_alive()

    def start(self) -> None:
        """Raises OSError when the system has no room for another watch."""
        for root in self._roots:
            handler = _Handler(root, self._sink)
            if os.path.isdir(root.path):
                self._observer.schedule(handler, root.path, recursive=root.recursive)
                self.folders += sum(1 for _ in folders_below(root, root.path))
            self._observer.schedule(_Handler(root, self._sink), nearest_folder(root.path), recursive=False)
        self._observer.start()

    def stop(self) -> None:
        self._observer.stop()


class _Handler(FileSystemEventHandler):
    def __init__(self, root: WatchRoot, sink: ChangeSink) -> None:
        self._root = root
        self._sink = sink

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in ("opened", "closed_no_write"):
            return
        for raw in (event.src_path, event.dest_path):
            path = os.fsdecode(raw) if raw else ""
            if path and self._matters(path, is_folder=event.is_directory):
                self._sink.changed(path)

    def _matters(self, path: str, *, is_folder: bool) -> bool:
        if path == self._root.path:
            return True
        relative = os.path.relpath(path, self._root.path)
        if relative.startswith(".."):
            return False
        *folders, name = relative.split(os.sep)
        if not all(self._root.enters(folder) for folder in folders):
            return False
        return self._root.enters(name) if is_folder else self._root.counts(name)
