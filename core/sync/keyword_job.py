"""One sync as a series of short steps: scan, plan, read and chunk ahead, commit keyword rows document by document."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from core.errors import MemdeckError, StoreError, SyncCancelled, Undecodable
from core.events import FileFailed, FileIndexed, FileRenamed, FileSkipped, SyncProgressed
from core.store.document_reader import FileRow
from core.store.forgetting import forgotten
from core.sync.intake import Intake, Prepared
from core.sync.job_tools import JobCounts, JobTools
from core.sync.leaving import leave_out, settle_gone
from core.sync.plan import Key, Plan, Prefixes, paused_words, plan_sync, with_failed, without_forgotten
from core.sync.read_ahead import ReadAhead
from core.sync.reading import Outcome
from core.sync.unmounted import with_unmounted
from core.types import Progress, Scan, ScannedFile, Source, SyncReason

MOST_STARTS = 3
"""How often a file that is read in parts may begin anew in one sync."""
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
        self._starts: Counter[str] = Counter()
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
        scan = with_unmounted(scan, rows)
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
        done, total = 0, len(plan.read)
        if not total:
            return
        tools = self._tools
        ahead = ReadAhead(intake, plan.read, rows, tools.executor, tools.courtesy, force=self.force)
        try:
            while (first := ahead.take()) is not None:
                if self._cancelled():
                    raise SyncCancelled("the sync was cancelled")
                tools.courtesy.wait()
                batch, events = self._write_batch(intake, first, ahead, plan, scanned_ns)
                unfinished = [outcome.file for outcome in batch if outcome.is_partial]
                ahead.go_on(unfinished)
                done += len(batch) - len(unfinished)
                for event in events:
                    tools.bus.publish(event)
                self._progress(done, total, f"Indexing {intake.source} files…")
                yield
        finally:
            ahead.close()

    def _write_batch(
        self, intake: Intake, first: Outcome, ahead: ReadAhead, plan: Plan, scanned_ns: int
    ) -> tuple[list[Outcome], list[_FileEvent]]:
        """Write what is read for some moments, in one transaction."""
        batch: list[Outcome] = []
        events: list[_FileEvent] = []
        started = time.perf_counter()
        with self._tools.database.transaction():
            outcome: Outcome | None = first
            characters = 0
            while outcome is not None:
                self.counts.seconds["read"] += outcome.seconds
                written, some = self._write_whole(intake, outcome, ahead, plan, scanned_ns)
                batch.append(written)
                events.extend(some)
                characters += written.characters
                if characters > COMMIT_CHARACTERS or time.perf_counter() - started > COMMIT_SECONDS:
                    break
                outcome = ahead.take()
        self.counts.seconds["keyword"] += time.perf_counter() - started
        return batch, events

    def _write_whole(
        self, intake: Intake, outcome: Outcome, ahead: ReadAhead, plan: Plan, scanned_ns: int
    ) -> tuple[Outcome, list[_FileEvent]]:
        """One document, all of it or nothing; what fails is its own error, unless the store itself failed."""
        try:
            prepared = outcome.prepared
            if prepared is not None and prepared.kept and not self._stands(intake, prepared):
                outcome = ahead.read_whole(outcome.file)
            self._count_start(outcome)
            with self._tools.database.transaction():
                return outcome, self._write_one(intake, outcome, plan, scanned_ns)
        except StoreError:
            raise
        except Exception as error:
            return Outcome(outcome.file, error=error), [self._record(outcome.file, error)]

    def _count_start(self, outcome: Outcome) -> None:
        """Raises MemdeckError for a file that is read in parts and again and again begun anew."""
        if outcome.is_partial and outcome.prepared is not None and not outcome.prepared.base:
            self._starts[outcome.file.path] += 1
            if self._starts[outcome.file.path] > MOST_STARTS:
                raise MemdeckError("is rewritten faster than it can be read")

    def _stands(self, intake: Intake, prepared: Prepared) -> bool:
        """Whether the chunks that go before these are still the ones that the reading went on from."""
        document = prepared.document
        found = self._tools.documents.get_document(document.source, document.path)
        at = None if found is None else (found.hash, found.build)
        return found is not None and at == (prepared.base, intake.build) and found.chunks >= prepared.kept

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
            kept=prepared.kept,
        )
        documents.clear_error(file.source, file.path)
        self.counts.indexed += not outcome.is_partial
        self.counts.chunks_added += replaced.new
        self.counts.chunks_removed += replaced.gone
        self.counts.vectors_cached += replaced.cached
        events.append(
            FileIndexed(
                at_ms=now_ms,
                source=file.source,
                path=file.path,
                chunks=prepared.kept + len(prepared.chunks),
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
