"""Who may write the index: a lock of the operating system on a file beside it, with the owner's pid inside."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from core.errors import StoreError
from core.store.failures import translated

_POLL_SECONDS = 0.05
_PROBES = 3
"""Tries before a lock counts as held: another process may only have looked whether it is."""


class WriterLock:
    """One writer per index file, whatever path leads to it. The system frees the lock when its owner dies.

    The lock file stays: if it were removed, two processes could hold locks on two files of the same name.
    """

    def __init__(self, store: Path) -> None:
        store = store.resolve()
        self.path = store.with_name(store.name + ".lock")
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def acquire(self, *, blocking: bool = False, timeout: float | None = None) -> bool:
        """Take the lock; False when another holds it. Blocking waits, at most `timeout` seconds if given.

        Raises StoreReadOnly where no lock file can be made, StoreError.
        """
        if self._file is not None:
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        with translated(self.path):
            file = self._open()
            try:
                probes = 0
                while not _try(file, fcntl.LOCK_EX):
                    probes += 1
                    late = deadline is not None and time.monotonic() >= deadline
                    if (not blocking and probes >= _PROBES) or late:
                        os.close(file)
                        return False
                    time.sleep(_POLL_SECONDS if blocking else 0.002)
                os.ftruncate(file, 0)
                os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            except BaseException:
                with suppress(OSError):
                    os.close(file)
                raise
        self._file = file
        return True

    def owner(self) -> int | None:
        """The pid of the process that holds the lock; None when nobody does. Raises StoreError."""
        if self._file is not None:
            return os.getpid()
        try:
            with translated(self.path):
                file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except StoreError:
            return None
        try:
            if _try(file, fcntl.LOCK_SH):
                fcntl.flock(file, fcntl.LOCK_UN)
                return None
            text = os.pread(file, 32, 0).strip()
            return int(text) if text.isdigit() else None
        except OSError:
            return None
        finally:
            os.close(file)

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        file, self._file = self._file, None
        if file is None:
            return
        with suppress(OSError):
            os.ftruncate(file, 0)
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)

    def _open(self) -> int:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
