"""Linux: one inotify descriptor, one thread, one watch for each folder that counts. Ignored trees cost nothing."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from core.sync.watching import ChangeSink, WatchRoot, folders_below, nearest_folder

_ID = CallbackId(1)
_FOLDER_MASK = Mask(
    InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
)


class InotifyWatch:
    """Watches roots that exist, and for those that do not the nearest folder above, until they come."""

    def __init__(self, roots: Sequence[WatchRoot], sink: ChangeSink) -> None:
        self._roots = list(roots)
        self._sink = sink
        self._lock = threading.RLock()
        self._inotify: InotifyFD | None = None
        self._places: dict[WatchDescriptor, str] = {}
        self._watched: dict[str, WatchDescriptor] = {}
        self._serving: dict[str, list[WatchRoot]] = {}
        self._awaited: dict[str, list[WatchRoot]] = {}

    @property
    def folders(self) -> int:
        return len(self._watched)

    @property
    def is_alive(self) -> bool:
        return self._inotify is not None and self._inotify.is_alive()

    def start(self) -> None:
        """Place the watches. Raises OSError (EMFILE, ENOSPC) when inotify has no capacity."""
        self._inotify = InotifyFD()
        self._inotify.start()
        try:
            with self._lock:
                for root in self._roots:
                    self._place(root)
        except OSError:
            self.stop()
            raise

    def stop(self) -> None:
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.stop()

    # -- placing

    def _place(self, root: WatchRoot) -> None:
        """Watch a root, and what is above it, so that its disappearance and return are seen."""
        if os.path.isdir(root.path) and not os.path.islink(root.path):
            for folder in folders_below(root, root.path):
                self._watch(folder, root)
        above = nearest_folder(root.path)
        self._watch(above, None)
        awaiting = self._awaited.setdefault(above, [])
        if root not in awaiting:
            awaiting.append(root)

    def _watch(self, folder: str, root: WatchRoot | None) -> None:
        if folder not in self._watched:
            assert self._inotify is not None
            try:
                descriptor = self._inotify.add_callback(os.fsencode(folder), _FOLDER_MASK, self, _ID)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    return
                raise
            if descriptor < 0:  # not readable by this user: its siblings are watched all the same
                return
            earlier = self._places.get(descriptor)
            if earlier is not None and earlier != folder:  # the same folder under its new name
                self._watched.pop(earlier, None)
                self._serving[folder] = self._serving.pop(earlier, [])
            self._places[descriptor] = folder
            self._watched[folder] = descriptor
        if root is not None:
            serving = self._serving.setdefault(folder, [])
            if root not in serving:
                serving.append(root)

    def _leave(self, folder: str) -> None:
        """Forget a folder and what is below it: it was moved away or deleted."""
        below = folder.rstrip("/") + "/"
        gone = [path for path in self._watched if path == folder or path.startswith(below)]
        descriptors = []
        for path in gone:
            descriptor = self._watched.pop(path)
            self._serving.pop(path, None)
            if self._places.get(descriptor) == path:
                del self._places[descriptor]
                descriptors.append((descriptor, _ID))
        if descriptors and self._inotify is not None:
            self._inotify.remove_callbacks(descriptors)

    # -- told by the inotify thread

    def on_event(self, event: InotifyEvent) -> None:
        try:
            with self._lock:
                self._take(event)
        except OSError:
            self._sink.lost()

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        with self._lock:
            folder = self._places.pop(wd, None)
            if folder is None or self._inotify is None:
                return
            self._watched.pop(folder, None)
            self._serving.pop(folder, None)
            awaiting = self._awaited.pop(folder, [])
            for root in awaiting:
                self._place(root)

    def on_queue_overflow(self) -> None:
        self._sink.lost()

    def _take(self, event: InotifyEvent) -> None:
        folder = self._places.get(event.wd)
        if folder is None:
            return
        if not event.name:
            if event.is_move_self and self._is_top(folder):
                self._start_over(folder)
            return
        path = os.path.join(folder, os.fsdecode(event.name))
        name = os.path.basename(path)
        for root in self._awaited.get(folder, ()):
            if root.path == path or root.path.startswith(path + "/"):
                self._root_moved(root, path, event)
        serving = self._serving.get(folder)
        if not serving:
            return
        if event.is_directory:
            self._folder_moved(serving, path, name, event)
        elif any(root.counts(name) for root in serving):
            self._sink.changed(path)

    def _is_top(self, folder: str) -> bool:
        """Whether nobody above `folder` would tell of its move."""
        return os.path.dirname(folder) not in self._watched

    def _start_over(self, folder: str) -> None:
        """A folder at the top was moved away: every root is placed by its path again."""
        self._leave(folder)
        self._awaited.clear()
        for root in self._roots:
            self._place(root)
        self._sink.lost()

    def _root_moved(self, root: WatchRoot, path: str, event: InotifyEvent) -> None:
        if event.is_delete or event.is_moved_from:
            self._leave(path)
        else:
            self._leave(root.path)
            self._place(root)
        self._sink.changed(root.path)

    def _folder_moved(self, serving: Sequence[WatchRoot], path: str, name: str, event: InotifyEvent) -> None:
        entering = [root for root in serving if root.recursive and root.enters(name)]
        if not entering:
            return
        if event.is_delete or event.is_moved_from:
            self._leave(path)
        elif event.is_create or event.is_moved_to or event.is_attrib:
            for root in entering:
                for below in folders_below(root, path):
                    self._watch(below, root)
        else:
            return
        self._sink.changed(path)
