"""Documents are embedded in a process of its own when there are more than a few; a query never leaves this one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from core.courtesy import Courtesy
from core.embedding.base import Embedder, EmbedderLimits, ModelProfile, Vector
from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError
from core.spare_memory import map_large_blocks
from core.types import EmbeddingIdentity

if TYPE_CHECKING:
    from concurrent.futures import Future

    from core.embedding.embedding_process import EmbeddingProcess, Made

FEW = 4
"""Texts that are embedded here where no process is up: they take as long as it takes to start."""
AT_ONCE = 2
"""Requests: while one is written to the index the next is being made."""
MOST_FAILURES = 3
"""So often in a row may a process end by itself; after that all is embedded here."""
_LOOK_SECONDS = 0.05


class Portable(Embedder, Protocol):
    """A local embedder that can be had again in another process."""

    def elsewhere(self, threads: int | None, cancel: threading.Event | None) -> Callable[[], Embedder]:
        """What makes it there, to be pickled; its files are found first. Raises EmbeddingError."""
        ...


class ApartEmbedder:
    """`here` for queries and for a few documents, a process for many; without one, `here` for all.

    The process is started when it is needed, and ends when it is idle, with `close`, or with a request that is
    cancelled. Whatever becomes of it, each request is answered.
    """

    def __init__(self, here: Portable, *, threads: int | None = None, courtesy: Courtesy | None = None) -> None:
        self._here = here
        self._threads = threads
        self._courtesy = courtesy or Courtesy()
        self._lock = threading.Lock()
        self._process: EmbeddingProcess | None = None
        self._failures = 0
        self._is_closed = False

    @property
    def identity(self) -> EmbeddingIdentity:
        return self._here.identity

    @property
    def profile(self) -> ModelProfile:
        return self._here.profile

    @property
    def limits(self) -> EmbedderLimits:
        return replace(self._here.limits, concurrency=AT_ONCE)

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        raise_if_cancelled(cancel)
        while (process := self._process_for(texts, cancel)) is not None:
            self._courtesy.wait()
            made = self._awaited(process.submit(list(texts), awake=len(texts) > FEW), process, cancel)
            self._count(process)
            if isinstance(made, EmbeddingError):
                raise made
            if made is not None:
                return made
            if process.failed:
                break
        map_large_blocks()
        return self._here.embed_documents(texts, cancel)

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        map_large_blocks()
        return self._here.embed_query(text, cancel)

    def close(self) -> None:
        self._here.close()
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
        if process is not None:
            process.close()

    def _process_for(self, texts: Sequence[str], cancel: threading.Event | None) -> EmbeddingProcess | None:
        """The process that is up, or a new one if these texts are worth it."""
        with self._lock:
            if self._process is not None and not self._process.is_over:
                return self._process
            if len(texts) <= FEW or self._is_closed or self._failures >= MOST_FAILURES:
                return None
            from core.embedding.embedding_process import EmbeddingProcess  # a search starts none

            make = self._here.elsewhere(self._threads, cancel)
            try:
                self._process = EmbeddingProcess(make)
            except Exception as error:
                self._failures = MOST_FAILURES
                _warn("no process for embedding: %s", error)
                return None
            return self._process

    def _awaited(
        self, made: Future[Made | None], process: EmbeddingProcess, cancel: threading.Event | None
    ) -> Made | None:
        while True:
            try:
                return made.result(_LOOK_SECONDS)
            except TimeoutError:
                if cancel is not None and cancel.is_set():
                    process.close()  # what it makes is wanted by nobody
                    raise_if_cancelled(cancel)

    def _count(self, process: EmbeddingProcess) -> None:
        """Remember whether it lived to answer."""
        with self._lock:
            if process.failed and process is self._process:
                self._process = None
                self._failures += 1
            elif not process.failed:
                self._failures = 0


def _warn(message: str, *parts: object) -> None:
    import logging  # a search that warns of nothing does without

    logging.getLogger(__name__).warning(message, *parts)
