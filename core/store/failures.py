"""What SQLite and the file system report, as errors of ours."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import apsw

from core.errors import KeywordsDamaged, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

_PASSED = (apsw.InterruptError, apsw.MisuseError, apsw.ThreadingViolationError, apsw.ConnectionClosedError)


@contextmanager
def translated(path: Path, connection: apsw.Connection | None = None) -> Iterator[None]:
    """Errors of SQLite and of the file system as errors of ours; interrupts and misuse pass."""
    try:
        yield
    except (OSError, apsw.Error) as error:
        raise_ours(error, path, connection)


def raise_ours(error: OSError | apsw.Error, path: Path, connection: apsw.Connection | None = None) -> NoReturn:
    """Raise our error for one of SQLite or of the file system; interrupts and misuse are raised as they are."""
    if isinstance(error, _PASSED):
        raise error
    raise _ours(error, path, connection) from error


def _ours(error: OSError | apsw.Error, path: Path, connection: apsw.Connection | None) -> StoreError:
    match error:
        case OSError():
            return _from_errno(path, error.errno or 0, error.strerror or str(error))
        case apsw.CorruptError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
            return KeywordsDamaged(
                f"the keyword tables of {path} are damaged: {error}", remedy="memdeck doctor --repair"
            )
        case apsw.CorruptError():
            return StoreCorrupt(f"{path} is damaged: {error}")
        case apsw.NotADBError():
            return StoreCorrupt(f"{path} is not a database: {error}")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path} cannot be written: {error}")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{path} is in use: {error}")
        case apsw.FullError():
            return StoreFull(f"no space left for {path}")
        case apsw.CantOpenError():
            return StoreReadOnly(f"no files can be made beside {path}: {error}")
        case apsw.IOError():
            number = connection.system_errno if connection is not None else 0
            return _from_errno(path, number, str(error))
    return StoreError(f"{path}: {error}")


def _from_errno(path: Path, number: int, words: str) -> StoreError:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no space left for {path}")
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(f"{path} cannot be written: {words}")
    return StoreError(f"{path}: {words}")
