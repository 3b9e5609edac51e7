"""Reading one file, or all below a folder, again because someone asked, and what came of it."""

from __future__ import annotations

from pathlib import Path

from core.errors import NotAllowed, StoreMissing
from core.memory import Memory
from core.records import record
from core.store.file_errors import FileErrors
from core.text.words import counted, skip_words
from core.types import SyncReport


@record(frozen=True, slots=True)
class Reindexed:
    """What came of it: `path` as it was asked for, whether all is well, and the rest in `words`."""

    path: str
    ok: bool
    words: str
    report: SyncReport | None = None


def reindex(memory: Memory, path: str) -> Reindexed:
    """Read the file of a document path, or with a `/` at its end all files below that folder, whatever the index has.

    Files that failed or were skipped are tried again. Blocks until words are searchable; vectors follow in the
    background. Raises StoreError, SyncCancelled.
    """
    try:
        place = _place(memory, path)
    except (NotAllowed, FileNotFoundError) as error:
        reason = str(error).removeprefix(f"{path}: ") if isinstance(error, NotAllowed) else "there is no such file"
        return Reindexed(path, False, f"not read: {reason}")
    report = memory.sync("manual", force=True, vectors=False, paths=(place,))
    troubles = _troubles(memory, path)
    if troubles:
        return Reindexed(path, False, troubles[0] + _more(len(troubles) - 1), report)
    if report.indexed == 0:
        if report.removed:
            return Reindexed(path, True, "it is gone, and left the index", report)
        return Reindexed(path, False, report.warning or "there is nothing to read", report)
    what = counted(report.indexed, "file") + " read again" if path.endswith("/") else "read again"
    changes = [f"{counted(report.chunks_added, 'chunk')} new"] if report.chunks_added else []
    changes += [f"{counted(report.chunks_removed, 'chunk')} gone"] if report.chunks_removed else []
    return Reindexed(path, True, f"{what}: {', '.join(changes) or 'the text is the same'}", report)


def _place(memory: Memory, path: str) -> Path:
    if not path.endswith("/"):
        return memory.absolute(path)
    if path.startswith("sessions/"):
        raise NotAllowed("read sessions again one by one, or all files with `memdeck index --force`")
    return memory.workspace / path


def _troubles(memory: Memory, path: str) -> list[str]:
    """Why files at or below a path are not indexed."""

    def concerned(one: str) -> bool:
        return one == path or (path.endswith("/") and one.startswith(path))

    try:
        with memory.backend.readers.lease() as reader:
            errors = FileErrors(reader.database)
            failed = [one for one in errors.errors() if concerned(one.path)]
            skipped = [one for one in errors.skips() if concerned(one.path)]
    except StoreMissing:
        return []
    words = [f"{_of(path, one.path)}failed, {counted(one.attempts, 'try', 'tries')}: {one.error}" for one in failed]
    return words + [f"{_of(path, one.path)}skipped: {skip_words(one)}" for one in skipped]


def _of(path: str, one: str) -> str:
    return "" if one == path else f"{one} "


def _more(number: int) -> str:
    return f"; {number:,} more" if number > 0 else ""
