"""Memory that was freed, given back to the system: the allocator of glibc keeps it for every thread that had some."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

EVERY_SECONDS = 10.0
WORTH_BYTES = 24_000_000
"""How much more than after the last time the process must have, for it to be worth some milliseconds."""


def resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where the system does not tell."""
    try:
        import resource

        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return 0


class SpareMemory:
    """Gives back what is free, now and then and when there may be much of it. For one thread; elsewhere than with glibc
    it does nothing."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        resident: Callable[[], int] = resident_bytes,
        trim: Callable[[], object] | None = None,
    ) -> None:
        self._clock = clock
        self._resident = resident
        self._trim = trim or _trimmer()
        self._last = clock()
        self._least = 0

    def give_back(self) -> None:
        """Cheap when there is nothing to do; else some ten milliseconds, without the interpreter's lock."""
        now = self._clock()
        if self._trim is None or now - self._last < EVERY_SECONDS:
            return
        self._last = now
        self._least = min(self._least, resident := self._resident())
        if resident - self._least >= WORTH_BYTES:
            self._trim()
            self._least = self._resident()


def _trimmer() -> Callable[[], object] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        trim = ctypes.CDLL(None).malloc_trim
    except (ImportError, OSError, AttributeError):
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)
