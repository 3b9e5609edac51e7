"""Asking a provider until it answers: retries with backoff, and waits that all requests to it share."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from core.embedding.failures import Addressee, failure_of, parsed
from core.embedding.http import Connection, Request
from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError, QuotaExhausted

ATTEMPTS = 3
FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 8.0
JITTER = 0.2
QUOTA_SECONDS = 60.0
"""How long nobody is asked after the quota was found used up."""
STATED_WAITS = 20
"""How often one call waits because it was told to."""
WAKE_SECONDS = 0.05

Answer = TypeVar("Answer")


class Gate:
    """A wait that all who ask the same provider share: whoever is told to wait holds up the others too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0
        self._why: EmbeddingError | None = None

    def hold(self, seconds: float, why: EmbeddingError) -> None:
        """Let nobody through for so long; a longer wait stays."""
        with self._lock:
            until = time.monotonic() + seconds
            if until > self._until:
                self._until, self._why = until, why

    def look(self) -> tuple[float, EmbeddingError | None]:
        """Seconds that are left, and why."""
        with self._lock:
            return max(0.0, self._until - time.monotonic()), self._why


class Asker:
    """Sends requests to one provider. Methods may be called from several threads."""

    def __init__(self, connection: Connection, to: Addressee, *, clock: Callable[[], float] = time.time) -> None:
        self.to = to
        self._connection = connection
        self._clock = clock
        self._gate = Gate()

    def ask(
        self,
        request: Request,
        read: Callable[[object], Answer],
        *,
        timeout: float,
        most_bytes: int,
        patience: float,
        cancel: threading.Event | None = None,
    ) -> Answer:
        """What `read` makes of the reply's JSON.

        Failures that may pass are tried again with growing pauses. A pause that the provider asks for is kept, and is
        no attempt; one that takes this call beyond `patience` seconds of waiting ends it at once, and every later call
        until it is over. Raises EmbeddingError, and what `read` raises.
        """

        def once() -> Answer:
            value = parsed(self.send(request, timeout=timeout, most_bytes=most_bytes, cancel=cancel))
            if value is None:
                message = f"the reply of {self.to.name} is no JSON"
                raise EmbeddingError(message, remedy="check base_url if it is set", retryable=True)
            return read(value)

        return self.insist(once, patience=patience, cancel=cancel)

    def send(
        self, request: Request, *, timeout: float, most_bytes: int, cancel: threading.Event | None = None
    ) -> bytes:
        """The body of the reply to one request, asked once. Raises EmbeddingError for any status but 2xx."""
        try:
            reply = self._connection.send(request, timeout=timeout, most_bytes=most_bytes, cancel=cancel)
        except EmbeddingError as error:
            if error.retryable and not error.remedy:
                error.remedy = self.to.start_remedy
            raise
        if not 200 <= reply.status < 300:
            raise failure_of(reply, self.to, now=self._clock())
        return reply.body

    def insist(self, once: Callable[[], Answer], *, patience: float, cancel: threading.Event | None = None) -> Answer:
        """`once`, again and again while its failure may pass. Raises EmbeddingError."""
        attempts, stated, waited = 0, 0, 0.0
        while True:
            waited += self._pass_gate(patience - waited, cancel)
            try:
                return once()
            except QuotaExhausted as error:
                self._gate.hold(QUOTA_SECONDS, error)
                raise
            except EmbeddingError as error:
                raise_if_cancelled(cancel)
                if not error.retryable:
                    raise
                hint = error.retry_after or 0.0
                if hint >= FIRST_BACKOFF_SECONDS and stated < STATED_WAITS:
                    stated += 1
                    self._gate.hold(hint, error)  # no attempt: the next round waits, or gives up
                    continue
                attempts += 1
                if attempts >= ATTEMPTS:
                    raise
                pause = min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** (attempts - 1))
                self._gate.hold(pause * (1 + random.uniform(0, JITTER)), error)

    def close(self) -> None:
        self._connection.close()

    def _pass_gate(self, patience: float, cancel: threading.Event | None) -> float:
        """Wait until the gate is open; the seconds that took. Raises EmbeddingError when that is too long."""
        started = time.monotonic()
        while True:
            raise_if_cancelled(cancel)
            if self._connection.is_closed:
                raise EmbeddingError("the embedder is closed")
            left, why = self._gate.look()
            if left <= 0:
                return time.monotonic() - started
            waited = time.monotonic() - started
            if why is not None and (isinstance(why, QuotaExhausted) or waited + left > patience):
                raise self._refusal(why, left)
            if cancel is not None:
                cancel.wait(min(left, WAKE_SECONDS))
            else:
                self._connection.wait_closed(left)

    def _refusal(self, why: EmbeddingError, left: float) -> EmbeddingError:
        if isinstance(why, QuotaExhausted):
            return QuotaExhausted(str(why), remedy=why.remedy)
        if why.retry_after is None:
            return EmbeddingError(str(why), remedy=why.remedy, retryable=True, retry_after=left)
        message = f"{self.to.name} asks to wait {_span(left)}; {why}"
        remedy = why.remedy or "what is missing follows then; finished vectors are kept"
        return EmbeddingError(message, remedy=remedy, retryable=True, retry_after=left)


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
