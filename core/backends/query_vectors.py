"""Vectors of queries: made on a thread of their own, so that they never wait behind indexing, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future

from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError

KEPT = 256


class QueryVectors:
    """The last queries' vectors; a new one is made in the background and awaited by whoever needs it."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self, query: str) -> Future[Vector]:
        """Begin to embed `query`; the future holds its vector or raises EmbeddingError.

        Whoever gives up on it just stops waiting: the vector is kept for the next time.
        """
        future: Future[Vector] = Future()
        with self._lock:
            kept = self._kept.get(query)
            if kept is not None:
                self._kept.move_to_end(query)
        if kept is not None:
            future.set_result(kept)
            return future
        threading.Thread(target=self._make, args=(query, future), name="memdeck-query").start()
        return future

    def close(self) -> None:
        """Cancel what is being embedded."""
        self._closing.set()

    def _make(self, query: str, future: Future[Vector]) -> None:
        try:
            vector = self.embedder.embed_query(query, self._closing)
        except EmbeddingError as error:
            future.set_exception(error)
            return
        except Exception as error:
            future.set_exception(EmbeddingError(f"{type(error).__name__}: {error}"))
            return
        with self._lock:
            self._kept[query] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        future.set_result(vector)
