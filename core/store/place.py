"""Where an index file lies: its file system, its first bytes, and copies of what cannot be opened in place."""

from __future__ import annotations

import importlib.util
import os
import stat
from contextlib import suppress
from pathlib import Path

from core.errors import StoreCorrupt, StoreError
from core.regexes import late_regex

SQLITE_MAGIC = b"SQLite format 3\x00"
SIDE_FILES = ("-wal", "-shm", "-journal")

# Their locks and shared memory do not reach every host that may write; WAL needs both.
_NETWORK_TYPES = frozenset(
    ("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
     "nfs4", "ocfs2", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs")
)  # fmt: skip
_OCTAL = late_regex(r"\\([0-7]{3})")


def is_network_file_system(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether `path` lies on a file system that other hosts may write too; False where the system does not tell."""
    try:
        table = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    place = os.fspath(path.parent.resolve() / path.name)
    best, kind = "", ""
    for line in table.splitlines():
        head, separator, tail = line.partition(" - ")
        fields = head.split(" ")
        if not separator or len(fields) < 5:
            continue
        mount = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
        inside = place == mount or place.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, tail.split(" ", 1)[0]
    return kind in _NETWORK_TYPES or kind.startswith("fuse.")


def file_bytes(path: Path) -> int:
    """Bytes on disk: the database and its write-ahead log; 0 where there is none."""
    path, total = path.resolve(), 0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            total += path.with_name(path.name + suffix).stat().st_size
    return total


def is_foreign(path: Path) -> bool:
    """Whether the file has content that cannot be an SQLite database. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(len(SQLITE_MAGIC))
    return head != b"" and head != SQLITE_MAGIC


def move_aside(path: Path) -> Path:
    """Rename a database and its side files to the first free `<name>.bad-N`; the new path. Raises OSError."""
    number = 1
    while os.path.lexists(kept := path.with_name(f"{path.name}.bad-{number}")):
        number += 1
    for suffix in SIDE_FILES:
        side = path.with_name(path.name + suffix)
        if os.path.lexists(side):
            side.rename(kept.with_name(kept.name + suffix))
    path.rename(kept)
    return kept


def private_copy(path: Path) -> Path:
    """The database and its write-ahead log in a temporary folder of one's own; the caller removes the folder."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="memdeck-"))
    try:
        copy = folder / path.name
        shutil.copyfile(path, copy)
        wal = path.with_name(path.name + "-wal")
        if wal.exists():
            shutil.copyfile(wal, copy.with_name(copy.name + "-wal"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return copy


def vector_library() -> str:
    """The library in the package sqlite_vec, which is not imported: numpy would come with it. Raises ImportError."""
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        raise ImportError("sqlite_vec is not installed")
    return str(Path(found.origin).with_name("vec0"))


def must_be_file(path: Path) -> None:
    """Raises StoreError for a folder or the like in the index's place; OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise StoreError(f"{path} is not a file", remedy="Give another index with --store.")


def make_file(path: Path) -> None:
    """The file and its folders, private to the user, made where they are missing. Raises OSError, StoreError.

    SQLite gives its side files the mode that the file has when they are made: to be called before it is opened.
    """
    missing = []
    folder = path.parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    must_be_file(path)
    for suffix in ("", *SIDE_FILES):
        one = path.with_name(path.name + suffix)
        with suppress(OSError):
            mode = one.lstat().st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                one.chmod(0o600)
    if is_foreign(path):
        raise StoreCorrupt(f"{path} is not a database")
