"""Keeps qmd's index in step: collections, updates, vectors and exported sessions, on one thread and by the clock."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Protocol

from core.backends.qmd_collections import Collection
from core.backends.qmd_output import UpdateCounts
from core.backends.qmd_process import ProgramCancelled
from core.backends.qmd_program import QmdProgram
from core.errors import BackendError, StoreError
from core.records import record
from core.settings.qmd_model import Qmd
from core.store.writer_lock import WriterLock

BOOT_ATTEMPTS = 3
BOOT_WAIT_SECONDS = 0.5
EMBED_BACKOFF_SECONDS = 60.0
EMBED_BACKOFF_MOST = 3600.0
IDLE_SECONDS = 3600.0

log = logging.getLogger(__name__)


@record(frozen=True, slots=True)
class UpkeepState:
    """How the upkeep stands; times are epoch ms, None for never."""

    busy: bool = False
    updated_ms: int | None = None
    update_error: str | None = None
    embedded_ms: int | None = None
    embed_error: str | None = None
    counts: UpdateCounts = field(default_factory=UpdateCounts)


class Exporter(Protocol):
    """Writes the sessions that qmd is to index."""

    def __call__(self, cancelled: Callable[[], bool]) -> None:
        """Raises OSError."""
        ...


class QmdUpkeep:
    """Changes qmd's index; searches only read it. One change at a time, in this process and among processes.

    `wanted` names the collections that there should be, `uses_vectors` tells whether vectors are searched at all.
    """

    def __init__(
        self,
        program: QmdProgram,
        settings: Qmd,
        wanted: Callable[[], tuple[Collection, ...]],
        *,
        export: Exporter | None = None,
    ) -> None:
        self._program = program
        self._settings = settings
        self._wanted = wanted
        self._export = export
        self._record = program.root / "collections.json"
        self._work = threading.Lock()
        self._closing = threading.Event()
        self._wake = threading.Condition()
        self._idle = threading.Event()
        self._idle.set()
        self._busy_since = 0.0
        self._thread: threading.Thread | None = None
        self._changed = False
        self._known = self._read_record()
        self.state = UpkeepState()

    @property
    def registered(self) -> dict[str, Collection]:
        """The collections that can be searched, by name: indexed once, and their folders there."""
        if not self._known:
            self._known = self._read_record()
        return {name: one for name, one in self._known.items() if one.is_there}

    # -- by hand

    def sync(self, *, force: bool = False, vectors: bool = False, cancelled: Callable[[], bool]) -> UpdateCounts:
        """Export, register what is missing, update, and with `vectors` embed. With `force` all is indexed anew.

        Raises BackendError, ProgramCancelled.
        """

        def stop() -> bool:
            return cancelled() or self._closing.is_set()

        with self._working(self._settings.update.update_timeout_ms / 1000, stop):
            counts = self._update(stop, force=force)
            if vectors and self._embeds:
                self._embed(stop)
            return counts

    def repair(self) -> None:
        """Register the collections again that qmd no longer knows. Raises BackendError."""
        self._known = self._read_record()
        self._program.configure(self.registered.values())

    def purge(self, cancelled: Callable[[], bool]) -> None:
        """Update, then take what is gone out of the index file for good. Raises BackendError, ProgramCancelled."""
        with self._working(self._settings.update.update_timeout_ms / 1000, cancelled):
            self._update(cancelled)
            self._program.cleanup(cancelled)

    # -- in the background

    def start(self) -> None:
        """Update now, if wanted, then by the clock and after changes, until `close`."""
        if self._thread is not None:
            return
        update = self._settings.update
        waited = update.on_boot and update.wait_for_boot_sync
        if waited:
            self._attempt(BOOT_ATTEMPTS)
        self._thread = threading.Thread(target=self._run, args=(update.on_boot and not waited,), name="memdeck-qmd")
        self._thread.start()

    def files_changed(self) -> None:
        """Have qmd look at the files soon, if the upkeep runs in the background."""
        with self._wake:
            self._changed = True
            self._wake.notify_all()

    def wait_idle(self, seconds: float) -> bool:
        """Wait for an update that began less than `seconds` ago; whether none is under way."""
        left = self._busy_since + seconds - time.monotonic()
        return self._idle.wait(max(0.0, left))

    def close(self) -> None:
        """End what runs. Idempotent."""
        self._closing.set()
        with self._wake:
            self._wake.notify_all()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, boot: bool) -> None:
        update, now = self._settings.update, time.monotonic()
        next_update = now if boot else _later(now, update.interval_seconds)
        next_embed = _later(now, update.embed_interval_seconds)
        failures, last_end = 0, now - update.debounce_ms / 1000
        while not self._closing.is_set():
            now = time.monotonic()
            changed_at = max(now, last_end + update.debounce_ms / 1000) if self._changed else None
            due = min(moment for moment in (next_update, changed_at, next_embed, now + IDLE_SECONDS) if moment)
            if due > now:
                with self._wake:
                    if not self._closing.is_set() and (changed_at is not None or not self._changed):
                        self._wake.wait(due - now)
                continue
            if next_embed is not None and due == next_embed:
                failures = 0 if self._quietly(self._embed_alone) else failures + 1
                backoff = min(EMBED_BACKOFF_MOST, EMBED_BACKOFF_SECONDS * 2 ** max(0, failures - 1))
                next_embed = _later(time.monotonic(), backoff if failures else update.embed_interval_seconds)
                continue
            self._changed = False
            self._attempt(BOOT_ATTEMPTS if boot else 1)
            if boot and update.embed_interval_seconds:
                next_embed = time.monotonic()
            boot = False
            last_end = time.monotonic()
            next_update = _later(last_end, update.interval_seconds)

    def _attempt(self, times: int) -> None:
        for number in range(times):
            if self._quietly(lambda: self.sync(cancelled=self._closing.is_set)):
                return
            if number + 1 < times and self._closing.wait(BOOT_WAIT_SECONDS * 2**number):
                return

    def _embed_alone(self) -> None:
        if self._embeds:
            with self._working(0, self._closing.is_set):
                self._embed(self._closing.is_set)

    def _quietly(self, work: Callable[[], object]) -> bool:
        try:
            work()
        except ProgramCancelled:
            return False
        except BackendError as error:
            log.warning("qmd: %s", error)
            return False
        except Exception as error:
            log.exception("qmd's upkeep failed")
            self.state = replace(self.state, update_error=f"{type(error).__name__}: {error}")
            return False
        return True

    # -- the work itself; the caller holds the lock

    @contextmanager
    def _working(self, seconds: float, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Be the only one that changes the index. Raises BackendError when another does for longer than `seconds`."""
        deadline = time.monotonic() + seconds
        lock = WriterLock(self._program.root / "upkeep")
        while not self._work.acquire(timeout=0.05):
            if cancelled():
                raise ProgramCancelled
            if time.monotonic() >= deadline:
                raise BackendError("qmd's index is being changed")
        try:
            self.state = replace(self.state, busy=True)
            try:
                while not lock.acquire():
                    if cancelled():
                        raise ProgramCancelled
                    if time.monotonic() >= deadline:
                        raise BackendError(f"qmd's index is being changed by process {lock.owner()}")
                    time.sleep(0.05)
            except StoreError as error:
                raise BackendError(f"qmd's folder cannot be used: {error}") from error
            yield
        finally:
            lock.release()
            self.state = replace(self.state, busy=False)
            self._work.release()

    @property
    def _embeds(self) -> bool:
        return self._settings.search_mode != "search" and self._program.missing_model("embed") is None

    def _update(self, cancelled: Callable[[], bool], *, force: bool = False) -> UpdateCounts:
        self._busy_since = time.monotonic()
        self._idle.clear()
        try:
            if self._export is not None:
                try:
                    self._export(cancelled)
                except OSError as error:
                    raise BackendError(f"sessions cannot be exported: {error}") from error
            wanted = self._configure(cancelled, force=force)
            counts = self._program.update(cancelled)
            self._save(wanted)
        except BackendError as error:
            self.state = replace(self.state, update_error=error.in_full)
            raise
        finally:
            self._idle.set()
        self.state = replace(self.state, updated_ms=int(time.time() * 1000), update_error=None, counts=counts)
        return counts

    def _embed(self, cancelled: Callable[[], bool]) -> None:
        try:
            self._program.embed(cancelled)
        except BackendError as error:
            self.state = replace(self.state, embed_error=error.in_full)
            raise
        self.state = replace(self.state, embedded_ms=int(time.time() * 1000), embed_error=None)

    def _configure(self, cancelled: Callable[[], bool], *, force: bool) -> dict[str, Collection]:
        """Tell qmd what there should be, and have it drop what is no longer wanted.

        A folder that is away for now is left out of the update, so that its documents stay in the index.
        """
        try:
            wanted = {collection.name: collection for collection in self._wanted()}
        except StoreError as error:
            raise BackendError(f"what was forgotten cannot be read: {error}") from error
        there = {name: one for name, one in wanted.items() if one.is_there}
        record = self._read_record()
        if record and not there:
            raise BackendError("none of the folders that qmd indexes is there: its index stays as it is")
        if force:
            self._known = {}
            self._program.discard()
        gone = {name: one for name, one in record.items() if name not in wanted}
        self._program.configure((*there.values(), *gone.values()))
        for name in gone:
            self._known = {other: one for other, one in self._known.items() if other != name}
            self._program.remove(name, cancelled)
        return wanted

    def _save(self, collections: dict[str, Collection]) -> None:
        self._known = dict(collections)
        rows = [collection.record() for collection in collections.values()]
        draft = self._record.with_name(f".{self._record.name}.tmp")
        try:
            draft.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
            draft.replace(self._record)
        except (OSError, UnicodeError) as error:
            raise BackendError(f"{self._record} cannot be written: {error}") from error

    def _read_record(self) -> dict[str, Collection]:
        try:
            rows = json.loads(self._record.read_text("utf-8"))
            found = [Collection.of_record(row) for row in rows]
        except (OSError, ValueError, TypeError, KeyError):
            return {}
        return {collection.name: collection for collection in found}


def _later(now: float, seconds: float) -> float | None:
    return now + seconds if seconds else None
