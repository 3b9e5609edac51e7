"""Everything that the files screen knows of, by path: what is indexed, what failed, what was left out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from core import FileFailure, IndexedDocument, SkippedPath, Status, record, skip_words
from tui.text import folded

FileState = Literal["indexed", "partly", "failed", "skipped", "ignored"]
SHOWN = ("all", "indexed", "waiting", "failed", "left out")
"""What the screen can be narrowed to."""


@record(frozen=True, slots=True)
class FileEntry:
    """A file, or a folder that is not entered; `words` say why it is not indexed as it should be.

    `document` is what the index has of it, which may be older than a failure. `plain` is what typing is compared with.
    """

    path: str
    state: FileState
    plain: str
    words: str = ""
    document: IndexedDocument | None = None
    failure: FileFailure | None = None

    @property
    def waiting(self) -> int:
        """Chunks without a vector yet."""
        return self.document.waiting if self.document is not None else 0

    @property
    def chunks(self) -> int:
        return self.document.chunks if self.document is not None else 0

    def is_shown(self, shown: str) -> bool:
        """Whether it belongs to one of `SHOWN`."""
        match shown:
            case "all":
                return True
            case "indexed":
                return self.document is not None
            case "waiting":
                return self.waiting > 0
            case "failed":
                return self.state == "failed"
        return self.state in ("skipped", "ignored")


def file_entries(documents: Iterable[IndexedDocument], status: Status | None) -> dict[str, FileEntry]:
    """All of them by path. A path that two reasons leave out has both, none is lost."""
    entries = {row.path: _indexed(row) for row in documents}
    if status is None:
        return entries
    for failure in status.failed:
        known = entries.get(failure.path)
        document = known.document if known is not None else None
        plain = known.plain if known is not None else folded(failure.path)[0]
        entries[failure.path] = FileEntry(failure.path, "failed", plain, failure.error, document, failure)
    for skip in status.skipped:
        _leave_out(entries, skip)
    folders = status.custom.get("ignoredFolders")
    for folder in folders if isinstance(folders, list) else ():
        why = f"folders named {str(folder).rpartition('/')[2]} are not entered"
        _leave_out(entries, SkippedPath(str(folder), "ignored", why))
    return entries


def changed_entries(
    before: Mapping[str, FileEntry], after: Mapping[str, FileEntry]
) -> list[tuple[str, FileEntry | None]]:
    """The paths whose entry is another one now, None where it is gone."""
    changes: list[tuple[str, FileEntry | None]] = [(path, None) for path in before if path not in after]
    changes += [(path, entry) for path, entry in after.items() if before.get(path) != entry]
    return changes


def _indexed(row: IndexedDocument) -> FileEntry:
    words = row.warning or ("its file is gone; the text is kept" if row.source_gone else "")
    plain = folded(f"{row.path} {row.title}" if row.title else row.path)[0]
    return FileEntry(row.path, "partly" if words else "indexed", plain, words, row)


def _leave_out(entries: dict[str, FileEntry], skip: SkippedPath) -> None:
    path = skip.path or "."
    known = entries.get(path)
    words = skip_words(skip)
    if known is not None and words != known.words:
        words = "; ".join(part for part in (known.words, words) if part)
    document = known.document if known is not None else None
    state: FileState = "ignored" if skip.kind == "ignored" else "skipped"
    entries[path] = FileEntry(path, state, folded(path)[0], words, document)
