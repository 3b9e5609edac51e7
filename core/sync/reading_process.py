"""Reading in processes of its own: what reads and cuts text does not share the interpreter's lock with what writes.

A process gets its intake by standard input, then one file after the other, and answers on standard output in the same
order; each message is its length (8 bytes, little-endian) and a pickle. It ends with its standard input, and so with
whoever started it.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import IO

from core.sync.intake import Intake
from core.sync.reading import Asked, Outcome, packed, read_one, unpacked

log = logging.getLogger(__name__)

WORTH_BYTES = 8_000_000
"""Of files to read that make a process worth its start of 0.3 s of CPU."""
MOST_PROCESSES = 2
"""The writer keeps up with two."""
_LENGTH = struct.Struct("<Q")
_NICENESS = 5
_SELDOM = (20_000, 20, 100)
_START = "import sys; sys.path[:] = sys.argv[1:]; from core.sync.reading_process import main; main()"


def processes_for(size: int) -> int:
    """How many processes should read files of so many bytes in all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if size < WORTH_BYTES or cores < 2 or not sys.executable else min(MOST_PROCESSES, cores // 2)


class ReadingProcess:
    """One process, and the thread that hears it."""

    def __init__(self, intake: Intake) -> None:
        """Raises OSError and what pickling raises."""
        recipe = pickle.dumps(intake, pickle.HIGHEST_PROTOCOL)
        self._owed: deque[tuple[Asked, Future[Outcome | None]]] = deque()
        self._lock = threading.Lock()
        self._is_broken = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        with suppress(OSError):  # it has ended: so the hearing thread finds out
            _send(self._to, recipe)
        self._thread = threading.Thread(target=self._hear, name="memdeck-hear", daemon=True)
        self._thread.start()

    def submit(self, asked: Asked) -> Future[Outcome | None]:
        """Have a file read; None where the process failed and the file is to be read without it."""
        future: Future[Outcome | None] = Future()
        with self._lock:
            is_broken = self._is_broken
            if not is_broken:
                self._owed.append((asked, future))
        if is_broken:
            future.set_result(None)
        else:
            with suppress(OSError):  # as above
                _send(self._to, pickle.dumps(asked, pickle.HIGHEST_PROTOCOL))
        return future

    def _hear(self) -> None:
        try:
            while True:
                data = _received(self._from)
                if data is None:
                    break
                with self._lock:
                    if self._is_broken:
                        return
                    asked, future = self._owed.popleft()
                _answer(future, unpacked(asked.file, pickle.loads(data)))
        except Exception:
            log.exception("a reading process cannot be understood")
        with self._lock:
            self._is_broken = True
            owed = list(self._owed)
            self._owed.clear()
        if owed:
            log.warning("a reading process ended (%s); its files are read without it", self._process.poll())
        for _, future in owed:
            _answer(future, None)

    def close(self) -> None:
        """End it, whatever it is at."""
        with self._lock:
            self._is_broken = True
            self._owed.clear()
        self._process.kill()
        with suppress(OSError):
            self._to.close()
        self._process.wait()
        self._thread.join()
        self._from.close()


def _answer(future: Future[Outcome | None], outcome: Outcome | None) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(outcome)


def reading_processes(intake: Intake, size: int) -> Sequence[ReadingProcess]:
    """Processes for reading files of so many bytes in all; none where it is not worth it, or where none can be had."""
    started: list[ReadingProcess] = []
    try:
        for _ in range(processes_for(size)):
            started.append(ReadingProcess(intake))
    except Exception as error:
        log.warning("no process for reading: %s", error)
    return started


def main() -> None:
    """Read what standard input asks for until it ends."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not answer
    recipe = _received(source)
    if recipe is None:
        return
    intake: Intake = pickle.loads(recipe)
    gc.freeze()
    gc.set_threshold(*_SELDOM)  # nearly all that reading makes is used and dropped, in no circles
    with suppress(BrokenPipeError):
        while (data := _received(source)) is not None:
            outcome = read_one(intake, pickle.loads(data))
            _send(target, _pickled(outcome))


def _pickled(outcome: Outcome) -> bytes:
    try:
        data = pickle.dumps(packed(outcome), pickle.HIGHEST_PROTOCOL)
        if outcome.error is not None:
            pickle.loads(data)
    except Exception:
        why = RuntimeError(f"{type(outcome.error).__name__}: {outcome.error}")
        data = pickle.dumps(packed(Outcome(outcome.file, error=why, seconds=outcome.seconds)))
    return data


def _send(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _received(file: IO[bytes]) -> bytes | None:
    """The next message; None at the end, also where it comes in the middle of one."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = file.read(length)
    return data if len(data) == length else None
