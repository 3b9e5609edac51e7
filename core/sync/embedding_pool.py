"""Threads that embed and nothing else: they get texts, give vectors back as messages, and never touch the index."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.embedding.base import Vector
from core.errors import EmbeddingError
from core.sync.messages import VectorsReady

Embed = Callable[[threading.Event], list[Vector | EmbeddingError]]
"""One request: a vector or an error for each of its texts or files. Raises EmbeddingError when all of it failed."""


class EmbeddingPool:
    """Up to `concurrency` requests at once; `submit` returns at once, results reach `deliver` from a pool thread."""

    def __init__(self, concurrency: int, deliver: Callable[[VectorsReady], None]) -> None:
        self._deliver = deliver
        self._cancel = threading.Event()
        self._executor = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="memdeck-embed")
        self.concurrency = concurrency
        self.running = 0
        """Requests that are with the pool; counted on the worker's thread only."""

    @property
    def is_full(self) -> bool:
        return self.running >= self.concurrency

    def submit(self, hashes: Sequence[bytes], embed: Embed) -> None:
        """Have `embed` called for what these hashes stand for."""
        self.running += 1
        self._executor.submit(self._run, tuple(hashes), embed)

    def _run(self, hashes: tuple[bytes, ...], embed: Embed) -> None:
        started = time.perf_counter()
        outcomes: tuple[Vector | EmbeddingError, ...] = ()
        failure = None
        try:
            outcomes = tuple(embed(self._cancel))
            if len(outcomes) != len(hashes):
                failure = EmbeddingError(f"{len(outcomes)} vectors came back for {len(hashes)} texts")
        except EmbeddingError as error:
            failure = error
        except Exception as error:
            failure = EmbeddingError(f"{type(error).__name__}: {error}")
        if not self._cancel.is_set():
            self._deliver(VectorsReady(hashes, outcomes, failure, time.perf_counter() - started, sender=self))

    def close(self) -> None:
        """Cancel what runs and what waits; threads end when the request in hand sees its cancel flag."""
        self._cancel.set()
        self._executor.shutdown(wait=False, cancel_futures=True)
