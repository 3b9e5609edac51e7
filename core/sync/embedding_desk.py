"""Who makes the vectors: the provider, or its fallback when it fails for good, each by a feed of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from core.embedding.base import Embedder
from core.embedding.select import Selection
from core.errors import EmbeddingError, ProviderUnavailable, QuotaExhausted
from core.events import EventBus, IdentityChanged
from core.store.database import Database
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import read_identity, write_identity
from core.sync.embedding_feed import EmbeddingFeed
from core.sync.intake import Intake, ReadsMedia
from core.sync.messages import BatchHeard, QueryFailed, VectorsReady
from core.sync.provider_memory import (
    Trouble,
    failover_of,
    forget_trouble,
    provider_texts,
    recall_trouble,
    remember_trouble,
)
from core.sync.state import WorkerOptions
from core.types import EmbeddingIdentity

if TYPE_CHECKING:
    from core.embedding.batch import BatchNews, BatchRunner


class EmbeddingDesk:
    """The feed of the embedder in force, and the decision which that is. All methods run on the worker's thread.

    Without an embedder nothing waits and nothing is made. `post` gets messages from other threads. Raises StoreError.
    """

    def __init__(
        self,
        database: Database,
        options: WorkerOptions,
        selection: Selection,
        intakes: Sequence[Intake],
        bus: EventBus,
        *,
        post: Callable[[VectorsReady | BatchHeard], None],
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._options = options
        self._bus = bus
        self._post = post
        self._clock = clock
        self._texts = provider_texts(database)
        self._failover = failover_of(database, selection, clock=clock)
        self._read_media = next((intake.read_media for intake in intakes if isinstance(intake, ReadsMedia)), None)
        self._made_before = 0
        self._feed: EmbeddingFeed | None = None
        self._runner: BatchRunner | None = None
        self._is_troubled = False
        self._open()

    @property
    def identity(self) -> EmbeddingIdentity | None:
        """That of the embedder in force; None without one."""
        return self._failover.identity

    @property
    def is_local(self) -> bool:
        """Whether the vectors are made by this machine's processor, as far as is known."""
        identity = self.identity
        return identity is not None and not identity.endpoint

    @property
    def failure(self) -> EmbeddingError | None:
        """Why nobody is asked at the moment; None while all goes well."""
        return self._feed.failure if self._feed is not None else None

    @property
    def warning(self) -> str | None:
        """What a sync that waited for vectors should be told."""
        if self.failure is not None:
            return self.failure.in_full
        fallback = self._failover.fallback
        return f"{self.identity} is used in place of {fallback['from']}: {fallback['reason']}" if fallback else None

    @property
    def waiting(self) -> int:
        """Chunks that wait for a vector and may still get one."""
        return self._feed.waiting if self._feed is not None else 0

    @property
    def made(self) -> int:
        """Vectors made since the start, by whomever."""
        return self._made_before + (self._feed.made if self._feed is not None else 0)

    @property
    def is_idle(self) -> bool:
        """Nothing that a sync waits for is under way or could be begun."""
        return self._feed is None or self._feed.is_idle

    @property
    def seconds_to_retry(self) -> float | None:
        """Time until the provider is asked again; None while it works or when only a change could help."""
        return self._feed.seconds_to_retry if self._feed is not None else None

    def begin_sync(self, *, force: bool) -> None:
        """Ask again whoever failed; with `force` also about texts that were refused."""
        if self._failover.retry_primary():
            self._change("the provider is asked again")
        if self._feed is None:
            return
        self._feed.retry_now()
        if force:
            with self._database.transaction():
                EmbeddingQueue(self._database).retry()
            self._feed.probe()

    def pump(self) -> None:
        """Hand out what waits, as far as there is room."""
        if self._feed is not None:
            self._feed.pump()

    def receive(self, message: VectorsReady) -> None:
        """Write what a request brought; a failure for good hands over to the fallback."""
        if self._feed is None or not self._feed.receive(message):
            return
        if message.failure is not None:
            self._note_trouble(message.failure)
            self._hand_over(message.failure)
            return
        self._failover.succeeded()
        if self._is_troubled:
            forget_trouble(self._texts)
            self._is_troubled = False

    def hear(self, message: BatchHeard) -> None:
        """Write what a batch brought."""
        if self._feed is not None and message.sender is self._runner:
            self._feed.hear(message.news)

    def query_failed(self, message: QueryFailed) -> None:
        """A query may be the first to meet a used-up quota or a refused key."""
        identity = self.identity
        if identity is None or identity.key != message.identity.key:
            return
        if isinstance(message.error, ProviderUnavailable | QuotaExhausted):
            self._hand_over(message.error)

    def forget(self, hashes: Set[bytes] | None) -> None:
        """Vectors of these texts are not wanted, also those under way; None wants all of them again."""
        if self._feed is not None:
            self._feed.forget(hashes)

    def close(self) -> None:
        """Stop what is under way; the embedders stay open for queries."""
        if self._feed is not None:
            self._made_before += self._feed.made
            self._feed.close()
            self._feed = None
        self._runner = None

    def _hand_over(self, error: EmbeddingError) -> None:
        if self._failover.failed(error):
            self._change(f"the provider failed for good: {error}")

    def _change(self, why: str) -> None:
        """Put the other embedder in force; the vectors of the first stay until those of the other are complete."""
        self.close()
        self._open()
        identity = self.identity
        with self._database.transaction():
            stored = read_identity(self._database)
            if stored is not None and identity is not None:
                write_identity(self._database, replace(stored, embedding=identity))
        reason = f"{identity} makes the vectors from now on; {why}"
        self._bus.publish(IdentityChanged(at_ms=int(self._clock() * 1000), reason=reason, redone=True))

    def _open(self) -> None:
        embedder = self._failover.embedder
        if embedder is None:
            return
        self._runner = self._runner_of(embedder)
        self._feed = EmbeddingFeed(
            self._database,
            embedder,
            concurrency=self._options.concurrency or embedder.limits.concurrency,
            cache_entries=self._options.cache_entries,
            bus=self._bus,
            deliver=self._post,
            clock=self._clock,
            runner=self._runner,
            read_media=self._read_media,
        )
        self._is_troubled = recall_trouble(self._texts, embedder.identity) is not None
        if self._runner is not None:
            self._runner.resume()

    def _runner_of(self, embedder: Embedder) -> BatchRunner | None:
        settings = self._options.batch
        if settings is None or not embedder.identity.endpoint:
            return None
        from core.embedding.batch import BatchRunner
        from core.embedding.providers import batch_api

        api = batch_api(embedder)
        if api is None:
            return None

        def tell(news: BatchNews) -> None:
            self._post(BatchHeard(news, runner))

        runner = BatchRunner(api, embedder.identity, settings, self._texts, deliver=tell, clock=self._clock)
        return runner

    def _note_trouble(self, failure: EmbeddingError) -> None:
        identity = self.identity
        if identity is not None:
            remember_trouble(self._texts, identity, Trouble.of(failure))
            self._is_troubled = True
