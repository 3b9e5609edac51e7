"""A small index made by hand: documents go in as text, with vectors of one's own, and are searched as in earnest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from core.chunking import chunk_document, embedding_hash, embedding_text
from core.embedding.base import EmbedderLimits, ModelProfile, Vector, normalised
from core.search.pipeline import Searcher
from core.settings import settings_of
from core.store.database import Database
from core.store.documents import Documents
from core.store.identity import Identities
from core.store.matrix import VectorMatrix
from core.store.vectors import Vectors
from core.sync.session_counter import SessionCounter
from core.sync.session_cuts import chunk_of, cut_lines
from core.text.tokens import TokenCounter
from core.types import Chunk, Document, EmbeddingIdentity, Hit, SearchRequest, SearchResult, Source, StatKey

COUNTER = TokenCounter()
TODAY = date(2026, 6, 15)


class Compass:
    """An embedder in name only: tests hand in the vectors."""

    profile = ModelProfile(floor=0.4, text_weight=0.6)
    limits = EmbedderLimits(batch_items=1)

    def __init__(self, dims: int) -> None:
        self.identity = EmbeddingIdentity("test", "compass", dims=dims)

    def embed_documents(self, texts: Sequence[str], cancel: object = None) -> list[Vector]:
        raise AssertionError("nothing is embedded here")

    def embed_query(self, text: str, cancel: object = None) -> Vector:
        raise AssertionError("nothing is embedded here")

    def close(self) -> None:
        return


def at_cosine(cosine: float, dims: int = 4, turn: int = 1) -> Vector:
    """A unit vector whose cosine with the first axis is `cosine`; `turn` is the axis of the rest."""
    values = np.zeros(dims)
    values[0], values[turn] = cosine, np.sqrt(max(0.0, 1.0 - cosine * cosine))
    return normalised(values)


def said(
    lines: Sequence[str],
    line_map: Sequence[int] = (),
    times: Sequence[int | None] = (),
    tokens: int = 400,
    overlap: int = 80,
) -> list[Chunk]:
    """The chunks of rendered lines; by default each stands on a line of its own, and nobody knows when it was said."""
    cuts = cut_lines(lines, SessionCounter(COUNTER), tokens, overlap)
    numbers = line_map or range(1, len(lines) + 1)
    return [chunk_of(cut, at, lines, numbers, times or [None] * len(lines)) for at, cut in enumerate(cuts)]


class Shelf:
    """An index at `root`; `put` documents, then `search`."""

    def __init__(self, root: Path, *, dims: int = 4, tokens: int = 400, overlap: int = 80) -> None:
        self.database = Database.open(root / "index.sqlite")
        self.documents = Documents(self.database)
        self.embedder = Compass(dims)
        self.tokens, self.overlap = tokens, overlap
        self.row = Identities(self.database).put_in_force(self.embedder.identity)

    def put(
        self,
        path: str,
        text: str,
        *,
        source: Source = "memory",
        vector: Vector | None = None,
        date_ms: int | None = None,
        mtime_ns: int = 0,
        dialect: str | None = None,
        line_map: Sequence[int] = (),
        line_times: Sequence[int | None] = (),
    ) -> None:
        document = Document(
            source,
            path,
            f"/ws/{path}",
            StatKey(len(text), mtime_ns, 0, 0, 0),
            hashlib.sha256(text.encode()).hexdigest(),
            text,
            date_ms=date_ms,
            dialect=dialect,
        )
        if source == "memory":
            chunks = chunk_document(text, tokens=self.tokens, overlap=self.overlap, counter=COUNTER)
        else:
            chunks = said(text.splitlines(), line_map, line_times, self.tokens, self.overlap)
        # The path keeps equal texts of different documents apart, so that each can have its own vector.
        hashes = [embedding_hash(f"{path}\n{embedding_text(chunk)}") for chunk in chunks]
        with self.database.transaction():
            self.documents.replace(document, chunks, build="b", scanned_ns=0, now_ms=0, embed_hashes=hashes)
        if vector is not None:
            with self.database.transaction():
                Vectors(self.database, self.row).write([(key, vector) for key in hashes])

    def fill(self, texts: Mapping[str, str]) -> Shelf:
        for path, text in texts.items():
            self.put(path, text)
        return self

    def pad(self, count: int = 60, *, vector: Vector | None = None) -> Shelf:
        """So many documents about nothing that a test asks for: an index large enough for statistics."""
        for number in range(count):
            self.put(
                f"memory/pad/{number:03}.md",
                f"Filler {number}: gravel, moss and lichen, row {number}.\n",
                vector=vector,
            )
        return self

    def searcher(self, *, with_matrix: bool = False, **query: object) -> Searcher:
        settings = settings_of({"query": query})
        matrix = VectorMatrix(limit_mb=64) if with_matrix else None
        return Searcher(self.database, settings, embedder=self.embedder, matrix=matrix, today=lambda: TODAY)

    def search(
        self,
        query: str,
        vector: Vector | None = None,
        *,
        request: Mapping[str, object] | None = None,
        **options: object,
    ) -> SearchResult:
        asked = SearchRequest(query, **(request or {}))  # type: ignore[arg-type]
        return self.searcher(**options).search(asked, vector)

    def hits(self, query: str, vector: Vector | None = None, **more: object) -> tuple[Hit, ...]:
        return self.search(query, vector, **more).hits  # type: ignore[arg-type]

    def paths(self, query: str, vector: Vector | None = None, **more: object) -> list[str]:
        return [hit.path for hit in self.hits(query, vector, **more)]


NORTH = at_cosine(1.0)
"""The query of tests that search by meaning: the first axis."""
