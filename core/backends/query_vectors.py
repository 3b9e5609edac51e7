"""Vectors of queries: made on a thread of their own, so that they never wait behind indexing, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError

KEPT = 256


class PendingVector:
    """A vector that is being made. (The standard library's Future takes as long to import as the vector to make.)"""

    def __init__(self, vector: Vector | None = None) -> None:
        self._done = threading.Event()
        self._vector = vector
        self._error: EmbeddingError | None = None
        if vector is not None:
            self._done.set()

    def done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout: float | None = None) -> Vector:
        """The vector, waited for. Raises EmbeddingError, and TimeoutError when it does not come within `timeout`."""
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        assert self._vector is not None
        return self._vector

    def came(self, vector: Vector) -> None:
        self._vector = vector
        self._done.set()

    def failed(self, error: EmbeddingError) -> None:
        self._error = error
        self._done.set()


class QueryVectors:
    """The last queries' vectors; a new one is made in the background and awaited by whoever needs it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self, embedder: Embedder, query: str) -> PendingVector:
        """Begin to embed `query`.

        Whoever gives up on it just stops waiting: the vector is kept for the next time.
        """
        key = (embedder.identity.key, query)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        pending = PendingVector(kept)
        if kept is None:
            threading.Thread(target=self._make, args=(embedder, key, pending), name="memdeck-query").start()
        return pending

    def close(self) -> None:
        """Cancel what is being embedded."""
        self._closing.set()

    def _make(self, embedder: Embedder, key: tuple[str, str], pending: PendingVector) -> None:
        try:
            vector = embedder.embed_query(key[1], self._closing)
        except EmbeddingError as error:
            pending.failed(error)
            return
        except Exception as error:
            pending.failed(EmbeddingError(f"{type(error).__name__}: {error}"))
            return
        with self._lock:
            self._kept[key] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        pending.came(vector)
