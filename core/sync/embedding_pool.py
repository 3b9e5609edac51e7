"""Threads that embed and nothing else: they get texts, give vectors back as messages, and never touch the index."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.embedding.base import Embedder
from core.errors import EmbeddingError
from core.sync.messages import VectorsReady


class EmbeddingPool:
    """Up to `concurrency` requests at once; `submit` returns at once, results reach `deliver` from a pool thread."""

    def __init__(self, embedder: Embedder, concurrency: int, deliver: Callable[[VectorsReady], None]) -> None:
        self._embedder = embedder
        self._deliver = deliver
        self._cancel = threading.Event()
        self._executor = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="memdeck-embed")
        self.concurrency = concurrency
        self.running = 0
        """Requests that are with the pool; counted on the worker's thread only."""

    @property
    def is_full(self) -> bool:
        return self.running >= self.concurrency

    def submit(self, hashes: Sequence[bytes], texts: Sequence[str]) -> None:
        self.running += 1
        self._executor.submit(self._embed, tuple(hashes), tuple(texts))

    def _embed(self, hashes: tuple[bytes, ...], texts: tuple[str, ...]) -> None:
        started = time.perf_counter()
        try:
            outcomes = self._embedder.embed_documents(texts, self._cancel)
            if len(outcomes) != len(texts):
                raise EmbeddingError(f"{len(outcomes)} vectors came back for {len(texts)} texts")
            answer = VectorsReady(hashes, tuple(outcomes), seconds=time.perf_counter() - started)
        except EmbeddingError as error:
            answer = VectorsReady(hashes, failure=error, seconds=time.perf_counter() - started)
        except Exception as error:
            failure = EmbeddingError(f"{type(error).__name__}: {error}")
            answer = VectorsReady(hashes, failure=failure, seconds=time.perf_counter() - started)
        if not self._cancel.is_set():
            self._deliver(answer)

    def close(self) -> None:
        """Cancel what runs and what waits; threads end when the request in hand sees its cancel flag."""
        self._cancel.set()
        self._executor.shutdown(wait=False, cancel_futures=True)
