"""From the embedding queue to the pool and back into rows, in small transactions on the worker's thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core.chunking import embedding_text
from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError, QuotaExhausted
from core.events import EmbeddingFailed, EmbeddingFinished, EmbeddingProgressed, EventBus
from core.store.database import Database
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.embedding_pool import EmbeddingPool
from core.sync.messages import VectorsReady
from core.types import Progress

REQUEST_ROWS = 32
"""Texts per request to the pool: about two seconds of a local model, so that progress and cancel stay near."""
SORT_ROWS = 256
"""Texts taken from the queue at once and sorted by length, so that a batch pads little."""
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
REPORT_SECONDS = 0.25


@dataclass(slots=True)
class _Request:
    hashes: tuple[bytes, ...]
    texts: tuple[str, ...]


class EmbeddingFeed:
    """Keeps the pool busy while chunks wait, writes what comes back, and backs off when the provider fails."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        concurrency: int,
        cache_entries: int,
        bus: EventBus,
        deliver: Callable[[VectorsReady], None],
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._queue = EmbeddingQueue(database)
        self._cache = EmbeddingCache(database)
        self._cache_entries = cache_entries
        self._embedder = embedder
        self._bus = bus
        self._clock = clock
        self._pool = EmbeddingPool(embedder, concurrency, deliver)
        self._identities = Identities(database)
        self._vectors: Vectors | None = None
        self._ready: list[_Request] = []
        self._flying: set[bytes] = set()
        self._failures = 0
        self._resume_at = 0.0
        self._made = 0
        self._run_made = 0
        self._run_started = 0.0
        self._last_report = 0.0
        self.failure: EmbeddingError | None = None
        """Why the provider is not asked at the moment; None while it works."""
        self.attach()

    def attach(self, dims: int | None = None) -> None:
        """Make the embedder's identity the one in force; other vectors stay until all of its own are made."""
        with self._database.transaction():
            row = self._identities.put_in_force(
                replace(self._embedder.identity, dims=dims) if dims else self._embedder.identity
            )
            self._vectors = Vectors(self._database, row)

    @property
    def waiting(self) -> int:
        """Chunks that wait for a vector and may still get one."""
        return self._queue.waiting()

    @property
    def made(self) -> int:
        """Vectors made since this feed began."""
        return self._made

    @property
    def is_idle(self) -> bool:
        """Nothing with the pool, and nothing that could be handed to it now."""
        if self._pool.running or self._ready:
            return False
        return self.failure is not None or self.waiting == 0

    @property
    def seconds_to_retry(self) -> float | None:
        """Time until the provider is asked again; None while it works or when only a change could help."""
        if self.failure is None or self._resume_at == float("inf"):
            return None
        return max(0.0, self._resume_at - time.monotonic())

    def retry_now(self) -> None:
        """Ask the provider again at the next pump, whatever it said before."""
        self.failure = None
        self._failures = 0
        self._resume_at = 0.0

    def pump(self) -> None:
        """Hand requests to the pool while it has room. Cheap when there is nothing to do."""
        if self.failure is not None:
            if time.monotonic() < self._resume_at:
                return
            self.failure = None
        while not self._pool.is_full:
            if not self._ready and not self._refill():
                return
            request = self._ready.pop(0)
            if self._run_started == 0.0:
                self._run_started, self._run_made = time.perf_counter(), 0
            self._flying.update(request.hashes)
            self._pool.submit(request.hashes, request.texts)

    def _refill(self) -> bool:
        rows = self._queue.queued(SORT_ROWS + len(self._flying), now_ms=int(self._clock() * 1000))
        texts: dict[bytes, str] = {}
        for queued in rows:
            if queued.embed_hash not in self._flying:
                texts.setdefault(queued.embed_hash, embedding_text(queued.chunk))
        ordered = sorted(texts.items(), key=lambda item: len(item[1]))
        size = min(REQUEST_ROWS, self._embedder.limits.batch_items)
        for start in range(0, len(ordered), size):
            part = ordered[start : start + size]
            self._ready.append(_Request(tuple(key for key, _ in part), tuple(text for _, text in part)))
        return bool(self._ready)

    def receive(self, message: VectorsReady) -> None:
        """Write what a request brought. Raises StoreError."""
        self._pool.running -= 1
        self._flying.difference_update(message.hashes)
        if message.failure is not None:
            self._back_off(message)
            return
        self._failures = 0
        vectors: list[tuple[bytes, Vector]] = []
        refused: list[tuple[bytes, EmbeddingError]] = []
        for key, outcome in zip(message.hashes, message.outcomes, strict=True):
            if isinstance(outcome, EmbeddingError):
                refused.append((key, outcome))
            else:
                vectors.append((key, outcome))
        self._follow_dims(vectors)
        assert self._vectors is not None
        with self._database.transaction():
            written = self._vectors.write(vectors)
            for key, error in refused:
                self._queue.refuse(key, str(error))
        self._made += len(vectors)
        self._run_made += len(vectors)
        if refused:
            self._bus.publish(EmbeddingFailed(at_ms=self._now_ms(), error=str(refused[0][1]), chunks=len(refused)))
        self._report(written)

    def _follow_dims(self, vectors: Sequence[tuple[bytes, Vector]]) -> None:
        """A model whose vectors have all changed their length is another identity; one odd vector is just refused."""
        dims = self._vectors.dims if self._vectors is not None else None
        sizes = {len(vector) for _, vector in vectors}
        if dims is None or self._embedder.identity.dims is not None or len(vectors) < 2 or len(sizes) != 1:
            return
        if sizes != {dims}:
            self.attach(sizes.pop())

    def _back_off(self, message: VectorsReady) -> None:
        assert message.failure is not None
        self._ready.clear()
        self._failures += 1
        self.failure = message.failure
        if message.failure.retryable and not isinstance(message.failure, QuotaExhausted):
            pause = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (self._failures - 1))
            self._resume_at = time.monotonic() + pause
        else:
            pause = None
            self._resume_at = float("inf")
        self._bus.publish(
            EmbeddingFailed(
                at_ms=self._now_ms(), error=str(message.failure), chunks=len(message.hashes), retry_in_seconds=pause
            )
        )

    def _report(self, written: int) -> None:
        waiting = self.waiting
        now = time.perf_counter()
        if waiting and now - self._last_report < REPORT_SECONDS:
            return
        self._last_report = now
        elapsed = now - self._run_started
        rate = self._run_made / elapsed if elapsed > 0 else None
        progress = Progress(
            self._run_made,
            self._run_made + waiting,
            "Making vectors…",
            rate=rate,
            seconds_left=waiting / rate if rate else None,
        )
        self._bus.publish(
            EmbeddingProgressed(at_ms=self._now_ms(), written=written, waiting=waiting, progress=progress)
        )
        if waiting == 0:
            self._finish(elapsed)

    def _finish(self, elapsed: float) -> None:
        assert self._vectors is not None
        with self._database.transaction():
            self._identities.complete(self._vectors.row)
            self._vectors.refresh_stats()
            self._cache.prune(self._cache_entries)
        self._bus.publish(EmbeddingFinished(at_ms=self._now_ms(), vectors=self._run_made, seconds=elapsed))
        self._run_started = 0.0

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def close(self) -> None:
        self._pool.close()
