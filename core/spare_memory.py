"""Memory that was freed goes back to the system, where the C library would keep it for the next who wants as much."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

LARGE_BYTES = 1 << 20
"""A model's steps share blocks of this size and more; few other things are as large."""
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's malloc.h
_ARENA_MAX = -8  # M_ARENA_MAX


def share_heap() -> bool:
    """From now on, in this process, all threads allocate from one heap, where each would get one of its own.

    In a long life each of them grows to what its thread once needed, and its holes are of use to no other. To be called
    before threads are started. False where the allocator is another one than glibc's.
    """
    library = _glibc()
    return library is not None and bool(library.mallopt(_ARENA_MAX, 1))


@cache
def map_large_blocks() -> bool:
    """From now on, in this process, each large block is mapped by itself, and goes back when it is freed.

    Without it glibc learns to keep larger and larger ones in its heap: what is made while a model runs then lies above
    what its steps took. False where the allocator is another one than glibc's.
    """
    library = _glibc()
    return library is not None and bool(library.mallopt(_MMAP_THRESHOLD, LARGE_BYTES))


def give_back_free_pages() -> bool:
    """Give back what is free in the heaps of all threads, also between blocks in use; without the interpreter's lock.

    Loading a model leaves 25 MB there, threads that come and go some 50 MB. It takes some milliseconds. True if there
    was something; False where the allocator is another one than glibc's.
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
