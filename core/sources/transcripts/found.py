"""What looking for transcripts gives: sessions by the file or store that holds them, and what could not be seen."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import zlib
from collections.abc import Iterator
from dataclasses import field, replace

from core.errors import SyncCancelled
from core.records import record
from core.sources.rules import shown
from core.sources.scanner import stat_key
from core.sources.transcripts.model import Kind
from core.types import SkippedPath, StatKey

_GONE = (errno.ENOENT, errno.ENOTDIR)
_SAFE = re.compile(r"[A-Za-z0-9._-]+")
_UNSAFE = str.maketrans(dict.fromkeys("/\\\0\n\r\t#:", "-"))


Origin = tuple[str, str]
"""A session by its file and its name within."""


@record(frozen=True, slots=True)
class Found:
    """A session that was found, unread.

    `within` names it inside a store or a file of several. `rank` orders files of the same session, best first. `alike`
    ones are mere copies of a better one; others may hold an older part. `origins` are sessions whose messages it
    repeats. `title`, `parent` and `cwd` are what only its surroundings tell. A `growing` file is appended to in place.
    """

    dialect: str
    id: str
    absolute: str
    stat: StatKey
    kind: Kind = "main"
    within: str = ""
    rank: tuple[int, str] = (0, "")
    alike: bool = False
    variant: str = ""
    origins: tuple[Origin, ...] = ()
    title: str = ""
    parent: str = ""
    cwd: str = ""
    growing: bool = True

    @property
    def path(self) -> str:
        """The document's path."""
        return document_path(self.dialect, self.id)

    @property
    def place(self) -> Origin:
        return self.absolute, self.within

    def marked(self, *facts: object) -> Found:
        """With a stat key that also tells a change of `facts` beside the file."""
        return replace(self, stat=marked(self.stat, *facts))


def marked(stat: StatKey, *facts: object) -> StatKey:
    """A stat key that also tells a change of `facts`."""
    mark = zlib.crc32(repr(facts).encode("utf-8", "replace"))
    return StatKey(stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, stat.device ^ mark)


def document_path(dialect: str, session: str) -> str:
    """The path under which a session is indexed."""
    if _SAFE.fullmatch(session) is None:
        session = shown(session).translate(_UNSAFE)
    return f"sessions/{dialect}/{session}.jsonl"


@record(slots=True)
class Listing:
    """One look at all places. `lost` are folders and files that could not be looked at, by dialect."""

    found: list[Found] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cancel: threading.Event | None = None

    def check(self) -> None:
        """Raises SyncCancelled."""
        if self.cancel is not None and self.cancel.is_set():
            raise SyncCancelled("the sync was cancelled")

    def entries(
        self, dialect: str, folder: str, *, optional: bool = False, top: bool = False
    ) -> Iterator[os.DirEntry[str]]:
        """What is in a folder, by name. One that cannot be read is lost, and so is a `top` one that is empty."""
        self.check()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not (optional and not top and error.errno in _GONE):
                self.lose(dialect, folder, error, quiet=optional)
            return
        if top and not entries:
            self.lost.append((dialect, folder))
        for entry in entries:
            if not entry.name.isprintable() and shown(entry.name) != entry.name:
                self.skip(entry.path, "undecodable", "its name is not valid UTF-8")
                continue
            yield entry

    def lose(self, dialect: str, path: str, error: OSError, *, quiet: bool = False) -> None:
        """Something that could not be looked at: what is indexed of it stays."""
        self.lost.append((dialect, path))
        if not quiet:
            why = "is absent" if error.errno in _GONE else f"cannot be read ({error.strerror or error})"
            self.problems.append(f"{shown(path)} {why}: what is indexed of its transcripts stays")

    def skip(self, path: str, kind: str, detail: str) -> None:
        self.skipped.append(SkippedPath(shown(path), kind, detail))

    def file_stat(self, entry: os.DirEntry[str]) -> StatKey | None:
        """The stat key of a regular file; anything else is skipped by name."""
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        if stat.S_ISREG(found.st_mode):
            return stat_key(found)
        kind = "symlink" if stat.S_ISLNK(found.st_mode) else "fifo" if stat.S_ISFIFO(found.st_mode) else "special"
        if not stat.S_ISDIR(found.st_mode):
            self.skip(entry.path, kind, "not a regular file")
        return None


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder itself; symlinks are not followed."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def path_stat(path: str) -> StatKey | None:
    """The stat key of a regular file; None when there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return stat_key(found) if stat.S_ISREG(found.st_mode) else None


def path_time(path: str) -> int:
    """When a file or folder last changed, in ns; 0 when there is none."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
