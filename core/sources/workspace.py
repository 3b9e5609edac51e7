"""The workspace: which files are memory, what one of them says, and what may be read by its path."""

# ruff: noqa: PTH100, PTH114, PTH118, PTH121, PTH208
# Paths stay strings: names on disk need not be text, and descriptors are opened below descriptors.

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.errors import NotAllowed
from core.records import record
from core.sources.rules import (
    MEMORY_FOLDER,
    MEMORY_NAMES,
    Multimodal,
    extra_root,
    is_ignored,
    is_markdown,
    media_kind,
)
from core.sources.scanner import Scanner, stat_key
from core.types import Document, Scan, ScannedFile

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_NAME = 255
_SYMLINK = "the path goes through a symlink"


def scan_workspace(
    workspace: Path,
    extra_paths: Sequence[str],
    *,
    home: Path,
    multimodal: Multimodal | None = None,
    cancel: threading.Event | None = None,
) -> Scan:
    """Find every memory file: MEMORY.md, memory/ and the extra paths; raises only SyncCancelled.

    No symlink is followed and no file counts twice. What could not be looked at is in `uncertain`.
    """
    scanner = Scanner(workspace, extra_paths, home, multimodal, cancel)
    scanner.scan_all()
    return scanner.result()


def scan_paths(
    workspace: Path,
    extra_paths: Sequence[str],
    paths: Iterable[str],
    *,
    home: Path,
    multimodal: Multimodal | None = None,
    cancel: threading.Event | None = None,
) -> Scan:
    """Find the memory files among absolute `paths` and below those that are folders; raises only SyncCancelled.

    A path that is not there is not in the files; `uncertain` tells where that means nothing (an absent root).
    """
    scanner = Scanner(workspace, extra_paths, home, multimodal, cancel)
    scanner.scan_some(paths)
    scan = scanner.result()
    if scanner.has_links:
        # Which of a file's names counts can only be told by looking at all of them.
        counting = {
            file.path
            for file in scan_workspace(workspace, extra_paths, home=home, multimodal=multimodal, cancel=cancel).files
        }
        files = tuple(file for file in scan.files if file.path in counting)
        scan = Scan(files, scan.skipped, scan.uncertain, scan.problems, scan.ignored)
    return scan


def read_document(file: ScannedFile) -> Document:
    """Read and decode one file; raises OSError and Undecodable.

    `stat` is that of the open file before it was read, so that a later change is always seen. A file that changes
    meanwhile is read once more. Media become one line that names them.
    """
    from core.text.lines import decode  # a scan alone needs none of it

    descriptor = os.open(file.absolute, _FILE)
    try:
        for _ in range(2):
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", file.absolute)
            data = _read_all(descriptor, before.st_size)
            if stat_key(os.fstat(descriptor)) == stat_key(before) and len(data) == before.st_size:
                break
    finally:
        os.close(descriptor)
    media = media_kind(file.absolute)
    warning = None
    if media is None:
        decoded = decode(data)
        text, warning = decoded.text, decoded.warning
    else:
        text = f"{media.capitalize()} file: {file.path}"
    return Document(
        source=file.source,
        path=file.path,
        absolute=file.absolute,
        stat=stat_key(before),
        hash=hashlib.sha256(data).hexdigest(),
        text=text,
        warning=warning,
    )


def resolve_readable(
    path: str, *, workspace: Path, extra_paths: Sequence[str], home: Path, multimodal: Multimodal | None = None
) -> Path:
    """Where a document's path lies on disk, whether or not the file is there; raises NotAllowed with the reason.

    The path is taken literally, but for `.` and for the Unicode form of names. What may be read is what is indexed:
    MEMORY.md, Markdown below memory/, extra files, and Markdown (or media) below extra folders; never by a symlink.
    """
    place = _stored(path, _locate(path, workspace, extra_paths, home, multimodal))
    return Path(place.root, *place.names)


def open_readable(
    path: str, *, workspace: Path, extra_paths: Sequence[str], home: Path, multimodal: Multimodal | None = None
) -> int:
    """Open a document for reading and return the descriptor; raises NotAllowed and OSError.

    Opens name by name from the root and follows no symlink, so a path that is swapped after its check leads nowhere.
    """
    place = _stored(path, _locate(path, workspace, extra_paths, home, multimodal))
    if any(len(os.fsencode(name)) > _LONGEST_NAME for name in place.names):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    folder = os.open(place.root, _FOLDER)
    try:
        for name in place.names[:-1]:
            try:
                below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except NotADirectoryError as error:
                if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise NotAllowed(f"{path}: {_SYMLINK}") from error
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
            os.close(folder)
            folder = below
        return _open_file(path, place.names[-1], folder)
    finally:
        os.close(folder)


