"""The providers' asynchronous batch APIs: many texts handed over at once, looked after until their vectors are made."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

from core.embedding.base import StateStore, Vector
from core.embedding.remote import sound
from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError
from core.settings.model import Batch
from core.types import EmbeddingIdentity

log = logging.getLogger(__name__)

MANY = 500
"""So many texts must wait before a batch is worth its minutes."""
MOST_FAILURES = 2
OFF_SECONDS = 86_400.0
JOBS_KEY = "embedding_batches"
FAILURES_KEY = "embedding_batch_failures"

Outcome = Vector | EmbeddingError
BatchState = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
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

    def submit(self, texts: Mapping[str, str], cancel: threading.Event) -> str:
        """Hand texts over, by name; the batch's id."""
        ...

    def look(self, batch_id: str, cancel: threading.Event) -> BatchLook: ...

    def results(self, batch_id: str, look: BatchLook, cancel: threading.Event) -> dict[str, Outcome]:
        """By name: a vector, or the error that belongs to that text; what may be tried again is left out."""
        ...

    def discard(self, batch_id: str, look: BatchLook | None, cancel: threading.Event) -> None:
        """Stop the batch if it runs, and delete what the provider keeps of it, as far as it allows that."""
        ...


@dataclass(frozen=True, slots=True)
class BatchNews:
    """Something happened to a batch; told from a batch thread, for `BatchRunner.receive` on the worker's.

    `hashes` are those of its texts. "submitted" has an `id`; "done" has `made`, a vector or a refusal by hash, for most
    of them; "failed" an error. What is not made is to be embedded in another way.
    """

    kind: Literal["submitted", "done", "failed"]
    hashes: tuple[bytes, ...]
    id: str = ""
    made: tuple[tuple[bytes, Outcome], ...] = field(default=(), repr=False)
    error: EmbeddingError | None = None
    look: BatchLook | None = None


@dataclass(frozen=True, slots=True)
class _Job:
    """A batch that the provider has; `started` in epoch seconds."""

    id: str
    identity: str
    started: float
    hashes: tuple[bytes, ...] = field(repr=False)


class BatchRunner:
    """Hands batches over and looks after them, those of earlier processes too.

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
        self._jobs: dict[str, _Job] = {}
        self._submitting: set[tuple[bytes, ...]] = set()
        self._failures = _read_failures(store, identity, clock())

    @property
    def is_on(self) -> bool:
        """Whether batches are wanted and have not failed too often."""
        return self._settings.enabled and not self._failures.stop(self._clock())

    @property
    def pending(self) -> frozenset[bytes]:
        """The hashes of all texts that a batch owes a vector; nobody else should embed them."""
        owed = [*self._submitting, *(job.hashes for job in self._jobs.values())]
        return frozenset(key for hashes in owed for key in hashes)

    @property
    def holds_up_sync(self) -> bool:
        """Whether a sync that waits for vectors should wait for batches."""
        return self._settings.wait and bool(self._jobs or self._submitting)

    def wants(self, waiting: int) -> int:
        """How many of `waiting` texts to hand over now; 0 for none."""
        busy = len(self._jobs) + len(self._submitting)
        if not self.is_on or waiting < MANY or busy >= self._settings.concurrency:
            return 0
        return min(waiting, self._api.most_items)

    def holds_back(self, waiting: int) -> bool:
        """Whether so many texts should wait for one of the batches to end, since all that may be are under way."""
        busy = len(self._jobs) + len(self._submitting)
        return self.is_on and waiting >= MANY and busy >= self._settings.concurrency

    def resume(self) -> None:
        """Look after the batches that an earlier process left; those of another identity are given up."""
        for job in _read_jobs(self._store):
            if job.identity == self._identity.key:
                self._jobs[job.id] = job
                self._executor.submit(self._attend, job)
            elif job.identity.startswith(f"{self._identity.provider}\x1f"):
                self._executor.submit(self._discard, job.id, None)
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
        hashes = tuple(taken)
        if hashes:
            self._submitting.add(hashes)
            self._executor.submit(self._hand_over, taken)
        return hashes

    def receive(self, news: BatchNews) -> BatchNews | None:
        """Note what happened; the news again if what it made is to be written now, and `settle` called after that."""
        self._submitting.discard(news.hashes)
        if news.kind == "submitted":
            job = _Job(news.id, self._identity.key, self._clock(), news.hashes)
            self._jobs[news.id] = job
            self._write_jobs()
            self._executor.submit(self._attend, job)
            return None
        if news.kind == "failed":
            self.settle(news)
            self._note_failure(str(news.error))
            return None
        if self._failures.count:
            self._failures = _Failures()
            self._store.delete(FAILURES_KEY)
        return news

    def settle(self, news: BatchNews) -> None:
        """The batch is done with, its vectors are committed: forget it, and have the provider delete it."""
        if self._jobs.pop(news.id, None) is None:
            return
        self._write_jobs()
        self._executor.submit(self._discard, news.id, news.look)

    def status(self) -> dict[str, object]:
        """The keys of `batch` in the status."""
        under_way = len(self._jobs) + len(self._submitting)
        return _status(self._settings, self._failures, self._api.name, under_way, is_on=self.is_on)

    def close(self) -> None:
        """Stop looking; the batches go on, and another process's `resume` finds them."""
        self._cancel.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- on the batch threads

    def _hand_over(self, texts: Mapping[bytes, str]) -> None:
        hashes = tuple(texts)
        try:
            batch_id = self._api.submit({key.hex(): text for key, text in texts.items()}, self._cancel)
        except EmbeddingError as error:
            self._tell(BatchNews("failed", hashes, error=error))
        except Exception as error:
            self._tell(BatchNews("failed", hashes, error=EmbeddingError(f"{type(error).__name__}: {error}")))
        else:
            self._tell(BatchNews("submitted", hashes, batch_id))

    def _attend(self, job: _Job) -> None:
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
            news = BatchNews("done", job.hashes, job.id, made, look=look)
        except EmbeddingError as error:
            news = BatchNews("failed", job.hashes, job.id, error=error, look=look)
        except Exception as error:
            failure = EmbeddingError(f"{type(error).__name__}: {error}")
            news = BatchNews("failed", job.hashes, job.id, error=failure, look=look)
        self._tell(news)

    def _await(self, job: _Job) -> BatchLook:
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

    def _discard(self, batch_id: str, look: BatchLook | None) -> None:
        try:
            self._api.discard(batch_id, look, self._cancel)
        except EmbeddingError as error:
            log.info("the batch %s stays with %s: %s", batch_id, self._api.name, error)

    def _tell(self, news: BatchNews) -> None:
        if not self._cancel.is_set():
            self._deliver(news)

    # -- what outlives the process

    def _note_failure(self, error: str) -> None:
        self._failures = _Failures(self._failures.count + 1, error, self._clock())
        value = {"identity": self._identity.key, **asdict(self._failures)}
        self._store.put(FAILURES_KEY, json.dumps(value))
        if self._failures.count == MOST_FAILURES:
            log.warning("batches of %s are off after %d failures: %s", self._api.name, MOST_FAILURES, error)

    def _write_jobs(self) -> None:
        jobs = [
            {"id": job.id, "identity": job.identity, "started": job.started, "hashes": _packed(job.hashes)}
            for job in self._jobs.values()
        ]
        if jobs:
            self._store.put(JOBS_KEY, json.dumps(jobs))
        else:
            self._store.delete(JOBS_KEY)


