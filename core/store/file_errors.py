"""Files that could not be indexed, and why: those that failed are tried again, those that are no text are skipped."""

from __future__ import annotations

from core.store.database import Database
from core.store.texts import storable
from core.types import FileFailure, SkippedPath, Source


class FileErrors:
    """Writing happens in the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_error(self, source: Source, path: str, error: str, *, now_ms: int) -> int:
        """Note that a file failed; how often it has now."""
        return self._record(source, path, None, error, now_ms)

    def record_skip(self, source: Source, path: str, kind: str, detail: str, *, now_ms: int) -> None:
        """Note that a file is not indexed, and of what kind it is."""
        self._record(source, path, kind, detail, now_ms)

    def clear_error(self, source: Source, path: str) -> None:
        """The file is well, or gone."""
        self._database.run("DELETE FROM file_errors WHERE source = ? AND path = ?", (source, storable(path)))

    def clear_errors(self, source: Source) -> None:
        """Nothing of a source is indexed any more."""
        self._database.run("DELETE FROM file_errors WHERE source = ?", (source,))

    def errors(self) -> tuple[FileFailure, ...]:
        """Files that failed, by path."""
        rows = self._database.rows(
            "SELECT source, path, error, attempts, at_ms FROM file_errors WHERE kind IS NULL ORDER BY path, source"
        )
        return tuple(FileFailure(*row) for row in rows)  # type: ignore[arg-type]

    def skips(self) -> tuple[SkippedPath, ...]:
        """Files that are skipped for what is in them, by path."""
        rows = self._database.rows(
            "SELECT path, kind, error FROM file_errors WHERE kind IS NOT NULL ORDER BY path, source"
        )
        return tuple(SkippedPath(*row) for row in rows)  # type: ignore[arg-type]

    def _record(self, source: Source, path: str, kind: str | None, error: str, now_ms: int) -> int:
        return self._database.count(
            "INSERT INTO file_errors (source, path, kind, error, attempts, at_ms) VALUES (?, ?, ?, ?, 1, ?) "
            "ON CONFLICT (source, path) DO UPDATE SET kind = excluded.kind, error = excluded.error, "
            "attempts = attempts + 1, at_ms = excluded.at_ms RETURNING attempts",
            (source, storable(path), kind, storable(error), now_ms),
        )
