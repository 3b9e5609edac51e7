"""Read-only connections for searches: a few, kept for life, leased to one caller at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.embedding.base import Embedder
from core.errors import SearchCancelled
from core.records import record
from core.settings.model import Settings

# The app opens its memory before its first frame, and searches after it.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from core.embedding.base import Vector
    from core.search.pipeline import Searcher
    from core.search.semantic import Matrix
    from core.store.database import Database
    from core.store.document_reader import DocumentReader
    from core.store.identity import IdentityRow

CANCEL_POLL_SECONDS = 0.02


@record(slots=True)
class Reader:
    """One read-only connection and what stands on it."""

    database: Database
    documents: DocumentReader
    make_searcher: Callable[[Embedder | None], Searcher]
    _searcher: tuple[Embedder | None, Searcher] | None = None

    def searcher(self, embedder: Embedder | None) -> Searcher:
        """A searcher that knows this embedder's vectors; the last one is kept."""
        if self._searcher is None or self._searcher[0] is not embedder:
            self._searcher = (embedder, self.make_searcher(embedder))
        return self._searcher[1]

    def close(self) -> None:
        self.database.close()


class _LateMatrix:
    """All vectors in memory; what that takes is loaded with the first query that has a vector."""

    def __init__(self, limit_mb: float) -> None:
        self._limit_mb = limit_mb
        self._lock = threading.Lock()
        self._made: Matrix | None = None

    def cosines(
        self, database: Database, row: IdentityRow, query: Vector
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]] | None:
        """As `VectorMatrix` has it."""
        with self._lock:
            if self._made is None:
                from core.store.matrix import VectorMatrix

                self._made = VectorMatrix(limit_mb=self._limit_mb)
            made = self._made
        return made.cosines(database, row, query)


class ReaderPool:
    """Up to `size` readers, opened when first needed, and anew when the file was replaced.

    The vector matrix is shared, so that its memory is paid once.
    """

    def __init__(self, store: Path, settings: Settings, *, keep_matrix: bool, size: int = 2) -> None:
        self._store = store
        self._settings = settings
        self._matrix = _LateMatrix(settings.query.matrix_mb) if keep_matrix else None
        self._slots: queue.LifoQueue[Reader | None] = queue.LifoQueue()
        for _ in range(size):
            self._slots.put(None)
        self._size = size
        self._closed = threading.Event()

    @contextmanager
    def lease(self, cancel: threading.Event | None = None) -> Iterator[Reader]:
        """A reader of one's own for a while. Raises SearchCancelled, StoreError."""
        reader = self._take(cancel)
        try:
            if reader is not None and reader.database.is_replaced:
                reader.close()
                reader = None
            if reader is None:
                reader = self._open()
            yield reader
        finally:
            if self._closed.is_set() and reader is not None:
                reader.close()
                reader = None
            self._slots.put(reader)

    def _take(self, cancel: threading.Event | None) -> Reader | None:
        while True:
            if cancel is not None and cancel.is_set():
                raise SearchCancelled("the search was cancelled")
            try:
                return self._slots.get(timeout=CANCEL_POLL_SECONDS)
            except queue.Empty:
                continue

    def _open(self) -> Reader:
        from core.store.database import Database
        from core.store.document_reader import DocumentReader

        database = Database.open(
            self._store,
            read_only=True,
            vector_extension=self._settings.store.vector.enabled,
            extension_path=self._settings.store.vector.extension_path,
        )

        def make_searcher(embedder: Embedder | None) -> Searcher:
            from core.search.pipeline import Searcher

            return Searcher(database, self._settings, embedder=embedder, matrix=self._matrix)

        return Reader(database, DocumentReader(database), make_searcher)

    def close(self) -> None:
        """Close the readers that nobody has; leased ones close when they come back."""
        self._closed.set()
        for _ in range(self._size):
            try:
                reader = self._slots.get_nowait()
            except queue.Empty:
                return
            if reader is not None:
                reader.close()
