"""What SQLite and the file system report, as errors of ours."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from core.errors import KeywordsDamaged, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly


@contextmanager
def translated(path: Path, connection: apsw.Connection | None = None) -> Iterator[None]:
    """Errors of SQLite and of the file system as errors of ours; interrupts and misuse pass."""
    try:
        yield
    except OSError as error:
        raise _from_errno(path, error.errno or 0, str(error)) from error
    except (apsw.InterruptError, apsw.MisuseError, apsw.ThreadingViolationError, apsw.ConnectionClosedError):
        raise
    except apsw.CorruptError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
            raise KeywordsDamaged(
                f"the keyword tables of {path} are damaged: {error}", remedy="memdeck doctor"
            ) from error
        raise StoreCorrupt(f"{path} is damaged: {error}") from error
    except apsw.NotADBError as error:
        raise StoreCorrupt(f"{path} is not a database: {error}") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreReadOnly(f"{path} cannot be written: {error}") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is in use: {error}") from error
    except apsw.FullError as error:
        raise StoreFull(f"no space left for {path}") from error
    except apsw.CantOpenError as error:
        raise StoreReadOnly(f"no files can be made beside {path}: {error}") from error
    except apsw.IOError as error:
        number = connection.system_errno if connection is not None else 0
        raise _from_errno(path, number, str(error)) from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error


def _from_errno(path: Path, number: int, words: str) -> StoreError:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no space left for {path}")
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(f"{path}: {words}")
    return StoreError(f"{path}: {words}")
