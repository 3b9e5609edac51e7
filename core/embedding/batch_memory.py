"""What is remembered of batches between processes: those under way, and failures that switch them off."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, field

from core.embedding.base import StateStore
from core.records import record
from core.settings.model import Batch
from core.types import EmbeddingIdentity

log = logging.getLogger(__name__)

MOST_FAILURES = 2
OFF_SECONDS = 86_400.0
JOBS_KEY = "embedding_batches"
FAILURES_KEY = "embedding_batch_failures"
HASH_BYTES = 32


@record(frozen=True, slots=True)
class Job:
    """A batch that the provider has or is being handed; `started` in epoch seconds.

    `token` is the name that it has from us and is known before it is handed over; `id`, the provider's name for it, is
    empty until the provider has said it.
    """

    id: str
    identity: str
    started: float
    hashes: tuple[bytes, ...] = field(repr=False)
    token: str = ""


@record(frozen=True, slots=True)
class Failures:
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
        return status_keys(settings, Failures(), name, 0, is_on=identity is not None and settings.enabled)
    failures = read_failures(store, identity, now)
    under_way = sum(job.identity == identity.key for job in read_jobs(store))
    is_on = settings.enabled and not failures.stop(now)
    return status_keys(settings, failures, identity.provider, under_way, is_on=is_on)


def status_keys(
    settings: Batch, failures: Failures, provider: str, under_way: int, *, is_on: bool
) -> dict[str, object]:
    """The keys of `batch` in the status."""
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


def read_failures(store: StateStore, identity: EmbeddingIdentity, now: float) -> Failures:
    """Those of the last day; what cannot be read is none."""
    try:
        value = json.loads(store.get(FAILURES_KEY) or "null")
        if value["identity"] == identity.key and now - value["at"] < OFF_SECONDS:
            return Failures(int(value["count"]), str(value["error"]), float(value["at"]))
    except (TypeError, ValueError, KeyError):
        pass
    return Failures()


def write_failures(store: StateStore, identity: EmbeddingIdentity, failures: Failures) -> None:
    """Without any, the memory of them goes."""
    if failures.count:
        store.put(FAILURES_KEY, json.dumps({"identity": identity.key, **asdict(failures)}))
    else:
        store.delete(FAILURES_KEY)


def read_jobs(store: StateStore) -> list[Job]:
    """What cannot be read is none."""
    try:
        return [
            Job(
                str(job["id"]),
                str(job["identity"]),
                float(job["started"]),
                _unpacked(str(job["hashes"])),
                str(job.get("token", "")),
            )
            for job in json.loads(store.get(JOBS_KEY) or "[]")
        ]
    except (TypeError, ValueError, KeyError, AttributeError):
        log.warning("what was remembered of batches cannot be read")
        return []


def write_jobs(store: StateStore, jobs: Iterable[Job]) -> None:
    """In place of those that were written before."""
    values = [{**asdict(job), "hashes": _packed(job.hashes)} for job in jobs]
    if values:
        store.put(JOBS_KEY, json.dumps(values))
    else:
        store.delete(JOBS_KEY)


def _packed(hashes: Sequence[bytes]) -> str:
    return base64.b64encode(b"".join(hashes)).decode()


def _unpacked(text: str) -> tuple[bytes, ...]:
    data = base64.b64decode(text, validate=True)
    return tuple(data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES))
