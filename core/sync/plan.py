"""What changed: a scan held against the rows of the index, without reading a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from core.records import record
from core.sources.rules import is_within
from core.store.document_reader import FileRow
from core.text.words import counted
from core.types import Scan, ScannedFile, SkippedPath, Source

SETTLED_NS = 2_000_000_000
"""A stat key is believed only when the file was this much older than its scan: file systems tick coarsely, and an
edit of the same size within one tick leaves size and mtime as they were."""

NAMED_AT_MOST = 5
"""Of places that cannot be looked at; the rest are counted."""

Key = tuple[Source, str]


@record(frozen=True, slots=True)
class Plan:
    """`read` has the files to read, newest first; `unchanged` counts the rest; `gone` are rows without a file,
    `paused` those whose folder could not be looked at: they stay as they are.

    `orphaned` are rows without a file whose text stays: they are to be marked. `outdated` ones are marked already, but
    were built otherwise than rows are now.

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
    orphaned: tuple[Key, ...] = ()
    outdated: tuple[Key, ...] = ()

    @property
    def changes(self) -> int:
        """How many documents a sync would write or remove; those that are only read again do not count."""
        return len(self.changed) + len(self.gone) + len(self.orphaned) + len(self.outdated)


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


def with_failed(plan: Plan, scan: Scan, failed: Set[str]) -> Plan:
    """The plan with the files that failed the last time: they are read whether or not they have changed since."""
    if not failed:
        return plan
    known = {file.path for file in plan.read}
    again = tuple(file for file in scan.files if file.path in failed and file.path not in known)
    return replace(plan, read=(*plan.read, *again), unchanged=plan.unchanged - len(again))


def paused_words(plan: Plan, scan: Scan) -> str | None:
    """What to tell of rows whose folder is absent or cannot be read; None when there are none."""
    if not plan.paused:
        return None
    prefixes = Prefixes(scan.uncertain)
    places = list(dict.fromkeys(prefixes.covering(path) or "the workspace" for _, path in plan.paused))
    more = f" and {len(places) - NAMED_AT_MOST} more" if len(places) > NAMED_AT_MOST else ""
    names = ", ".join(places[:NAMED_AT_MOST])
    kept = counted(len(plan.paused), "document is kept as it was", "documents are kept as they were")
    return f"{kept}: {names}{more} cannot be looked at"


def is_settled(row: FileRow) -> bool:
    """Whether the row's stat key tells a later edit for sure."""
    return row.scanned_ns - row.stat.mtime_ns > SETTLED_NS


class Prefixes:
    """Document paths with all that lies below them; "" stands for every workspace-relative path."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = {prefix.rstrip("/") or prefix[:1] for prefix in prefixes}

    def covering(self, path: str) -> str | None:
        """The one that a document path is or lies below; costs nothing however many there are."""
        known = self._prefixes
        if not known:
            return None
        if path in known:
            return path
        end = path.rfind("/")
        while end > 0:
            if path[:end] in known:
                return path[:end]
            end = path.rfind("/", 0, end)
        top = "/" if path.startswith("/") else ""
        return top if top in known else None

    def cover(self, path: str) -> bool:
        """Whether a document path is one of them or lies below one."""
        return self.covering(path) is not None


def plan_sync(
    scan: Scan,
    rows: Mapping[Key, FileRow],
    *,
    builds: Mapping[Source, str],
    force: bool = False,
    kept_places: Sequence[str] = (),
) -> Plan:
    """Compare a full scan with the index.

    A row is gone only when its path lies under no uncertain prefix: a failed scan is never taken for deletion. Rows
    whose file lay in one of the absolute `kept_places` stay without it. Rows of sources that `builds` does not name
    are left alone.
    """
    found = {(file.source, file.path) for file in scan.files}
    missing = [key for key in rows if key not in found and key[0] in builds]
    uncertain = Prefixes(scan.uncertain)
    paused = tuple(key for key in missing if uncertain.cover(key[1]))
    absent = [key for key in missing if not uncertain.cover(key[1])]
    read = [
        file
        for file in scan.files
        if force
        or _differs(file, row := rows.get((file.source, file.path)), builds)
        or (row is not None and not is_settled(row))
    ]
    read.sort(key=lambda file: file.stat.mtime_ns, reverse=True)
    identity = {_inode_key(rows[key]): key for key in absent}
    renamed = {}
    for file in read:
        old = identity.get((file.stat.device, file.stat.inode, file.stat.size, file.stat.mtime_ns))
        if old is not None and (file.source, file.path) not in rows:
            renamed[(file.source, file.path)] = old
    changed = tuple(file for file in read if _differs(file, rows.get((file.source, file.path)), builds))
    elsewhere = set(renamed.values())
    kept = [key for key in absent if key not in elsewhere and _lay_in(rows[key].absolute, kept_places)]
    staying = set(kept)
    gone = tuple(key for key in absent if key not in staying)
    orphaned = tuple(key for key in kept if not rows[key].is_source_gone)
    outdated = tuple(key for key in kept if rows[key].is_source_gone and rows[key].build != builds[key[0]])
    unchanged = len(scan.files) - len(read)
    return Plan(tuple(read), changed, unchanged, gone, paused, renamed, orphaned, outdated)


def _lay_in(absolute: str, places: Sequence[str]) -> bool:
    return any(is_within(absolute, place) for place in places)


def _differs(file: ScannedFile, row: FileRow | None, builds: Mapping[Source, str]) -> bool:
    return row is None or row.stat != file.stat or row.build != builds.get(file.source)


def _inode_key(row: FileRow) -> tuple[int, int, int, int]:
    return (row.stat.device, row.stat.inode, row.stat.size, row.stat.mtime_ns)
