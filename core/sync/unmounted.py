"""Disks that are away for a while: the empty folder that stays where one was mounted is not taken for deletion."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from core.sources.rules import shown
from core.store.document_reader import FileRow
from core.sync.plan import Key, Prefixes
from core.text.words import counted
from core.types import Scan


def with_unmounted(scan: Scan, rows: Mapping[Key, FileRow]) -> Scan:
    """The scan with what `rows` have below such folders as uncertain.

    A file is away and not gone when the nearest folder that is left of its path is empty (but for hidden marks) and on
    another disk than the file was, and no file that was found is on that disk: on some layered file systems folders
    and files differ in their device though both are there.
    """
    uncertain = Prefixes(scan.uncertain)
    indexed = {path for source, path in rows if source == "memory"}
    missing = [
        (path, rows["memory", path])
        for path in sorted(indexed - {file.path for file in scan.files if file.source == "memory"})
        if not uncertain.cover(path)
    ]
    if not missing:
        return scan
    present = {file.stat.device for file in scan.files}
    empty: dict[str, int | None] = {}
    away: Counter[tuple[str, str]] = Counter()
    for path, row in missing:
        if row.stat.device in present:
            continue
        folder = _nearest(row.absolute.rpartition("/")[0] or "/", empty)
        device = empty[folder]
        if device is None or device == row.stat.device:
            continue
        below = row.absolute[len(folder.rstrip("/")) + 1 :]
        away[path[: len(path) - len(below)].rstrip("/"), folder] += 1
    if not away:
        return scan
    return replace(
        scan,
        uncertain=tuple(sorted({*scan.uncertain, *(prefix for prefix, _ in away)})),
        problems=(
            *scan.problems,
            *(
                f"{shown(folder)} is empty and on another disk than {counted(count, 'document')} that "
                f"{'was' if count == 1 else 'were'} there: what is indexed of it stays; memdeck forget takes it out"
                for (_, folder), count in away.items()
            ),
        ),
    )


def _nearest(folder: str, known: dict[str, int | None]) -> str:
    """The nearest folder that is left of a path; `known` has its device, None when something is in it."""
    while folder not in known:
        try:
            with os.scandir(folder) as entries:
                is_empty = all(entry.name.startswith(".") for entry in entries)
            known[folder] = os.stat(folder).st_dev if is_empty else None  # noqa: PTH116 -- paths stay strings
        except OSError:
            if folder == "/":
                known[folder] = None
                break
            folder = folder.rpartition("/")[0] or "/"
    return folder
