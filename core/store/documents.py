"""Documents and their chunks: written whole or not at all, with everything that hangs on them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence

from core.records import record
from core.store.chunk_rows import heading_json, line_map_json
from core.store.database import Database, Value
from core.store.document_reader import NO_DEVICE, DocumentReader
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.file_errors import FileErrors
from core.store.identity import Identities, in_force_of
from core.store.keyword_rows import KeywordRows, keyword_row, keyword_rows
from core.store.row_batches import insert_rows
from core.store.texts import storable
from core.store.vector_rows import VectorRows
from core.types import Chunk, Document, Source, StatKey


@record(frozen=True, slots=True)
class ReplaceOutcome:
    """What `replace` did, in chunks; `cached` of the new ones found their vector in the cache."""

    file_id: int
    new: int
    same: int
    gone: int
    cached: int = 0


@record(frozen=True, slots=True)
class _Prepared:
    """A chunk as its row will be."""

    ordinal: int
    start_line: int
    end_line: int
    heading: str
    text: str
    embed_hash: bytes
    line_map: str | None
    observed_ms: int | None
    observed_from_ms: int | None
    titles: tuple[str, ...]

    @property
    def content(self) -> tuple[str, str, bytes]:
        return (self.heading, self.text, self.embed_hash)

    @property
    def place(self) -> tuple[Value, ...]:
        return (self.ordinal, self.start_line, self.end_line, self.line_map, self.observed_ms, self.observed_from_ms)


class Documents(DocumentReader, FileErrors):
    """Everything is written inside the caller's transaction; the keyword rows follow when it commits."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database
        self._keywords = KeywordRows(database)
        self._vectors = VectorRows(database)
        self._queue = EmbeddingQueue(database)
        self._identities = Identities(database)
        self._cache = EmbeddingCache(database)

    def replace(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        build: str,
        scanned_ns: int,
        now_ms: int,
        embed_hashes: Sequence[bytes],
        kept: int = 0,
        details: str | None = None,
    ) -> ReplaceOutcome:
        """Make the rows of a document those of `chunks`, after the first `kept` ones, which stay.

        A chunk whose heading, text and embedding hash were there before keeps its id and with it its vector; equal
        chunks are matched one by one, in order. New chunks get their vector from the cache, or wait in the queue.
        `embed_hashes` has one sha256 for each chunk. Raises StoreError.
        """
        prepared = [_prepare(chunk, key) for chunk, key in zip(chunks, embed_hashes, strict=True)]
        old_build, old = self._old_chunks(document, kept)
        same: list[tuple[int, _Prepared]] = []
        moved: list[tuple[Value, ...]] = []
        new: list[_Prepared] = []
        for chunk in prepared:
            twins = old.get(chunk.content)
            if not twins:
                new.append(chunk)
                continue
            chunk_id, place = twins.pop(0)
            same.append((chunk_id, chunk))
            if place != chunk.place:
                moved.append((*chunk.place, chunk_id))
        gone = [chunk_id for twins in old.values() for chunk_id, _ in twins]
        first_id = 1 + self._database.count("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'")
        path = storable(document.path)
        added = [(first_id + position, chunk) for position, chunk in enumerate(new)]
        rebuilt = same if old_build != build else []
        words = keyword_rows(path, [(chunk_id, chunk.titles, chunk.text) for chunk_id, chunk in (*added, *rebuilt)])

        file_id = self._write_file(document, kept + len(chunks), build, scanned_ns, now_ms, details)
        self._drop_chunks(gone, [chunk_id for chunk_id, _ in rebuilt])
        self._database.run_many(
            "UPDATE chunks SET ordinal = ?, start_line = ?, end_line = ?, line_map = ?, observed_ms = ?, "
            "observed_from_ms = ? WHERE id = ?",
            moved,
        )
        insert_rows(
            self._database,
            "chunks (id, file_id, ordinal, start_line, end_line, heading, text, embed_hash, line_map, observed_ms, "
            "observed_from_ms)",
            [
                (chunk_id, file_id, *chunk.place[:3], chunk.heading, chunk.text, chunk.embed_hash, *chunk.place[3:])
                for chunk_id, chunk in added
            ],
        )
        self._keywords.replace([], words)
        cached = self._find_vectors(file_id, first_id, new=len(new), has_old=bool(same or kept))
        return ReplaceOutcome(file_id, len(new), kept + len(same), len(gone), cached)

    def touch(self, source: Source, path: str, stat: StatKey, scanned_ns: int) -> None:
        """The file was read again and its text is the same."""
        self._database.run(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, device = ?, scanned_ns = ? "
            "WHERE source = ? AND path = ?",
            (stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, stat.device, scanned_ns, source, storable(path)),
        )

    def rename(self, old_path: str, document: Document, *, scanned_ns: int) -> bool:
        """The same text at another path: chunks and vectors stay, the words of the path change.

        `document` is the one at the new path. False, and nothing done, when the old path is unknown, its hash is
        another, or the new path has rows already.
        """
        path = storable(document.path)
        old = self.get_document(document.source, old_path)
        if old is None or old.hash != document.hash or self.get_document(document.source, path) is not None:
            return False
        stat = document.stat
        self._database.run(
            "UPDATE files SET path = ?, absolute = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, device = ?, "
            "scanned_ns = ?, date_ms = ?, title = ?, warning = ? WHERE id = ?",
            (
                *(path, storable(document.absolute)),
                *(stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, stat.device, scanned_ns, document.date_ms),
                *(_storable(document.title), _storable(document.warning), old.id),
            ),
        )
        chunks = self.chunks_of(old.id)
        rows = [keyword_row(chunk.id, chunk.chunk.heading, path, chunk.chunk.text) for chunk in chunks]
        self._keywords.replace_heads(rows)
        return True

    def mark_source_gone(self, source: Source, path: str) -> bool:
        """The file is gone and its text stays, marked until the file is read again; False when nothing is to mark."""
        return (
            self._database.run(
                "UPDATE files SET device = ?1 WHERE source = ?2 AND path = ?3 AND device != ?1",
                (NO_DEVICE, source, storable(path)),
            )
            > 0
        )

    def remove(self, source: Source, path: str) -> int:
        """Take a document out with all that hangs on it; the number of its chunks, 0 when it is unknown."""
        row = self.get_document(source, path)
        if row is None:
            return 0
        gone = self._database.numbers("SELECT id FROM chunks WHERE file_id = ?", (row.id,))
        self._drop_chunks(gone, [])
        self._database.run("DELETE FROM files WHERE id = ?", (row.id,))
        return len(gone)

    def settle(self, cancel: threading.Event | None = None) -> bool:
        """Clear up what many writings left in the keyword tables, in short transactions; whether all is done.

        For quiet moments after a large sync: searches get faster, nothing else changes.
        """
        return self._keywords.settle(cancel)

    def _old_chunks(
        self, document: Document, kept: int
    ) -> tuple[str | None, dict[tuple[Value, ...], list[tuple[int, tuple[Value, ...]]]]]:
        """Build of the document's rows, and those after the first `kept` as (id, place) by content, in order."""
        old: dict[tuple[Value, ...], list[tuple[int, tuple[Value, ...]]]] = defaultdict(list)
        found = self.get_document(document.source, document.path)
        if found is None:
            return None, old
        rows = self._database.rows(
            "SELECT id, heading, text, embed_hash, ordinal, start_line, end_line, line_map, observed_ms, "
            "observed_from_ms FROM chunks WHERE file_id = ? AND ordinal >= ? ORDER BY ordinal",
            (found.id, kept),
        )
        for chunk_id, *columns in rows:
            old[tuple(columns[:3])].append((chunk_id, tuple(columns[3:])))  # type: ignore[arg-type]
        return found.build, old

    def _write_file(
        self, document: Document, chunks: int, build: str, scanned_ns: int, now_ms: int, details: str | None
    ) -> int:
        stat = document.stat
        file_id = self._database.value(
            "INSERT INTO files (source, path, absolute, hash, build, size, mtime_ns, ctime_ns, inode, device, "
            "scanned_ns, indexed_ms, lines, chunks, date_ms, warning, dialect, title, details) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (source, path) DO UPDATE SET absolute = excluded.absolute, hash = excluded.hash, "
            "build = excluded.build, size = excluded.size, mtime_ns = excluded.mtime_ns, "
            "ctime_ns = excluded.ctime_ns, inode = excluded.inode, device = excluded.device, "
            "scanned_ns = excluded.scanned_ns, indexed_ms = excluded.indexed_ms, lines = excluded.lines, "
            "chunks = excluded.chunks, date_ms = excluded.date_ms, warning = excluded.warning, "
            "dialect = excluded.dialect, title = excluded.title, details = excluded.details RETURNING id",
            (
                *(document.source, storable(document.path), storable(document.absolute), document.hash, build),
                *(stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, stat.device, scanned_ns, now_ms),
                *(
                    document.lines_in_all,
                    chunks,
                    document.date_ms,
                    _storable(document.warning),
                    _storable(document.dialect),
                ),
                *(_storable(document.title), _storable(document.details if details is None else details)),
            ),
        )
        assert isinstance(file_id, int)
        return file_id

    def _drop_chunks(self, gone: list[int], rewritten: list[int]) -> None:
        """Take chunks out everywhere; of `rewritten` ones only the keyword rows."""
        self._keywords.replace([*gone, *rewritten], [])
        if gone:
            self._keywords.doubt_words(gone)
            self._vectors.delete(gone)
            self._queue.drop(gone)
            self._database.run_many("DELETE FROM chunks WHERE id = ?", [(chunk_id,) for chunk_id in gone])

    def _find_vectors(self, file_id: int, first_id: int, *, new: int, has_old: bool) -> int:
        """Vectors of the `new` chunks from the cache, the rest into the queue; how many were there."""
        if has_old:
            self._queue.renew(file_id)
        if not new:
            return 0
        live = self._identities.live()
        for row in live:
            if row.identity.dims is not None:
                self._vectors.insert_cached(row.id, row.identity.dims, file_id, first_id)
        in_force = in_force_of(live)
        if in_force is None:
            return 0
        missing = self._queue.add(in_force.id, file_id, first_id)
        self._cache.note_use(hits=new - missing, misses=missing)
        return new - missing


def _prepare(chunk: Chunk, embed_hash: bytes) -> _Prepared:
    heading = tuple(storable(part) for part in chunk.heading)
    return _Prepared(
        chunk.ordinal,
        chunk.start_line,
        chunk.end_line,
        heading_json(heading),
        storable(chunk.text),
        embed_hash,
        line_map_json(chunk.line_map),
        chunk.observed_ms,
        chunk.observed_from_ms,
        heading,
    )


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)
