"""What the index knows of documents and chunks: reading only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from core.records import record
from core.store.chunk_rows import STORED_COLUMNS, StoredChunk, stored_from
from core.store.database import Database, id_array
from core.store.texts import storable
from core.text.days import name_date_ms
from core.types import IndexedDocument, ScannedFile, Source, SourceCount, StatKey

_FILE_COLUMNS = (
    "id, source, path, absolute, hash, build, scanned_ns, indexed_ms, lines, chunks, date_ms, warning, dialect, "
    "title, details, size, mtime_ns, ctime_ns, inode, device"
)

NO_DEVICE = -1
"""The device of a row whose file is gone while its text is kept: no file lies there, so one that returns is read."""


class FileRow(NamedTuple):
    """What a sync compares: `stat` was read at `scanned_ns` (epoch nanoseconds), `hash` is of the bytes read."""

    id: int
    absolute: str
    hash: str
    build: str
    scanned_ns: int
    stat: StatKey

    @property
    def is_source_gone(self) -> bool:
        """Whether the file is gone and the text was kept."""
        return self.stat.device == NO_DEVICE


@record(frozen=True, slots=True)
class StoredDocument:
    """All that the index knows of one document. `details` is the JSON that its dialect wrote."""

    id: int
    source: Source
    path: str
    absolute: str
    hash: str
    build: str
    scanned_ns: int
    indexed_ms: int
    lines: int
    chunks: int
    date_ms: int | None
    warning: str | None
    dialect: str | None
    title: str | None
    details: str | None
    stat: StatKey

    @property
    def is_source_gone(self) -> bool:
        """Whether the file is gone and the text was kept."""
        return self.stat.device == NO_DEVICE


def _file_row(row: Sequence[object]) -> FileRow:
    return FileRow(row[2], row[3], row[4], row[5], row[6], StatKey(*row[7:]))  # type: ignore[arg-type]


class DocumentReader:
    """Works on writers and readers alike."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stat_keys(self, source: Source | None = None) -> dict[tuple[Source, str], FileRow]:
        """The rows that a sync compares with a scan, by (source, path)."""
        return {(row[0], row[1]): _file_row(row) for row in self._stat_rows(source)}  # type: ignore[misc]

    def differing(
        self, source: Source, files: Sequence[ScannedFile], build: str
    ) -> tuple[list[ScannedFile], dict[tuple[Source, str], FileRow]]:
        """The files whose stat key or build is not that of their row; the rows of these, and those without a file."""
        keys: list[tuple[object, ...]] = self._database.rows(  # type: ignore[assignment]
            "SELECT path, build, size, mtime_ns, ctime_ns, inode, device FROM files WHERE source = ? ORDER BY path",
            (source,),
        )
        if keys == [(path, build, *stat) for _, path, _, stat in files]:  # mostly nothing has changed
            return [], {}
        rows = {row[1]: row for row in self._stat_rows(source)}
        differ = []
        for file in files:
            row = rows.get(file.path)
            if row is not None and row[7:] == file.stat and row[5] == build:
                del rows[file.path]
            else:
                differ.append(file)
        return differ, {(source, str(path)): _file_row(row) for path, row in rows.items()}

    def _stat_rows(self, source: Source | None) -> Sequence[tuple[object, ...]]:
        return self._database.rows(
            "SELECT source, path, id, absolute, hash, build, scanned_ns, size, mtime_ns, ctime_ns, inode, device "
            "FROM files WHERE ?1 IS NULL OR source = ?1",
            (source,),
        )

    def paths(self, source: Source) -> list[str]:
        """The paths of a source's documents, in order."""
        return [
            str(row[0])
            for row in self._database.rows("SELECT path FROM files WHERE source = ? ORDER BY path", (source,))
        ]

    def get_document(self, source: Source | None, path: str) -> StoredDocument | None:
        """The document at a path; without a source, memory is looked at first."""
        rows = self._database.rows(
            f"SELECT {_FILE_COLUMNS} FROM files WHERE path = ?1 AND (?2 IS NULL OR source = ?2) ORDER BY source",
            (storable(path), source),
        )
        if not rows:
            return None
        return StoredDocument(*rows[0][:15], StatKey(*rows[0][15:]))  # type: ignore[arg-type, call-arg]

    def places(self) -> list[tuple[str, str]]:
        """Path and absolute path of every document."""
        return [
            (str(path), str(absolute)) for path, absolute in self._database.rows("SELECT path, absolute FROM files")
        ]

    def counts(self) -> tuple[SourceCount, ...]:
        """Documents and chunks of each source that has any."""
        rows = self._database.rows(
            "SELECT source, count(*), sum(chunks), sum(device = ?) FROM files GROUP BY source ORDER BY source",
            (NO_DEVICE,),
        )
        return tuple(SourceCount(*row) for row in rows)  # type: ignore[arg-type]

    def chunk(self, chunk_id: int) -> StoredChunk | None:
        """One chunk, None when it is gone."""
        return self.chunks([chunk_id]).get(chunk_id)

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """Chunks by id; those that are gone are left out."""
        rows = self._database.rows(
            f"SELECT {STORED_COLUMNS} FROM carray(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value "
            "JOIN files ON files.id = chunks.file_id",
            (id_array(ids),),
        )
        return {row[0]: stored_from(row) for row in rows}  # type: ignore[misc]

    def chunks_of(self, file_id: int) -> list[StoredChunk]:
        """The chunks of a document, in order."""
        rows = self._database.rows(
            f"SELECT {STORED_COLUMNS} FROM chunks JOIN files ON files.id = chunks.file_id "
            "WHERE chunks.file_id = ? ORDER BY chunks.ordinal",
            (file_id,),
        )
        return [stored_from(row) for row in rows]

    def warnings(self) -> list[tuple[str, str]]:
        """Paths of documents that could be read only in part, each with what was wrong."""
        rows = self._database.rows(
            "SELECT path, warning FROM files WHERE warning IS NOT NULL AND warning != '' ORDER BY source, path"
        )
        return [(str(path), str(warning)) for path, warning in rows]

    def list(self) -> list[IndexedDocument]:
        """Every document, by source and path."""
        rows = self._database.rows(
            "SELECT source, path, size, mtime_ns, chunks, lines, indexed_ms, warning, title, dialect, device = ?, "
            "date_ms, coalesce(waiting, 0), coalesce(refused, 0) FROM files LEFT JOIN ("
            "SELECT file_id, count(*) - count(error) AS waiting, count(error) AS refused "
            "FROM embedding_queue JOIN chunks ON chunks.id = embedding_queue.chunk_id GROUP BY file_id"
            ") AS queued ON queued.file_id = files.id ORDER BY source, path",
            (NO_DEVICE,),
        )
        documents = [IndexedDocument(*row[:10], bool(row[10]), *row[11:]) for row in rows]  # type: ignore[arg-type, call-arg]
        return [one if one.source == "sessions" else replace(one, date_ms=name_date_ms(one.path)) for one in documents]