@record(frozen=True, slots=True)
class _Place:
    """A file as the names that lead to it from a folder that is trusted."""

    root: str
    names: tuple[str, ...]


def _locate(
    path: str, workspace: Path, extra_paths: Sequence[str], home: Path, multimodal: Multimodal | None
) -> _Place:
    """Which root a path belongs to, by its names alone."""
    if not path.strip():
        raise NotAllowed("the path is empty")
    if "\0" in path:
        raise NotAllowed("the path contains a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise NotAllowed("the path contains half a surrogate pair") from error
    given = _names(path)
    if ".." in given:
        raise NotAllowed(f"{path}: '..' is not allowed in a path")
    base = _names(os.path.abspath(workspace))
    names = given if path.startswith("/") else (*base, *given)
    root = "/" + "/".join(base)
    refusal = f"only {MEMORY_NAMES[0]}, {MEMORY_FOLDER}/ and extra paths are read"

    within = _below(names, base)
    if within is not None and len(within) == 1 and within[0] in MEMORY_NAMES:
        _refuse_shadowed(path, root, within[0])
        return _Place(root, within)
    if within is not None and len(within) > 1 and within[0] == MEMORY_FOLDER:
        reason = _refusal(within[1:], None)
        if reason is None:
            return _Place(root, within)
        refusal = reason
    elif within == (MEMORY_FOLDER,):
        refusal = "it is a folder"
    for extra in extra_paths:
        top = extra_root(extra, workspace=workspace, home=home)
        within = None if top is None else _below(names, _names(top))
        if top is None or within is None:
            continue
        reason = _refusal(within, multimodal) if within else None
        if reason is None:
            parent, name = os.path.split(top)
            return _Place(parent, (name, *within) if name else within)
        refusal = reason
    raise NotAllowed(f"{path}: {refusal}")


def _refusal(within: tuple[str, ...], multimodal: Multimodal | None) -> str | None:
    """Why a file below a root is not read, by its names; None if it is."""
    if any(map(is_ignored, within[:-1])):
        return "it lies in a folder that is ignored"
    if any(map(is_markdown, within[:-1])):
        return "folders named like Markdown files are not entered"
    if is_markdown(within[-1]):
        return None
    if multimodal is not None and media_kind(within[-1]) in multimodal.modalities:
        return None
    return "only Markdown files (.md) are read"


def _refuse_shadowed(path: str, root: str, name: str) -> None:
    """memory.md is not indexed beside another MEMORY.md."""
    preferred = os.path.join(root, MEMORY_NAMES[0])
    try:
        shadowed = stat.S_ISREG(os.lstat(preferred).st_mode) and not os.path.samefile(
            preferred, os.path.join(root, name)
        )
    except OSError:
        return
    if shadowed:
        raise NotAllowed(f"{path}: {MEMORY_NAMES[0]} is used instead")


def _stored(path: str, place: _Place) -> _Place:
    """The place with its names in the Unicode form that the disk has; refuses symlinks on the way."""
    at = place.root
    names: list[str] = []
    for name in place.names:
        found = os.path.join(at, name)
        if not name.isascii() and not os.path.lexists(found):
            name = _same_name(at, name)
            found = os.path.join(at, name)
        if os.path.islink(found):
            raise NotAllowed(f"{path}: {_SYMLINK}")
        names.append(name)
        at = found
    return _Place(place.root, tuple(names))


def _same_name(folder: str, name: str) -> str:
    """The entry of a folder that is `name` in another Unicode form; `name` where there is none."""
    wanted = unicodedata.normalize("NFC", name)
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return name
    return next((entry for entry in entries if unicodedata.normalize("NFC", entry) == wanted), name)


def _open_file(path: str, name: str, folder: int) -> int:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise NotAllowed(f"{path}: {_SYMLINK}") from error
        if error.errno == errno.ENXIO:
            raise NotAllowed(f"{path}: it is not a regular file") from error
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise NotAllowed(f"{path}: it is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def _below(names: tuple[str, ...], root: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names that lead from a root to a path; None if it lies elsewhere."""
    return names[len(root) :] if names[: len(root)] == root else None


def _read_all(descriptor: int, size: int) -> bytes:
    parts = []
    offset = 0
    while part := os.pread(descriptor, max(size - offset, 0) + 1, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)
