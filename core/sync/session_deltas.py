"""When transcripts that grow are synced: after a pause, once enough bytes or messages have been added."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable

from core.records import record
from core.settings.model import SessionSync
from core.sources.transcripts import openclaw_store
from core.sources.transcripts.finder import store_of
from core.sources.transcripts.found import document_path, path_stat
from core.sources.transcripts.openclaw import archive_name
from core.sources.transcripts.records import opened
from core.sources.transcripts.stores import Store, read_store
from core.sync.growth import StoredSessions

log = logging.getLogger(__name__)

DELTA_SECONDS = 5.0
"""From the first change to the look at how much has been added; further changes do not put it off."""
_BLOCK = 64 << 10


@record(frozen=True, slots=True)
class Added:
    """What a transcript holds that the index does not: bytes, and messages (lines or rows).

    `at_once` marks changes that no threshold holds back: archives, files that are gone or come back, folders.
    """

    bytes: int = 0
    messages: int = 0
    at_once: bool = False

    def reaches(self, rules: SessionSync) -> bool:
        """Whether it is time for a sync; a threshold of 0 takes any growth."""
        if self.at_once:
            return True
        if self.bytes <= 0 and self.messages <= 0:
            return False
        return self.bytes >= rules.delta_bytes or self.messages >= rules.delta_messages


def added_to(path: str, index: StoredSessions, *, enough_bytes: int) -> Added:
    """How much was added to the transcript or store at an absolute path since it was indexed.

    What the index knows outlives a restart, so nothing that was added meanwhile is missed. A file that shrank counts
    whole. Lines are counted only below `enough_bytes`.
    """
    stat = path_stat(path)
    name = path.rpartition("/")[2]
    archive = archive_name(name)
    if stat is None or name.endswith((".zst", ".json", ".db", ".md")) or (archive is not None and archive[1]):
        return Added(at_once=True)
    known = index.known_sizes(path)
    there = [one for one in known if not one.source_gone]
    try:
        if name.endswith(".sqlite"):
            return _added_to_store(path, {one.path: (one.stat.size, one.stat.inode) for one in there})
        if len(there) < len(known):
            return Added(at_once=True)
        before = max((one.stat.size for one in known), default=0)
        start = before if stat.size >= before else 0
        grown = stat.size - start
        return Added(grown, _lines_after(path, start) if 0 < grown < enough_bytes else 0)
    except OSError:
        return Added(at_once=True)


def _added_to_store(path: str, known: dict[str, tuple[int, int]]) -> Added:
    def measure(store: Store) -> Added:
        size = messages = 0
        gone = set(known)
        if not openclaw_store.is_store(store):
            return Added(at_once=True)
        for session in openclaw_store.sessions_of(store):
            document = document_path("openclaw", session.id)
            gone.discard(document)
            rows, last = known.get(document, (0, -1))
            if session.rows < rows or session.last < last:
                return Added(at_once=True)
            messages += session.rows - rows
            if session.last > last:
                size += openclaw_store.bytes_after(store, session.id, last)
        return Added(size, messages, at_once=bool(gone))

    return read_store(path, measure)


def _lines_after(path: str, start: int) -> int:
    with opened(path) as file:
        file.seek(start)
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


class SessionDeltas:
    """Gathers changed transcripts and delivers those that have grown enough, `seconds` after the first change.

    `deliver` is called with absolute paths on a thread of this object and must not block. What has not grown enough
    waits for its next change, or for a sync of everything.
    """

    def __init__(
        self,
        rules: SessionSync,
        index: StoredSessions,
        deliver: Callable[[tuple[str, ...]], None],
        *,
        seconds: float = DELTA_SECONDS,
    ) -> None:
        self._rules = rules
        self._index = index
        self._deliver = deliver
        self._seconds = seconds
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    def changed(self, paths: Iterable[str]) -> None:
        """Something happened to these absolute paths; may be called from any thread."""
        with self._lock:
            if self._closed:
                return
            self._changed.update(dict.fromkeys(store_of(path) for path in paths))
            if self._changed and self._timer is None:
                self._timer = threading.Timer(self._seconds, self._look)
                self._timer.name = "memdeck-deltas"
                self._timer.daemon = True
                self._timer.start()

    def due(self) -> tuple[str, ...]:
        """Take the paths that have grown enough; the others are left to their next change."""
        with self._lock:
            changed, self._changed = list(self._changed), {}
            self._timer = None
        return tuple(
            path
            for path in changed
            if os.path.isdir(path)  # noqa: PTH112
            or added_to(path, self._index, enough_bytes=max(1, self._rules.delta_bytes)).reaches(self._rules)
        )

    def close(self) -> None:
        """Give up what waits."""
        with self._lock:
            self._closed = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look(self) -> None:
        try:
            due = self.due()
            if due and not self._closed:
                self._deliver(due)
        except Exception:
            log.exception("looking at grown transcripts failed")
        finally:
            self._index.close()
