"""From the embedding queue to the pool and back into rows, in small transactions on the worker's thread."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError, QuotaExhausted
from core.events import EmbeddingFailed, EmbeddingFinished, EmbeddingProgressed, EventBus
from core.store.database import Database
from core.store.embedding_cache import EmbeddingCache
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.embedding_pool import EmbeddingPool
from core.sync.embedding_requests import ReadMedia, Request, requests_of, texts_of
from core.sync.messages import VectorsReady
from core.types import Progress

if TYPE_CHECKING:
    from core.embedding.batch import BatchNews, BatchRunner

SORT_ROWS = 256
"""Texts taken from the queue at once and sorted by length, so that a batch pads little."""
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
REPORT_SECONDS = 0.25


class EmbeddingFeed:
    """Keeps the pool busy while chunks wait, writes what comes back, and backs off when the provider fails.

    With a `runner`, texts go to the provider's batches while many wait. `read_media` reads images and sound.
    """

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
        runner: BatchRunner | None = None,
        read_media: ReadMedia | None = None,
    ) -> None:
        self._database = database
        self._queue = EmbeddingQueue(database)
        self._cache = EmbeddingCache(database)
        self._cache_entries = cache_entries
        self._embedder = embedder
        self._bus = bus
        self._clock = clock
        self._runner = runner
        self._read_media = read_media
        self._pool = EmbeddingPool(concurrency, deliver)
        self._identities = Identities(database)
        self._vectors: Vectors | None = None
        self._ready: list[Request] = []
        self._flying: set[bytes] = set()
        self._unfit: set[bytes] = set()
        self._has_more = True
        self._is_complete = False
        self._forgotten: set[bytes] = set()
        self._odd: Counter[int] = Counter()  # vectors of another length than the index has, since the last of its own
        self._probe: bytes | None = None
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
        self._is_complete = False

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
        """Nothing under way that a sync waits for, and nothing that could be begun when `pump` last looked."""
        if self._pool.running or self._ready or (self._runner is not None and self._runner.holds_up_sync):
            return False
        return self.failure is not None or not self._has_more

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
        self._has_more = True

    def probe(self) -> None:
        """Make a vector that is there once more, to see whether the provider's still have the length of the index's."""
        if self._ready or self._dims_to_follow is None:
            return
        requests, _ = requests_of(self._queue.done(1), self._embedder, None)
        if requests:
            self._ready, self._probe = requests, requests[0].hashes[0]

    @property
    def _dims_to_follow(self) -> int | None:
        """The length of the index's vectors, where it is not known by the model's name but was learnt from them."""
        return self._vectors.dims if self._vectors is not None and self._embedder.identity.dims is None else None

    def pump(self) -> None:
        """Hand requests to the pool while it has room. Cheap when there is nothing to do."""
        if self.failure is not None:
            if time.monotonic() < self._resume_at:
                return
            self.failure = None
        self._has_more = not self._fill_batches()
        while self._has_more and not self._pool.is_full:
            if not self._ready and not self._refill():
                self._has_more = False
                self._complete_if_all_are_there()
                return
            request = self._ready.pop(0)
            self._begin_run()
            self._flying.update(request.hashes)
            self._pool.submit(request.hashes, request.embed)

    def _complete_if_all_are_there(self) -> None:
        """Every vector may have been in the cache, or what waited may be gone."""
        if not self._is_complete and not self._pool.running and not self.waiting:
            self._complete()

    def _refill(self) -> bool:
        while True:
            rows = self._queue.queued(SORT_ROWS, now_ms=self._now_ms(), skip=self._under_way())
            self._ready, refused = requests_of(rows, self._embedder, self._read_media)
            if refused:
                self._take((key, EmbeddingError(why)) for key, why in refused.items())
            if self._ready or not refused:
                return bool(self._ready)

    def _fill_batches(self) -> bool:
        """Hand what waits to the provider's batches; whether the rest is to wait for one of them to end."""
        runner = self._runner
        if runner is None or self._ready:
            return False
        while True:
            free = self.waiting - len(self._under_way()) - len(self._unfit)
            count = runner.wants(free)
            if not count:
                return runner.holds_back(free)
            texts = texts_of(self._queue.queued(count, now_ms=self._now_ms(), skip=self._under_way() | self._unfit))
            if not texts:
                return False
            if runner.submit(list(texts.items())):
                self._begin_run()
            else:
                self._unfit.update(texts)

    def _under_way(self) -> set[bytes]:
        return self._flying.union(self._runner.pending) if self._runner is not None else self._flying

    def receive(self, message: VectorsReady) -> bool:
        """Write what a request brought; False, and nothing done, if it is not one of this feed's. Raises StoreError."""
        if message.sender is not self._pool:
            return False
        self._pool.running -= 1
        self._flying.difference_update(message.hashes)
        if message.failure is not None:
            self._back_off(message)
            return True
        self._failures = 0
        self._take(zip(message.hashes, message.outcomes, strict=True))
        return True

    def hear(self, news: BatchNews) -> None:
        """Write what a batch brought; what it did not make goes by single requests. Raises StoreError."""
        runner = self._runner
        if runner is None:
            return
        finished = runner.receive(news)
        if news.kind in ("done", "failed"):
            self._unfit.update(set(news.hashes).difference(key for key, _ in news.made))
        if news.error is not None:
            self._bus.publish(
                EmbeddingFailed(at_ms=self._now_ms(), error=f"batch: {news.error}", chunks=len(news.hashes))
            )
        if finished is not None:
            self._take(finished.made)
            runner.settle(finished)

    def _take(self, outcomes: Iterable[tuple[bytes, Vector | EmbeddingError]]) -> None:
        """Write vectors, and the reasons why there are none."""
        vectors: list[tuple[bytes, Vector]] = []
        refused: list[tuple[bytes, EmbeddingError]] = []
        for key, outcome in outcomes:
            if key in self._forgotten and not self._queue.has_text(key):
                continue
            if isinstance(outcome, EmbeddingError):
                refused.append((key, outcome))
            else:
                vectors.append((key, outcome))
        self._follow_dims(vectors)
        if self._probe is not None:
            vectors = [(key, vector) for key, vector in vectors if key != self._probe]
            self._probe = None
        assert self._vectors is not None
        with self._database.transaction():
            written = self._vectors.write(vectors)
            for key, error in refused:
                self._queue.refuse(key, str(error))
        self._unfit.difference_update(key for key, _ in (*vectors, *refused))
        self._made += len(vectors)
        self._run_made += len(vectors)
        if refused:
            self._bus.publish(EmbeddingFailed(at_ms=self._now_ms(), error=str(refused[0][1]), chunks=len(refused)))
        self._report(written)

    def _follow_dims(self, vectors: Sequence[tuple[bytes, Vector]]) -> None:
        """A model whose vectors have all changed their length is another identity; one odd vector is just refused."""
        dims = self._dims_to_follow
        if dims is None or not vectors:
            return
        sizes = Counter(len(vector) for _, vector in vectors)
        if dims in sizes or len(sizes) > 1:
            self._odd.clear()
            return
        self._odd += sizes
        (size,) = sizes
        if self._odd[size] > 1 or any(key == self._probe for key, _ in vectors):
            self._odd.clear()
            self.attach(size)

    def _back_off(self, message: VectorsReady) -> None:
        failure = message.failure
        assert failure is not None
        self._ready.clear()
        self._probe = None
        self._failures += 1
        self.failure = failure
        if failure.retryable and not isinstance(failure, QuotaExhausted):
            pause = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(30, self._failures - 1))
            pause = max(pause, failure.retry_after or 0.0)
            self._resume_at = max(self._resume_at, time.monotonic() + pause)
        else:
            pause = None
            self._resume_at = float("inf")
        self._bus.publish(
            EmbeddingFailed(
                at_ms=self._now_ms(), error=str(failure), chunks=len(message.hashes), retry_in_seconds=pause
            )
        )

    def _begin_run(self) -> None:
        if self._run_started == 0.0:
            self._run_started, self._run_made = time.perf_counter(), 0

    def _report(self, written: int) -> None:
        waiting = self.waiting
        now = time.perf_counter()
        if waiting and now - self._last_report < REPORT_SECONDS:
            return
        self._last_report = now
        elapsed = now - self._run_started if self._run_started else 0.0
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

    def _complete(self) -> None:
        assert self._vectors is not None
        with self._database.transaction():
            self._identities.complete(self._vectors.row)
            self._vectors.refresh_stats()
            self._cache.prune(self._cache_entries)
        self._is_complete = True

    def _finish(self, elapsed: float) -> None:
        self._complete()
        self._bus.publish(EmbeddingFinished(at_ms=self._now_ms(), vectors=self._run_made, seconds=elapsed))
        self._run_started = 0.0

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def forget(self, hashes: Set[bytes] | None) -> None:
        """Vectors of these texts are thrown away when they come; None takes all of them again."""
        if hashes is None:
            self._forgotten.clear()
        else:
            self._forgotten.update(hashes)

    def close(self) -> None:
        self._pool.close()
        if self._runner is not None:
            self._runner.close()
