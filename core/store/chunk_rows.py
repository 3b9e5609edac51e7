"""Rows of the chunks table, as values."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from core.records import record
from core.store.database import Value
from core.types import Chunk, Source

CHUNK_COLUMNS = (
    "chunks.ordinal, chunks.start_line, chunks.end_line, chunks.text, chunks.heading, chunks.line_map, "
    "chunks.observed_ms, chunks.observed_from_ms"
)
STORED_COLUMNS = (
    "chunks.id, chunks.file_id, files.source, files.path, files.hash, files.dialect, "
    f"chunks.embed_hash, {CHUNK_COLUMNS}"
)


@record(frozen=True, slots=True)
class StoredChunk:
    """A chunk and what a hit needs of its document; `embed_hash` is the key of its vector."""

    id: int
    file_id: int
    source: Source
    path: str
    document_hash: str
    dialect: str | None
    embed_hash: bytes
    chunk: Chunk


def heading_json(heading: Sequence[str]) -> str:
    """A heading path as its column holds it."""
    return orjson.dumps(heading).decode() if heading else "[]"


def line_map_json(line_map: Sequence[int]) -> str | None:
    """A line map as its column holds it; None for none."""
    return orjson.dumps(line_map).decode() if line_map else None


def chunk_from(columns: Sequence[Value]) -> Chunk:
    """A chunk from the values of CHUNK_COLUMNS."""
    ordinal, start_line, end_line, text, heading, line_map, observed_ms, observed_from_ms = columns
    return Chunk(
        ordinal,  # type: ignore[arg-type]
        start_line,  # type: ignore[arg-type]
        end_line,  # type: ignore[arg-type]
        text,  # type: ignore[arg-type]
        tuple(orjson.loads(heading)) if heading != "[]" else (),  # type: ignore[arg-type]
        tuple(orjson.loads(line_map)) if line_map is not None else (),  # type: ignore[arg-type]
        observed_ms,  # type: ignore[arg-type]
        observed_from_ms,  # type: ignore[arg-type]
    )


def stored_from(columns: Sequence[Value]) -> StoredChunk:
    """A stored chunk from the values of STORED_COLUMNS."""
    return StoredChunk(*columns[:7], chunk_from(columns[7:]))  # type: ignore[arg-type, call-arg]
