"""Memory that was freed goes back to the system, where the C library would keep it for the next who wants as much."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def share_heap() -> bool:
    """From now on, in this process, all threads allocate from one heap, where each would get one of its own.

    In a long life each of them grows to what its thread once needed, and its holes are of use to no other. To be called
    before threads are started. False where the allocator is another one than glibc's.
    """
    library = _glibc()
    return library is not None and bool(library.mallopt(_ARENA_MAX, 1))


def give_back_free_pages() -> bool:
    """Give back what is free in the heaps of all threads, also between blocks in use; without the interpreter's lock.

    The steps of a model leave 150 MB there, threads that come and go some 50 MB. It takes some milliseconds. True if
    there was something; False where the allocator is another one than glibc's.
    """
    library = _glibc()
    return library is not None and bool(library.malloc_trim(0))


@cache
def _glibc() -> Any:
    """The C library, if it is glibc; otherwise None."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        library = ctypes.CDLL(None)
        library.malloc_trim.argtypes = [ctypes.c_size_t]
        library.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
    except (ImportError, OSError, AttributeError):
        return None
    return library
