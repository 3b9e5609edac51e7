"""What changed: a scan held against the rows of the index, without reading a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace

from core.store.document_reader import FileRow
from core.types import Scan, ScannedFile, SkippedPath, Source

SETTLED_NS = 2_000_000_000
"""A stat key is believed only when the file was this much older than its scan: file systems tick coarsely, and an
edit of the same size within one tick leaves size and mtime as they were."""

Key = tuple[Source, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """`read` has the files to read, newest first; `unchanged` counts the rest; `gone` are rows without a file,
    `paused` those whose folder could not be looked at: they stay as they are.

    `changed` are those of `read` that differ by their stat key; the others are read again only because their key could
    hide an edit.

    `renamed` maps a new path to the old one whose file it is (same device, inode, size and mtime).
    """

    read: tuple[ScannedFile, ...]
    changed: tuple[ScannedFile, ...]
    unchanged: int
    gone: tuple[Key, ...]
    paused: tuple[Key, ...]
    renamed: Mapping[Key, Key]


def without_forgotten(scan: Scan, forgotten: Set[Key]) -> Scan:
    """The scan without files that were forgotten: those must not come back."""
    if not forgotten:
        return scan
    gone = [file for file in scan.files if (file.source, file.path) in forgotten]
    return replace(
        scan,
        files=tuple(file for file in scan.files if (file.source, file.path) not in forgotten),
        skipped=(*scan.skipped, *(SkippedPath(file.path, "forgotten", "forgotten by the user") for file in gone)),
    )


def paused_words(plan: Plan, scan: Scan) -> str | None:
    """What to tell of rows whose folder is absent or cannot be read; None when there are none."""
    if not plan.paused:
        return None
    places = ", ".join(prefix or "the workspace" for prefix in scan.uncertain if _covers(prefix, plan.paused))
    return f"{len(plan.paused)} document(s) kept as they were: {places} cannot be looked at"


def _covers(prefix: str, keys: Iterable[Key]) -> bool:
    return any(below(path, (prefix,)) for _, path in keys)


def is_settled(row: FileRow) -> bool:
    """Whether the row's stat key tells a later edit for sure."""
    return row.scanned_ns - row.stat.mtime_ns > SETTLED_NS


def below(path: str, prefixes: Iterable[str]) -> bool:
    """Whether a document path lies under one of `prefixes`; "" stands for every workspace-relative path."""
    for prefix in prefixes:
        if prefix == "":
            if not path.startswith("/"):
                return True
        elif path == prefix or path.startswith(prefix.rstrip("/") + "/"):
            return True
    return False


def plan_sync(scan: Scan, rows: Mapping[Key, FileRow], *, builds: Mapping[Source, str], force: bool = False) -> Plan:
    """Compare a full scan with the index.

    A row is gone only when its path lies under no uncertain prefix: a failed scan is never taken for deletion.
    Rows of sources that `builds` does not name are left alone.
    """
    found = {(file.source, file.path) for file in scan.files}
    missing = [key for key in rows if key not in found and key[0] in builds]
    paused = tuple(key for key in missing if below(key[1], scan.uncertain))
    gone = tuple(key for key in missing if not below(key[1], scan.uncertain))
    read = [
        file
        for file in scan.files
        if force
        or _differs(file, row := rows.get((file.source, file.path)), builds)
        or (row is not None and not is_settled(row))
    ]
    read.sort(key=lambda file: file.stat.mtime_ns, reverse=True)
    identity = {_inode_key(rows[key]): key for key in gone}
    renamed = {}
    for file in read:
        old = identity.get((file.stat.device, file.stat.inode, file.stat.size, file.stat.mtime_ns))
        if old is not None and (file.source, file.path) not in rows:
            renamed[(file.source, file.path)] = old
    changed = tuple(file for file in read if _differs(file, rows.get((file.source, file.path)), builds))
    return Plan(tuple(read), changed, len(scan.files) - len(read), gone, paused, renamed)


def _differs(file: ScannedFile, row: FileRow | None, builds: Mapping[Source, str]) -> bool:
    return row is None or row.stat != file.stat or row.build != builds.get(file.source)


def _inode_key(row: FileRow) -> tuple[int, int, int, int]:
    return (row.stat.device, row.stat.inode, row.stat.size, row.stat.mtime_ns)
