"""One sync as a series of short steps: scan, plan, read and chunk ahead, commit keyword rows document by document."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future

from core.errors import MemdeckError, StoreError, SyncCancelled, Undecodable
from core.events import FileFailed, FileIndexed, FileRenamed, FileSkipped, SyncProgressed
from core.store.document_reader import FileRow
from core.store.forgetting import forgotten
from core.sync.intake import Intake
from core.sync.job_tools import JobCounts, JobTools
from core.sync.leaving import leave_out, settle_gone
from core.sync.plan import Key, Plan, Prefixes, paused_words, plan_sync, with_failed, without_forgotten
from core.sync.reading import Asked, Outcome, asked, read_one
from core.sync.reading_process import reading_processes
from core.types import Progress, Scan, ScannedFile, Source, SyncReason

AHEAD = 32
"""Documents read and chunked before the writer gets to them."""
SMALL_BYTES = 1_000_000
"""A file up to this size is read by the writer itself when it would wait for other processes: some 0.1 s."""
COMMIT_SECONDS = 0.25
"""A transaction takes in documents for this long, each of them whole."""
COMMIT_CHARACTERS = 1_000_000
"""And until their chunks hold this much text, whose words are written at its end: some 0.2 s, while others wait."""
PROGRESS_SECONDS = 0.25

_FileEvent = FileIndexed | FileRenamed | FileFailed | FileSkipped


class KeywordJob:
    """Brings keyword rows in step with the files; `steps()` yields after each commit and may be closed at any yield.

    An error in one file is recorded against it; errors of the store end the job and reach the caller.
    """

    def __init__(
        self,
        tools: JobTools,
        reason: SyncReason,
        *,
        force: bool,
        paths: tuple[str, ...] | None,
        cancelled: Callable[[], bool],
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._tools = tools
        self.reason = reason
        self.force = force
        self.paths = paths
        self.counts = JobCounts()
        self.scans: dict[Source, Scan] = {}
        self.warnings: list[str] = []
        self._cancelled = cancelled
        self._on_progress = on_progress
        self._cancel = threading.Event()
        self._last_progress = 0.0

    def steps(self) -> Iterator[None]:
        """Run; each yield is a point between transactions. Raises SyncCancelled, StoreError."""
        for intake in self._tools.intakes:
            yield from self._sync_source(intake)
        if self.paths is None:
            yield from leave_out(self._tools, self.counts)

    def _sync_source(self, intake: Intake) -> Iterator[None]:
        started = time.perf_counter()
        scanned_ns = int(self._tools.clock() * 1e9)
        scan = intake.scan_paths(self.paths) if self.paths is not None else intake.scan(self._cancel)
        scan = without_forgotten(scan, forgotten(self._tools.database))
        rows = self._tools.documents.stat_keys(intake.source)
        if self.paths is not None:
            rows = _rows_below(rows, self.paths)
        plan = plan_sync(
            scan, rows, builds={intake.source: intake.build}, force=self.force, kept_places=intake.kept_places()
        )
        plan = with_failed(plan, scan, {error.path for error in self._tools.documents.errors()})
        self.scans[intake.source] = scan
        self.warnings.extend(scan.problems)
        if (words := paused_words(plan, scan)) is not None:
            self.warnings.append(words)
        self.counts.scanned += len(scan.files)
        self.counts.unchanged += plan.unchanged
        self.counts.skipped += len(scan.skipped)
        self.counts.seconds["scan"] += time.perf_counter() - started
        if self.paths is None:
            self._forget_stale_errors(intake.source, scan)
        yield from self._write(intake, plan, rows, scanned_ns)
        yield from settle_gone(self._tools, self.counts, intake, plan)

    def _forget_stale_errors(self, source: Source, scan: Scan) -> None:
        found = {file.path for file in scan.files}
        documents = self._tools.documents
        noted = {error.path for error in documents.errors() if error.source == source}
        noted.update(skip.path for skip in documents.skips())
        uncertain = Prefixes(scan.uncertain)
        stale = [path for path in noted - found if not uncertain.cover(path)]
        if stale:
            with self._tools.database.transaction():
                for path in stale:
                    documents.clear_error(source, path)

    def _write(self, intake: Intake, plan: Plan, rows: Mapping[Key, FileRow], scanned_ns: int) -> Iterator[None]:
        outcomes = self._read_ahead(intake, plan.read, rows)
        done, total = 0, len(plan.read)
        exhausted = total == 0
        while not exhausted:
            if self._cancelled():
                raise SyncCancelled("the sync was cancelled")
            batch: list[Outcome] = []
            events: list[_FileEvent] = []
            first = next(outcomes, None)
            if first is None:
                break
            self._tools.courtesy.wait()
            started = time.perf_counter()
            with self._tools.database.transaction():
                outcome: Outcome | None = first
                characters = 0
                while outcome is not None:
                    batch.append(outcome)
                    events.extend(self._write_whole(intake, outcome, plan, scanned_ns))
                    characters += outcome.characters
                    if characters > COMMIT_CHARACTERS or time.perf_counter() - started > COMMIT_SECONDS:
                        break
                    outcome = next(outcomes, None)
                exhausted = outcome is None
            self.counts.seconds["keyword"] += time.perf_counter() - started
            done += len(batch)
            for event in events:
                self._tools.bus.publish(event)
            self._progress(done, total, f"Indexing {intake.source} files…")
            yield

    def _read_ahead(
        self, intake: Intake, files: Sequence[ScannedFile], rows: Mapping[Key, FileRow]
    ) -> Iterator[Outcome]:
        processes = reading_processes(intake, sum(file.stat.size for file in files))
        turns = itertools.cycle(processes)
        waiting: deque[tuple[Asked, Future[Outcome | None] | Future[Outcome]]] = deque()
        todo = deque(asked(intake, file, rows.get((file.source, file.path)), self.force) for file in files)
        try:
            while todo or waiting:
                while todo and len(waiting) < AHEAD:
                    wanted = todo.popleft()
                    waiting.append((wanted, next(turns).submit(wanted) if processes else self._begin(intake, wanted)))
                if processes and not waiting[0][1].done() and len(waiting) < 2 * AHEAD and _is_small(todo):
                    waiting.append(_read_at_once(intake, todo.popleft()))  # better than to wait
                    continue
                wanted, future = waiting.popleft()
                outcome = future.result() or self._begin(intake, wanted).result()
                self.counts.seconds["read"] += outcome.seconds
                yield outcome
        finally:
            for _, future in waiting:
                future.cancel()
            for process in processes:
                process.close()

    def _begin(self, intake: Intake, wanted: Asked) -> Future[Outcome]:
        return self._tools.executor.submit(self._read, intake, wanted)

    def _read(self, intake: Intake, wanted: Asked) -> Outcome:
        self._tools.courtesy.wait()
        return read_one(intake, wanted)

    def _write_whole(self, intake: Intake, outcome: Outcome, plan: Plan, scanned_ns: int) -> list[_FileEvent]:
        """One document, all of it or nothing; what fails is its own error, unless the store itself failed."""
        try:
            with self._tools.database.transaction():
                return self._write_one(intake, outcome, plan, scanned_ns)
        except StoreError:
            raise
        except Exception as error:
            return [self._record(outcome.file, error)]

    def _write_one(self, intake: Intake, outcome: Outcome, plan: Plan, scanned_ns: int) -> list[_FileEvent]:
        file, documents, now_ms = outcome.file, self._tools.documents, self._tools.now_ms()
        if outcome.error is not None:
            return [self._record(file, outcome.error)]
        if outcome.same is not None:
            documents.touch(file.source, file.path, outcome.same.stat, scanned_ns)
            documents.clear_error(file.source, file.path)
            self.counts.unchanged += 1
            return []
        if outcome.prepared is None:  # gone between scan and read; the next scan sees it as gone
            return []
        started = time.perf_counter()
        prepared = outcome.prepared
        events: list[_FileEvent] = []
        old = plan.renamed.get((file.source, file.path))
        if old is not None:
            events.append(FileRenamed(at_ms=now_ms, source=file.source, old_path=old[1], path=file.path))
            if old[0] == file.source and documents.rename(old[1], prepared.document, scanned_ns=scanned_ns):
                self.counts.indexed += 1
                return events
        replaced = documents.replace(
            prepared.document,
            prepared.chunks,
            build=intake.build,
            scanned_ns=scanned_ns,
            now_ms=now_ms,
            embed_hashes=prepared.embed_hashes,
        )
        documents.clear_error(file.source, file.path)
        self.counts.indexed += 1
        self.counts.chunks_added += replaced.new
        self.counts.chunks_removed += replaced.gone
        self.counts.vectors_cached += replaced.cached
        events.append(
            FileIndexed(
                at_ms=now_ms,
                source=file.source,
                path=file.path,
                chunks=len(prepared.chunks),
                chunks_new=replaced.new,
                chunks_same=replaced.same,
                chunks_gone=replaced.gone,
                milliseconds=(outcome.seconds + time.perf_counter() - started) * 1000,
            )
        )
        return events

    def _record(self, file: ScannedFile, error: Exception) -> FileFailed | FileSkipped:
        now_ms = self._tools.now_ms()
        if isinstance(error, Undecodable):
            self.counts.skipped += 1
            self._tools.documents.remove(file.source, file.path)
            self._tools.documents.record_skip(file.source, file.path, "undecodable", str(error), now_ms=now_ms)
            return FileSkipped(at_ms=now_ms, path=file.path, kind="undecodable", detail=str(error))
        words = _words(error)
        self.counts.failed += 1
        attempts = self._tools.documents.record_error(file.source, file.path, words, now_ms=now_ms)
        return FileFailed(at_ms=now_ms, source=file.source, path=file.path, error=words, attempts=attempts)

    def _progress(self, completed: int, total: int, label: str) -> None:
        now = time.monotonic()
        if completed < total and now - self._last_progress < PROGRESS_SECONDS:
            return
        self._last_progress = now
        progress = Progress(completed, total, label)
        self._on_progress(progress)
        self._tools.bus.publish(SyncProgressed(at_ms=self._tools.now_ms(), progress=progress))


def _is_small(todo: Sequence[Asked]) -> bool:
    """Whether the next file is read in a moment."""
    return bool(todo) and todo[0].file.stat.size <= SMALL_BYTES


def _read_at_once(intake: Intake, wanted: Asked) -> tuple[Asked, Future[Outcome]]:
    future: Future[Outcome] = Future()
    future.set_result(read_one(intake, wanted))
    return wanted, future


def _words(error: Exception) -> str:
    """An error for people: the path stands beside it already."""
    if isinstance(error, MemdeckError):
        return str(error)
    reason = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {reason}" if reason else f"{type(error).__name__}: {error}"


def _rows_below(rows: Mapping[Key, FileRow], paths: Sequence[str]) -> dict[Key, FileRow]:
    exact = set(paths)
    folders = tuple(path.rstrip("/") + "/" for path in paths)
    return {key: row for key, row in rows.items() if row.absolute in exact or row.absolute.startswith(folders)}
