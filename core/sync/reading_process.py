"""Reading in processes of its own: what reads and cuts text does not share the interpreter's lock with what writes."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Callable, Sequence

from core.child import Child, serve
from core.sync.intake import Intake
from core.sync.reading import Asked, Outcome, Packed, packed, read_one, unpacked

log = logging.getLogger(__name__)

WORTH_BYTES = 8_000_000
"""Of files to read that make a process worth its start of 0.3 s of CPU."""
MOST_PROCESSES = 2
"""The writer keeps up with two."""
_NICENESS = 5


def processes_for(size: int) -> int:
    """How many processes should read files of so many bytes in all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if size < WORTH_BYTES or cores < 2 or not sys.executable else min(MOST_PROCESSES, cores // 2)


class ReadingProcess(Child[Asked, Outcome]):
    """Reads files for an intake; None for one that is to be read without it."""

    def __init__(self, intake: Intake) -> None:
        """Raises OSError and what pickling raises."""
        super().__init__(__name__, intake, _unpacked, what="a reading process")


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
    serve(_begin, niceness=_NICENESS)


def _begin(intake: Intake) -> Callable[[Asked], bytes]:
    return lambda asked: _pickled(read_one(intake, asked))


def _unpacked(asked: Asked, came: Packed) -> Outcome:
    return unpacked(asked.file, came)


def _pickled(outcome: Outcome) -> bytes:
    try:
        data = pickle.dumps(packed(outcome), pickle.HIGHEST_PROTOCOL)
        if outcome.error is not None:
            pickle.loads(data)
    except Exception:
        why = RuntimeError(f"{type(outcome.error).__name__}: {outcome.error}")
        data = pickle.dumps(packed(Outcome(outcome.file, error=why, seconds=outcome.seconds)))
    return data