@dataclass(frozen=True, slots=True)
class _Failures:
    """Batches that failed in a row, the last of them `at` epoch seconds."""

    count: int = 0
    error: str | None = None
    at: float = 0.0

    def stop(self, now: float) -> bool:
        """Whether there were too many of late."""
        return self.count >= MOST_FAILURES and now - self.at < OFF_SECONDS


def remembered_status(
    settings: Batch, store: StateStore | None, identity: EmbeddingIdentity | None, *, now: float
) -> dict[str, object]:
    """The keys of `batch` in the status of a process that runs none; `identity` None where the provider takes none."""
    if identity is None or store is None:
        name = identity.provider if identity is not None else ""
        return _status(settings, _Failures(), name, 0, is_on=identity is not None and settings.enabled)
    failures = _read_failures(store, identity, now)
    under_way = sum(job.identity == identity.key for job in _read_jobs(store))
    is_on = settings.enabled and not failures.stop(now)
    return _status(settings, failures, identity.provider, under_way, is_on=is_on)


def _status(settings: Batch, failures: _Failures, provider: str, under_way: int, *, is_on: bool) -> dict[str, object]:
    last = {"lastError": failures.error, "lastProvider": provider} if failures.error is not None else {}
    return {
        "enabled": is_on,
        "failures": failures.count,
        "limit": MOST_FAILURES,
        "wait": settings.wait,
        "concurrency": settings.concurrency,
        "pollIntervalMs": settings.poll_interval_ms,
        "timeoutMs": settings.timeout_minutes * 60_000,
        "underWay": under_way,
        **last,
    }


def _read_failures(store: StateStore, identity: EmbeddingIdentity, now: float) -> _Failures:
    try:
        value = json.loads(store.get(FAILURES_KEY) or "null")
        if value["identity"] == identity.key and now - value["at"] < OFF_SECONDS:
            return _Failures(int(value["count"]), str(value["error"]), float(value["at"]))
    except (TypeError, ValueError, KeyError):
        pass
    return _Failures()


def _read_jobs(store: StateStore) -> list[_Job]:
    try:
        return [
            _Job(str(job["id"]), str(job["identity"]), float(job["started"]), _unpacked(str(job["hashes"])))
            for job in json.loads(store.get(JOBS_KEY) or "[]")
        ]
    except (TypeError, ValueError, KeyError):
        log.warning("what was remembered of batches cannot be read")
        return []


HASH_BYTES = 32


def _packed(hashes: Sequence[bytes]) -> str:
    return base64.b64encode(b"".join(hashes)).decode()


def _unpacked(text: str) -> tuple[bytes, ...]:
    data = base64.b64decode(text, validate=True)
    return tuple(data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES))
