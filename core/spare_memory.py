"""Memory that was freed goes back to the system, where the C library would keep it for the next who wants as much."""

from __future__ import annotations

import sys

LARGE_BYTES = 1 << 20
"""A query's texts need less for each step of the model, and are embedded as quickly as before."""
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's malloc.h


def give_back_large_blocks() -> bool:
    """From now on, in this process, each large block is mapped by itself and given back when it is freed.

    Without it glibc learns to keep larger and larger ones in every thread's heap: loading a model and a few long texts
    leave 80 MB behind that nobody uses. False where the allocator is another one.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE_BYTES))
    except (ImportError, OSError, AttributeError):
        return False
