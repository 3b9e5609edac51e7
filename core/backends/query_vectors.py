"""Vectors of queries: made on a thread of their own, so that they never wait behind indexing, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError

if TYPE_CHECKING:
    from concurrent.futures import Future

KEPT = 256


class QueryVectors:
    """The last queries' vectors; a new one is made in the background and awaited by whoever needs it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self, embedder: Embedder, query: str) -> Future[Vector]:
        """Begin to embed `query`; the future holds its vector or raises EmbeddingError.

        Whoever gives up on it just stops waiting: the vector is kept for the next time.
        """
        from concurrent.futures import Future

        future: Future[Vector] = Future()
        key = (embedder.identity.key, query)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None:
            future.set_result(kept)
            return future
        threading.Thread(target=self._make, args=(embedder, key, future), name="memdeck-query").start()
        return future

    def close(self) -> None:
        """Cancel what is being embedded."""
        self._closing.set()

    def _make(self, embedder: Embedder, key: tuple[str, str], future: Future[Vector]) -> None:
        try:
            vector = embedder.embed_query(key[1], self._closing)
        except EmbeddingError as error:
            future.set_exception(error)
            return
        except Exception as error:
            future.set_exception(EmbeddingError(f"{type(error).__name__}: {error}"))
            return
        with self._lock:
            self._kept[key] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        future.set_result(vector)
