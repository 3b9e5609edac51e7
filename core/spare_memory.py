"""Memory that was freed goes back to the system, where the C library would keep it for the next who wants as much."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

LARGE_BYTES = 1 << 20
"""A query's texts need less for each step of the model, and are embedded as quickly as before."""
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's malloc.h


def give_back_large_blocks() -> bool:
    """From now on, in this process, each large block is mapped by itself and given back when it is freed.

    Without it glibc learns to keep larger and larger ones in every thread's heap: loading a model and a few long texts
    leave 80 MB behind that nobody uses. False where the allocator is another one.
    """
    library = _c_library()
    return library is not None and bool(library.mallopt(_MMAP_THRESHOLD, LARGE_BYTES))


def give_back_free_pages() -> bool:
    """Give back now what is free between smaller blocks, in the heaps of all threads; without the interpreter's lock.

    Threads that come and go leave their heaps in pieces: a long life of the app holds some 50 MB of these. It takes
    some milliseconds. True if there was something.
    """
    library = _c_library()
    return library is not None and bool(library.malloc_trim(0))


@cache
def _c_library() -> Any:
    """The one with glibc's allocator; None where the allocator is another one."""
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
