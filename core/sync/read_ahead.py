"""Files read ahead of the writer: in processes of their own, on a thread, or at once where the writer would wait."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future

from core.courtesy import Courtesy
from core.store.document_reader import FileRow
from core.sync.intake import Intake
from core.sync.plan import Key
from core.sync.reading import Asked, Outcome, asked, read_one
from core.sync.reading_process import reading_processes
from core.types import ScannedFile

AHEAD = 32
"""Documents read and chunked before the writer gets to them."""
SMALL_BYTES = 1_000_000
"""A file up to this size is read by the writer itself when it would wait for other processes: some 0.1 s."""


class ReadAhead:
    """Reads files of one source, in their order; close it."""

    def __init__(
        self,
        intake: Intake,
        files: Sequence[ScannedFile],
        rows: Mapping[Key, FileRow],
        executor: Executor,
        courtesy: Courtesy,
        *,
        force: bool,
    ) -> None:
        """`rows` are those of the index; with `force` nothing is taken for the same as before."""
        self._intake = intake
        self._executor = executor
        self._courtesy = courtesy
        self._processes = reading_processes(intake, sum(file.stat.size for file in files))
        self._turns = itertools.cycle(self._processes)
        self._waiting: deque[tuple[Asked, Future[Outcome | None] | Future[Outcome]]] = deque()
        self._todo = deque(asked(intake, file, rows.get((file.source, file.path)), force) for file in files)

    def take(self) -> Outcome | None:
        """What reading the next file came to; None when there is no file left."""
        while True:
            while self._todo and len(self._waiting) < AHEAD:
                wanted = self._todo.popleft()
                process = next(self._turns, None)
                self._waiting.append((wanted, self._begin(wanted) if process is None else process.submit(wanted)))
            if not self._waiting:
                return None
            if self._processes and not self._waiting[0][1].done() and self._is_next_small():
                self._waiting.append(self._read_at_once(self._todo.popleft()))  # better than to wait
                continue
            wanted, future = self._waiting.popleft()
            return future.result() or self._begin(wanted).result()

    def go_on(self, files: Iterable[ScannedFile]) -> None:
        """Read more of files of which a part was written; the index is asked how far."""
        self._todo.extendleft(Asked(file) for file in files)

    def read_whole(self, file: ScannedFile) -> Outcome:
        """Read a file at once and from its start."""
        return self._begin(Asked(file, force=True)).result()

    def close(self) -> None:
        """Leave what is not taken."""
        for _, future in self._waiting:
            future.cancel()
        for process in self._processes:
            process.close()

    def _is_next_small(self) -> bool:
        """Whether the next file is read in a moment."""
        return bool(self._todo) and len(self._waiting) < 2 * AHEAD and self._todo[0].file.stat.size <= SMALL_BYTES

    def _begin(self, wanted: Asked) -> Future[Outcome]:
        return self._executor.submit(self._read, wanted)

    def _read(self, wanted: Asked) -> Outcome:
        self._courtesy.wait()
        return read_one(self._intake, wanted)

    def _read_at_once(self, wanted: Asked) -> tuple[Asked, Future[Outcome]]:
        future: Future[Outcome] = Future()
        future.set_result(read_one(self._intake, wanted))
        return wanted, future
