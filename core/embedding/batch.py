"""The providers' asynchronous batch APIs: many texts handed over at once, looked after until their vectors are made."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Literal, Protocol

from core.embedding.asking import Answer, Asker
from core.embedding.base import StateStore, Vector
from core.embedding.batch_memory import (
    MOST_FAILURES,
    Failures,
    Job,
    read_failures,
    read_jobs,
    status_keys,
    write_failures,
    write_jobs,
)
from core.embedding.remote import sound
from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError
from core.records import record
from core.settings.model import Batch
from core.types import EmbeddingIdentity

log = logging.getLogger(__name__)

MANY = 500
"""So many texts must wait before a batch is worth its minutes."""
LOST_SECONDS = 60.0
"""How long after it was begun a batch may turn up whose name an ended process never heard."""

Outcome = Vector | EmbeddingError
BatchState = Literal["running", "done", "failed"]


@record(frozen=True, slots=True)
class BatchLook:
    """How a batch stands. `where` is what `BatchApi.results` wants to know besides the batch's id."""

    state: BatchState
    detail: str = ""
    where: tuple[str, ...] = ()


class BatchApi(Protocol):
    """A provider's batches. Every method is one or two requests and raises EmbeddingError; names are hex hashes."""

    name: str
    most_items: int
    most_bytes: int

    @property
    def most_text_bytes(self) -> int:
        """A longer text is not for a batch."""
        ...

    def submit(self, texts: Mapping[str, str], token: str, cancel: threading.Event) -> str:
        """Hand texts over, by name; the batch's id. `token`, a hex name of ours, goes with it."""
        ...

    def find(self, token: str, cancel: threading.Event) -> str | None:
        """The id of the batch that was handed over with this token; None if the provider has none."""
        ...

    def abandon(self, token: str, cancel: threading.Event) -> None:
        """Delete what was handed over with this token and became no batch."""
        ...

    def look(self, batch_id: str, cancel: threading.Event) -> BatchLook: ...

    def results(self, batch_id: str, look: BatchLook, cancel: threading.Event) -> dict[str, Outcome]:
        """By name: a vector, or the error that belongs to that text; what may be tried again is left out."""
        ...

    def discard(self, batch_id: str, look: BatchLook | None, cancel: threading.Event) -> None:
        """Stop the batch if it runs, and delete what the provider keeps of it, as far as it allows that."""
        ...


@record(frozen=True, slots=True)
class BatchNews:
    """Something happened to a batch; told from a batch thread, for `BatchRunner.receive` on the worker's.

    `hashes` are those of its texts. "submitted" has an `id`; "done" has `made`, a vector or a refusal by hash, for most
    of them; "failed" an error. What is not made is to be embedded in another way. "lost" is a batch that an ended
    process began and the provider has not.
    """

    kind: Literal["submitted", "done", "failed", "lost"]
    hashes: tuple[bytes, ...]
    id: str = ""
    token: str = ""
    made: tuple[tuple[bytes, Outcome], ...] = field(default=(), repr=False)
    error: EmbeddingError | None = None
    look: BatchLook | None = None


