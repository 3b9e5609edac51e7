"""The texts of candidates, fetched once for a search and folded once."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import apsw

from core.store.database import id_array
from core.store.document_reader import NO_DEVICE
from core.text.analysis import fold
from core.text.days import name_date_ms
from core.types import Source


class FileInfo(NamedTuple):
    """What a hit says of its document. `date_ms` is from the name, of a transcript when it began, None for undated.

    `mtime_ns` is from the file.
    """

    id: int
    source: Source
    path: str
    hash: str
    date_ms: int | None
    mtime_ns: int
    dialect: str | None
    source_gone: int


class FoldedTexts:
    """Folded texts of the last searches, within a bound of characters; the text of a chunk id never changes."""

    def __init__(self, most_characters: int = 16_000_000) -> None:
        self._most = most_characters
        self._held = 0
        self._texts: OrderedDict[int, str] = OrderedDict()

    def of(self, chunk_id: int, text: str) -> str:
        """`text` folded."""
        known = self._texts.get(chunk_id)
        if known is not None:
            self._texts.move_to_end(chunk_id)
            return known
        folded = self._texts[chunk_id] = fold(text)
        self._held += len(folded)
        while self._held > self._most:
            self._drop_oldest()
        return folded

    def keep_at_most(self, chunks: int) -> None:
        """Let the oldest go beyond so many: an index with no more chunks has none of their texts any more."""
        while len(self._texts) > chunks:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, dropped = self._texts.popitem(last=False)
        self._held -= len(dropped)


class ChunkRow(NamedTuple):
    """One chunk as stored. `heading_json` and `line_map_json` are read when asked for."""

    id: int
    file_id: int
    ordinal: int
    start_line: int
    end_line: int
    text: str
    heading_json: str
    line_map_json: str | None
    observed_ms: int | None
    observed_from_ms: int | None

    @property
    def heading(self) -> tuple[str, ...]:
        return tuple(str(title) for title in json.loads(self.heading_json))

    @property
    def line_map(self) -> tuple[int, ...]:
        return tuple(int(line) for line in json.loads(self.line_map_json)) if self.line_map_json else ()


class Rows:
    """Chunks and documents of one search, inside its read transaction."""

    def __init__(self, connection: apsw.Connection, folded: FoldedTexts) -> None:
        self._connection = connection
        self._folded = folded
        self._chunks: dict[int, ChunkRow] = {}
        self._files: dict[int, FileInfo] = {}

    def fetch(self, ids: Iterable[int]) -> None:
        """Read the chunks that are not here yet; ids that are gone stay absent."""
        missing = [chunk_id for chunk_id in dict.fromkeys(ids) if chunk_id not in self._chunks]
        if not missing:
            return
        found = self._connection.execute(
            "SELECT id, file_id, ordinal, start_line, end_line, text, heading, line_map, observed_ms, "
            "observed_from_ms FROM chunks WHERE id IN (SELECT value FROM carray(?))",
            (id_array(missing),),
        )
        self._chunks.update((row.id, row) for row in map(ChunkRow._make, found))

    def __contains__(self, chunk_id: int) -> bool:
        return chunk_id in self._chunks

    def __getitem__(self, chunk_id: int) -> ChunkRow:
        return self._chunks[chunk_id]

    def folded(self, chunk_id: int) -> str:
        """A fetched chunk's text, folded."""
        return self._folded.of(chunk_id, self._chunks[chunk_id].text)

    def fetch_files(self, file_ids: Iterable[int]) -> None:
        """Read the documents that are not here yet."""
        missing = [file_id for file_id in dict.fromkeys(file_ids) if file_id not in self._files]
        if not missing:
            return
        found = self._connection.execute(
            "SELECT id, source, path, hash, date_ms, mtime_ns, dialect, device = ? FROM files "
            "WHERE id IN (SELECT value FROM carray(?))",
            (NO_DEVICE, id_array(missing)),
        )
        for row in map(FileInfo._make, found):
            is_session = row.source == "sessions"
            self._files[row.id] = row if is_session else row._replace(date_ms=name_date_ms(row.path))

    def file(self, chunk_id: int) -> FileInfo:
        """The document of a fetched chunk whose document was fetched too."""
        return self._files[self._chunks[chunk_id].file_id]
