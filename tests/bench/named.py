"""memdeck with its threads' names told to the kernel: `named.py ARGUMENTS…` is `python -m tui ARGUMENTS…`, on Linux.

Python tells them itself from 3.14 on; before, /proc calls every thread by the name of the program.
"""

from __future__ import annotations

import ctypes
import runpy
import sys
import threading

_SET_NAME = 15
"""PR_SET_NAME of prctl(2), for the calling thread; the kernel keeps 15 bytes."""
_libc = ctypes.CDLL(None)


def _tell(*_: object) -> None:
    """The profiler of a new thread: called for its first step, and never again."""
    sys.setprofile(None)
    _libc.prctl(_SET_NAME, threading.current_thread().name.encode(), 0, 0, 0)


if __name__ == "__main__":
    threading.setprofile(_tell)
    sys.argv[0] = "memdeck"
    runpy.run_module("tui", run_name="__main__")