class BatchRunner:
    """Hands batches over and looks after them, those of earlier processes too.

    A batch is noted before it is handed over, under a token that the provider keeps with it: one that was taken while
    this process was killed is found again, not paid for twice.

    All methods belong to the indexing worker's thread and send nothing; requests run on threads of this class, which
    tell what happened through `deliver`. After two failures in a row it is off for a day: texts are then embedded by
    single requests.
    """

    def __init__(
        self,
        api: BatchApi,
        identity: EmbeddingIdentity,
        settings: Batch,
        store: StateStore,
        *,
        deliver: Callable[[BatchNews], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._identity = identity
        self._settings = settings
        self._store = store
        self._deliver = deliver
        self._clock = clock
        self._cancel = threading.Event()
        self._executor = ThreadPoolExecutor(settings.concurrency + 1, "memdeck-batch")
        self._jobs: dict[str, Job] = {}
        self._begun: dict[str, Job] = {}
        self._failures = read_failures(store, identity, clock())

    @property
    def is_on(self) -> bool:
        """Whether batches are wanted and have not failed too often."""
        return self._settings.enabled and not self._failures.stop(self._clock())

    @property
    def pending(self) -> frozenset[bytes]:
        """The hashes of all texts that a batch owes a vector; nobody else should embed them."""
        return frozenset(key for job in self._all_jobs for key in job.hashes)

    @property
    def _all_jobs(self) -> list[Job]:
        return [*self._jobs.values(), *self._begun.values()]

    @property
    def holds_up_sync(self) -> bool:
        """Whether a sync that waits for vectors should wait for batches."""
        return self._settings.wait and bool(self._jobs or self._begun)

    def wants(self, waiting: int) -> int:
        """How many of `waiting` texts to hand over now; 0 for none."""
        busy = len(self._all_jobs)
        if not self.is_on or waiting < MANY or busy >= self._settings.concurrency:
            return 0
        return min(waiting, self._api.most_items)

    def holds_back(self, waiting: int) -> bool:
        """Whether so many texts should wait for one of the batches to end, since all that may be are under way."""
        busy = len(self._all_jobs)
        return self.is_on and waiting >= MANY and busy >= self._settings.concurrency

    def resume(self) -> None:
        """Look after the batches that an earlier process left; those of another identity are given up."""
        for job in read_jobs(self._store):
            if job.identity == self._identity.key:
                known = bool(job.id)
                (self._jobs if known else self._begun)[job.id or job.token] = job
                self._executor.submit(self._attend if known else self._look_for, job)
            elif job.identity.startswith(f"{self._identity.provider}\x1f"):
                self._executor.submit(self._discard, job, None)
        self._write_jobs()

    def submit(self, texts: Sequence[tuple[bytes, str]]) -> tuple[bytes, ...]:
        """Hand over texts by hash, as many as one batch takes; the hashes of those.

        A blank or very long text is left out: it is to be embedded in another way.
        """
        taken: dict[bytes, str] = {}
        total = 0
        for key, text in texts:
            sent = sound(text)
            size = len(sent.encode())
            if size > self._api.most_text_bytes or not sent.strip():
                continue
            total += size
            if total > self._api.most_bytes or len(taken) >= self._api.most_items:
                break
            taken[key] = sent
        if taken:
            job = Job("", self._identity.key, self._clock(), tuple(taken), secrets.token_hex(8))
            self._begun[job.token] = job
            self._write_jobs()
            self._executor.submit(self._hand_over, job, taken)
        return tuple(taken)

    def receive(self, news: BatchNews) -> BatchNews | None:
        """Note what happened; the news again if what it made is to be written now, and `settle` called after that."""
        begun = self._begun.pop(news.token, None)
        if news.kind == "submitted":
            job = Job(news.id, self._identity.key, self._clock(), news.hashes, news.token)
            self._jobs[news.id] = job
            self._executor.submit(self._attend, job)
        if begun is not None or news.kind == "submitted":
            self._write_jobs()
        if news.kind == "failed":
            self.settle(news)
            self._note_failure(str(news.error))
        if news.kind != "done":
            return None
        if self._failures.count:
            self._failures = Failures()
            write_failures(self._store, self._identity, self._failures)
        return news

    def settle(self, news: BatchNews) -> None:
        """The batch is done with, its vectors are committed: forget it, and have the provider delete it."""
        job = self._jobs.pop(news.id, None)
        if job is None:
            return
        self._write_jobs()
        self._executor.submit(self._discard, job, news.look)

    def status(self) -> dict[str, object]:
        """The keys of `batch` in the status."""
        return status_keys(self._settings, self._failures, self._api.name, len(self._all_jobs), is_on=self.is_on)

    def close(self) -> None:
        """Stop looking; the batches go on, and another process's `resume` finds them."""
        self._cancel.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- on the batch threads

    def _hand_over(self, job: Job, texts: Mapping[bytes, str]) -> None:
        try:
            batch_id = self._api.submit({key.hex(): text for key, text in texts.items()}, job.token, self._cancel)
        except EmbeddingError as error:
            self._tell(BatchNews("failed", job.hashes, token=job.token, error=error))
        except Exception as error:
            failure = EmbeddingError(f"{type(error).__name__}: {error}")
            self._tell(BatchNews("failed", job.hashes, token=job.token, error=failure))
        else:
            self._tell(BatchNews("submitted", job.hashes, batch_id, job.token))

    def _look_for(self, job: Job) -> None:
        """Find a batch that was being handed over when a process ended: it may have been taken, or be a moment late."""
        found = None
        while found is None and not self._cancel.is_set():
            give_up = self._clock() >= job.started + LOST_SECONDS
            try:
                found = self._api.find(job.token, self._cancel)
            except EmbeddingError as error:
                log.info("a batch of %s cannot be looked for: %s", self._api.name, error)
                give_up = give_up and not error.retryable
            if found is None and give_up:
                self._abandon(job)
                self._tell(BatchNews("lost", job.hashes, token=job.token))
                return
            if found is None:
                self._cancel.wait(self._settings.poll_interval_ms / 1000)
        if found is not None:
            self._tell(BatchNews("submitted", job.hashes, found, job.token))

    def _attend(self, job: Job) -> None:
        """Look until the batch is over, then fetch what it made."""
        look: BatchLook | None = None
        try:
            look = self._await(job)
            if look.state == "failed":
                raise EmbeddingError(f"the batch {job.id} failed: {look.detail or 'no reason given'}")
            found = self._api.results(job.id, look, self._cancel)
            made = tuple((key, found[key.hex()]) for key in job.hashes if key.hex() in found)
            if not made:
                raise EmbeddingError(f"the batch {job.id} gave no vectors")
            news = BatchNews("done", job.hashes, job.id, made=made, look=look)
        except EmbeddingError as error:
            news = BatchNews("failed", job.hashes, job.id, error=error, look=look)
        except Exception as error:
            failure = EmbeddingError(f"{type(error).__name__}: {error}")
            news = BatchNews("failed", job.hashes, job.id, error=failure, look=look)
        self._tell(news)

    def _await(self, job: Job) -> BatchLook:
        deadline = job.started + self._settings.timeout_minutes * 60
        while True:
            raise_if_cancelled(self._cancel)
            try:
                look = self._api.look(job.id, self._cancel)
            except EmbeddingError as error:
                raise_if_cancelled(self._cancel)
                if not error.retryable:
                    raise
                look = BatchLook("running", str(error))
            if look.state != "running":
                return look
            if self._clock() >= deadline:
                minutes = self._settings.timeout_minutes
                raise EmbeddingError(f"the batch {job.id} was not ready within {minutes} min")
            self._cancel.wait(self._settings.poll_interval_ms / 1000)

    def _discard(self, job: Job, look: BatchLook | None) -> None:
        try:
            batch_id = job.id or self._api.find(job.token, self._cancel)
            if batch_id:
                self._api.discard(batch_id, look, self._cancel)
            else:
                self._api.abandon(job.token, self._cancel)
        except EmbeddingError as error:
            log.info("the batch %s stays with %s: %s", job.id or job.token, self._api.name, error)

    def _abandon(self, job: Job) -> None:
        try:
            self._api.abandon(job.token, self._cancel)
        except EmbeddingError as error:
            log.info("what was handed to %s stays there: %s", self._api.name, error)

    def _tell(self, news: BatchNews) -> None:
        if not self._cancel.is_set():
            self._deliver(news)

    # -- what outlives the process

    def _note_failure(self, error: str) -> None:
        self._failures = Failures(self._failures.count + 1, error, self._clock())
        write_failures(self._store, self._identity, self._failures)
        if self._failures.count == MOST_FAILURES:
            log.warning("batches of %s are off after %d failures: %s", self._api.name, MOST_FAILURES, error)

    def _write_jobs(self) -> None:
        write_jobs(self._store, self._all_jobs)


def posted_once(
    asker: Asker,
    post: Callable[[], Answer],
    find: Callable[[], Answer | None],
    *,
    patience: float,
    cancel: threading.Event,
) -> Answer:
    """What `post` makes, however often it must be asked: a lost reply makes nothing twice.

    Before every further attempt `find` looks whether an earlier one has made it. Raises EmbeddingError.
    """
    begun = False

    def once() -> Answer:
        nonlocal begun
        if begun:
            try:
                made = find()
            except EmbeddingError as error:
                if error.retryable:
                    raise
                made = None
            if made is not None:
                return made
        begun = True
        return post()

    return asker.insist(once, patience=patience, cancel=cancel)
