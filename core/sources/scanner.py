"""One scan of a workspace and its extra paths: what is there, what is passed over, what could not be seen."""

# ruff: noqa: PTH100, PTH116, PTH118, PTH120
# Paths stay strings: a scan touches thousands, and names on disk need not be text.

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path

from core.errors import SyncCancelled
from core.sources.rules import (
    MEMORY_FOLDER,
    MEMORY_NAMES,
    Multimodal,
    extra_root,
    is_ignored,
    is_markdown,
    is_within,
    media_kind,
    shown,
)
from core.types import Scan, ScannedFile, SkippedPath, StatKey

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR)
NAMED_FOLDERS = 500
"""Ignored folders whose paths are kept; more are only counted."""


def stat_key(found: os.stat_result) -> StatKey:
    """What `stat` says, as it is kept."""
    return StatKey(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


class Scanner:
    """One scan under way."""

    def __init__(
        self,
        workspace: Path,
        extra_paths: Sequence[str],
        home: Path,
        multimodal: Multimodal | None,
        cancel: threading.Event | None,
    ) -> None:
        self._base = os.path.abspath(workspace)
        self._below_base = self._base.rstrip("/") + "/"
        self._memory = os.path.join(self._base, MEMORY_FOLDER)
        self._extras: list[str] = []
        self._multimodal = multimodal
        self._most_bytes = multimodal.max_file_bytes if multimodal is not None else 0
        self._cancel = cancel
        self._found: dict[str, StatKey] = {}
        self.has_links = False
        """Whether a file that was found has other names somewhere."""
        self._walked: set[tuple[int, int]] = set()
        self._roots: dict[str, tuple[int, int]] = {}
        self._skipped: dict[str, SkippedPath] = {}
        self._uncertain: set[str] = set()
        self._problems: list[str] = []
        self._ignored: Counter[str] = Counter()
        self._ignored_folders: list[str] = []
        for extra in extra_paths:
            root = extra_root(extra, workspace=workspace, home=home)
            if root is None:
                self._problems.append("a blank extra path was left out")
            elif root not in self._extras:
                self._extras.append(root)

    def scan_all(self) -> None:
        """Look at everything; raises SyncCancelled."""
        if self._has_workspace():
            self._scan_memory_file()
            self._scan_memory_folder(self._memory)
        for root in self._extras:
            self._scan_extra(root, root)

    def scan_some(self, paths: Iterable[str]) -> None:
        """Look at absolute `paths` and what is below them; raises SyncCancelled."""
        wanted = sorted({self._as_configured(os.path.abspath(path)) for path in paths})
        inside = [path for path in wanted if _meet(path, self._base)]
        if inside and self._has_workspace():
            names = [os.path.join(self._base, name) for name in MEMORY_NAMES]
            if any(path in names or is_within(self._base, path) for path in inside):
                self._scan_memory_file()
            for path in inside:
                if _meet(path, self._memory):
                    self._scan_memory_folder(max(path, self._memory, key=len))
        for root in self._extras:
            for path in wanted:
                if _meet(path, root):
                    self._scan_extra(root, max(path, root, key=len))

    def result(self) -> Scan:
        """What was seen, in the order of paths."""
        self._look_at_roots_again()
        files = [
            ScannedFile("memory", self._document_path(absolute), absolute, key)
            for absolute, key in self._chosen().items()
        ]
        files.sort(key=attrgetter("path"))
        return Scan(
            files=tuple(files),
            skipped=tuple(self._skipped[path] for path in sorted(self._skipped)),
            uncertain=tuple(sorted(self._uncertain)),
            problems=tuple(self._problems),
            ignored=dict(sorted(self._ignored.items())),
            ignored_folders=tuple(sorted(self._ignored_folders)),
        )

    def _chosen(self) -> dict[str, StatKey]:
        """The files that count, each by one of its names."""
        found = self._found
        if not self._skipped and len({(key.device, key.inode) for key in found.values()}) == len(found):
            return found
        chosen: dict[tuple[int, int], str] = {}
        others: list[tuple[str, tuple[int, int]]] = []
        for absolute, key in found.items():
            if absolute in self._skipped:
                continue
            identity = (key.device, key.inode)
            known = chosen.setdefault(identity, absolute)
            if known is not absolute:
                chosen[identity], other = sorted((known, absolute), key=self._rank)
                others.append((other, identity))
        for absolute, identity in others:
            self._skip(absolute, "duplicate", f"the same file as {self._document_path(chosen[identity])}")
        return {absolute: found[absolute] for absolute in chosen.values()}

    def _rank(self, absolute: str) -> tuple[bool, bool, str]:
        """Which of several names of one file counts: the memory file, then memory/, then extra paths."""
        return (os.path.dirname(absolute) != self._base, not is_within(absolute, self._memory), absolute)

    def _document_path(self, absolute: str) -> str:
        if absolute.startswith(self._below_base):
            return absolute[len(self._below_base) :].lstrip("/")
        return "" if absolute == self._base else absolute

    def _as_configured(self, path: str) -> str:
        """A path that was given by its real location, as one below the root that was configured."""
        for root in (self._base, *self._extras):
            if is_within(path, root):
                return path
        for root in (self._base, *self._extras):
            real = os.path.realpath(root)
            if real != root and is_within(path, real):
                return root + path[len(real) :]
        return path

    def _has_workspace(self) -> bool:
        try:
            found = os.stat(self._base)
            if stat.S_ISDIR(found.st_mode):
                self._roots[self._base] = (found.st_dev, found.st_ino)
                return True
            reason = "is not a folder"
        except OSError as error:
            reason = _why(error)
        self._unsure(self._base, f"the workspace {shown(self._base)} {reason}: its documents stay as they are")
        return False

    def _scan_memory_file(self) -> None:
        chosen: tuple[str, os.stat_result] | None = None
        for name in MEMORY_NAMES:
            absolute = os.path.join(self._base, name)
            found = self._lstat(absolute)
            if found is None or not self._is_file(absolute, found):
                continue
            if chosen is None:
                chosen = (name, found)
                self._keep(absolute, found)
            elif (found.st_dev, found.st_ino) == (chosen[1].st_dev, chosen[1].st_ino):
                self._skip(absolute, "duplicate", f"the same file as {chosen[0]}")
            else:
                self._skip(absolute, "shadowed", f"{chosen[0]} is used instead")

    def _scan_memory_folder(self, start: str) -> None:
        found = self._lstat(self._memory)
        if found is None:
            # Absent is not empty: a mount that is gone looks the same.
            self._uncertain.add(MEMORY_FOLDER)
        elif stat.S_ISDIR(found.st_mode):
            self._scan_below(self._memory, start, media=False)
        else:
            self._skip(self._memory, _kind(found.st_mode), f"{MEMORY_FOLDER} is no folder")

    def _scan_extra(self, root: str, start: str) -> None:
        try:
            found = os.lstat(root)
        except OSError as error:
            self._unsure(root, f"the extra path {shown(root)} {_why(error)}: its documents stay as they are")
            return
        if stat.S_ISDIR(found.st_mode):
            self._roots[root] = (found.st_dev, found.st_ino)
            self._scan_below(root, start, media=True)
        elif self._is_file(root, found):
            self._add(root, found)

    def _scan_below(self, root: str, start: str, *, media: bool) -> None:
        """Look at `start`, which is a root or lies below it."""
        if start == root:
            self._walk(root, media)
            return
        names = start[len(root) :].strip("/").split("/")
        at = root
        for name in names[:-1]:
            at = os.path.join(at, name)
            above = self._lstat(at)
            if above is None or is_ignored(name) or is_markdown(name) or not stat.S_ISDIR(above.st_mode):
                return
        found = self._lstat(start)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode) and not is_markdown(names[-1]):
            if not is_ignored(names[-1]):
                self._walk(start, media)
        elif self._counts(names[-1], media) and self._is_named(start) and self._is_file(start, found):
            self._add(start, found)

    def _walk(self, root: str, media: bool) -> None:
        waiting = [root]
        while waiting:
            if self._cancel is not None and self._cancel.is_set():
                raise SyncCancelled("the scan was cancelled")
            folder = waiting.pop()
            try:
                descriptor = os.open(folder, _FOLDER)
            except OSError as error:
                self._failed(folder, error)
                continue
            try:
                found = os.fstat(descriptor)
                if (found.st_dev, found.st_ino) in self._walked:
                    continue
                self._walked.add((found.st_dev, found.st_ino))
                self._look_in(folder, descriptor, waiting, media)
            except OSError as error:
                self._failed(folder, error)
            finally:
                os.close(descriptor)

    def _look_in(self, folder: str, descriptor: int, waiting: list[str], media: bool) -> None:
        # Nearly all are plain files with plain names: these take the short way.
        plain = folder.rstrip("/") + "/" if folder.isascii() else None
        with os.scandir(descriptor) as entries:
            for entry in entries:
                name = entry.name
                if plain and name.endswith(".md") and name.isascii() and entry.is_file(follow_symlinks=False):
                    self._take(plain + name, entry)
                else:
                    self._look_at(folder, entry, waiting, media)

    def _look_at(self, folder: str, entry: os.DirEntry[str], waiting: list[str], media: bool) -> None:
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and is_ignored(name):
            self._ignored[name.casefold()] += 1
            if len(self._ignored_folders) < NAMED_FOLDERS:
                self._ignored_folders.append(shown(self._document_path(f"{folder.rstrip('/')}/{name}")))
            return
        is_link = entry.is_symlink()
        if not (is_folder or is_link or self._counts(name, media)):
            return
        absolute = f"{folder.rstrip('/')}/{name}"
        if not self._is_named(absolute):
            return
        if is_folder and not is_markdown(name):
            waiting.append(absolute)
        else:
            self._take(absolute, entry)

    def _take(self, absolute: str, entry: os.DirEntry[str]) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._failed(absolute, error)
            return
        if self._is_file(absolute, found):
            self._add(absolute, found)

    def _counts(self, name: str, media: bool) -> bool:
        if is_markdown(name):
            return True
        return media and self._multimodal is not None and media_kind(name) in self._multimodal.modalities

    def _is_named(self, absolute: str) -> bool:
        """Whether the path is text; others cannot be named in the index."""
        if absolute.isascii() or shown(absolute) == absolute:
            return True
        self._skip(absolute, "name", "the name is not valid UTF-8")
        return False

    def _is_file(self, absolute: str, found: os.stat_result) -> bool:
        if stat.S_ISREG(found.st_mode):
            return True
        kind = _kind(found.st_mode)
        self._skip(absolute, kind, "symlinks are not followed" if kind == "symlink" else f"a {kind}, not a file")
        return False

    def _add(self, absolute: str, found: os.stat_result) -> None:
        limit = self._most_bytes
        if limit and found.st_size > limit and media_kind(absolute) is not None:
            self._skip(absolute, "too-large", f"too large: {found.st_size:,} bytes, more than {limit:,}")
        else:
            self._keep(absolute, found)

    def _keep(self, absolute: str, found: os.stat_result) -> None:
        self._found[absolute] = stat_key(found)
        if found.st_nlink > 1:
            self.has_links = True

    def _lstat(self, absolute: str) -> os.stat_result | None:
        try:
            return os.lstat(absolute)
        except OSError as error:
            self._failed(absolute, error)
            return None

    def _failed(self, absolute: str, error: OSError) -> None:
        if error.errno == errno.ELOOP:
            self._skip(absolute, "symlink", "symlinks are not followed")
        elif error.errno not in _GONE:
            self._unsure(absolute, f"{shown(absolute)} {_why(error)}: what is below it stays as it is")

    def _skip(self, absolute: str, kind: str, detail: str) -> None:
        self._skipped[absolute] = SkippedPath(shown(self._document_path(absolute)), kind, detail)

    def _unsure(self, absolute: str, problem: str) -> None:
        self._uncertain.add(shown(self._document_path(absolute)))
        if problem not in self._problems:
            self._problems.append(problem)

    def _look_at_roots_again(self) -> None:
        """A root that went away during its scan was not seen whole."""
        for root, identity in self._roots.items():
            try:
                found = os.stat(root)
                if (found.st_dev, found.st_ino) == identity:
                    continue
            except OSError:
                pass
            self._unsure(root, f"{shown(root)} went away during the scan: its documents stay as they are")


def _meet(path: str, root: str) -> bool:
    """Whether one of two paths lies below the other."""
    return is_within(path, root) or is_within(root, path)


def _kind(mode: int) -> str:
    for test, kind in (
        (stat.S_ISLNK, "symlink"),
        (stat.S_ISDIR, "directory"),
        (stat.S_ISFIFO, "fifo"),
        (stat.S_ISSOCK, "socket"),
        (stat.S_ISREG, "file"),
    ):
        if test(mode):
            return kind
    return "device"


def _why(error: OSError) -> str:
    return "is absent" if error.errno in _GONE else f"cannot be read ({error.strerror or error})"
