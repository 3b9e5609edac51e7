"""Answers by the built-in index while qmd cannot, says so, and goes back to qmd after a rest."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol

from core.backends.base import MemoryBackend, PartialListener
from core.backends.qmd import NotReady
from core.backends.qmd_process import ProgramTimeout
from core.errors import BackendError, MemdeckError, SearchCancelled
from core.sync.messages import ProgressListener
from core.types import SearchRequest, SearchResult, SyncReason, SyncReport

STANDBY_SHARE = 0.25
"""Share of the time limit kept for the built-in index: it begins to search while qmd may still answer."""
STANDBY_MOST_SECONDS = 1.0
WAIT_SECONDS = 0.02

log = logging.getLogger(__name__)


class Primary(MemoryBackend, Protocol):
    """The backend that is tried first."""

    def refused(self, request: SearchRequest) -> str | None:
        """Why nobody may answer this request; None if it may be answered."""
        ...

    def unfit(self, request: SearchRequest) -> str | None:
        """Why another backend must answer this request; None if this one can."""
        ...

    def start(self) -> None: ...

    def files_changed(self) -> None: ...

    def purge(self) -> None:
        """Leave nothing of what is gone or forgotten. Raises BackendError."""
        ...


class Secondary(MemoryBackend, Protocol):
    """The backend that answers where the first does not."""

    def forget(self, paths: tuple[str, ...], *, back: bool = False) -> SyncReport: ...


class FallbackBackend:
    """Two backends as one: `primary` answers within `limit_seconds`, else `secondary` does, marked in the result.

    After a failure the primary rests for `cooldown_seconds`. Calls block and may come from any thread.
    """

    def __init__(
        self,
        primary: Primary,
        secondary: Secondary,
        *,
        limit_seconds: float,
        cooldown_seconds: float,
        deadline_ms: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.primary = primary
        self.secondary = secondary
        self._limit = max(0.001, limit_seconds)
        self._cooldown = cooldown_seconds
        self._deadline_ms = deadline_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._failure: tuple[float, str] | None = None
        self._not_ready: str | None = None

    @property
    def name(self) -> str:
        """Who answers at the moment."""
        return self.secondary.name if self.fallback is not None else self.primary.name

    @property
    def fallback(self) -> dict[str, str] | None:
        """`{from, reason}` while the primary does not answer; kept until it has answered again."""
        with self._lock:
            reason = self._failure[1] if self._failure is not None else self._not_ready
        return None if reason is None else {"from": self.primary.name, "reason": reason}

    @property
    def rest_seconds(self) -> float:
        """Seconds until the primary is tried again; 0 when the next search does."""
        with self._lock:
            return 0.0 if self._failure is None else max(0.0, self._failure[0] + self._cooldown - self._clock())

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Ask the primary, or the secondary where that fails. Raises SearchCancelled, StoreError."""
        if not request.query.strip():
            return self.secondary.search(request, cancel=cancel)
        refusal = self.primary.refused(request)
        if refusal is not None:
            return SearchResult(request.query, mode=request.mode, warning=refusal)
        reason = self.primary.unfit(request) or self._resting()
        if reason is not None:
            return self._marked(self.secondary.search(request, on_partial=on_partial, cancel=cancel), reason)
        return self._race(request, cancel)

    def _race(self, request: SearchRequest, cancel: threading.Event | None) -> SearchResult:
        """The primary's answer, if it comes in time; the secondary begins before the time is over."""
        started = time.monotonic()
        attempt = _Attempt(self.primary, request)
        try:
            reserve = min(self._limit * STANDBY_SHARE, STANDBY_MOST_SECONDS)
            outcome = attempt.wait(started + self._limit - reserve, cancel)
            standby = None
            if outcome is None:
                standby = self._standby(request, started, cancel)
                outcome = attempt.wait(started + self._limit, cancel)
        finally:
            attempt.give_up()
        if isinstance(outcome, SearchResult):
            self._answered()
            return outcome
        error = outcome or ProgramTimeout(f"{self.primary.name} did not answer within {self._limit:g} s")
        if isinstance(error, SearchCancelled):
            raise error
        self._failed(error)
        return self._marked(standby or self._secondary_answer(request, started, cancel), error.in_full)

    def _standby(self, request: SearchRequest, started: float, cancel: threading.Event | None) -> SearchResult | None:
        """The secondary's answer, None where it fails: the primary's may still come."""
        try:
            return self._secondary_answer(request, started, cancel)
        except SearchCancelled:
            raise
        except MemdeckError:
            return None

    def _secondary_answer(self, request: SearchRequest, started: float, cancel: threading.Event | None) -> SearchResult:
        left_ms = int(max(0.0, started + self._limit - time.monotonic()) * 800)
        wanted = request.deadline_ms if request.deadline_ms is not None else self._deadline_ms
        return self.secondary.search(replace(request, deadline_ms=min(wanted, left_ms)), cancel=cancel)

    def _resting(self) -> str | None:
        with self._lock:
            if self._failure is None or self._clock() >= self._failure[0] + self._cooldown:
                return None
            return self._failure[1]

    def _failed(self, error: MemdeckError) -> None:
        with self._lock:
            words = error.in_full
            known = self._failure is not None or self._not_ready == words
            if isinstance(error, NotReady):
                self._not_ready = words
            else:
                self._failure = (self._clock(), words)
        if not known:
            log.warning("%s: %s; the %s index answers", self.primary.name, error, self.secondary.name)

    def _answered(self) -> None:
        with self._lock:
            known = self._failure is not None or self._not_ready is not None
            self._failure = self._not_ready = None
        if known:
            log.info("%s answers again", self.primary.name)

    def _marked(self, result: SearchResult, reason: str) -> SearchResult:
        said = f"the {self.secondary.name} index answers instead of {self.primary.name}: {reason}"
        warning = "; ".join(part for part in (said, result.warning) if part)
        return replace(result, fallback={"from": self.primary.name, "reason": reason}, warning=warning)

    def start(self) -> None:
        """Let the primary keep itself in step in the background."""
        self.primary.start()

    def sync(
        self,
        reason: SyncReason,
        *,
        force: bool = False,
        vectors: bool = True,
        paths: tuple[str, ...] | None = None,
        on_progress: ProgressListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SyncReport:
        """Sync the secondary, then, if asked by hand for everything, the primary, whose failure is a warning.

        The report is the secondary's; the primary's time is added to `seconds`. Raises StoreError, SyncCancelled.
        """
        report = self.secondary.sync(
            reason, force=force, vectors=vectors, paths=paths, on_progress=on_progress, cancel=cancel
        )
        if paths is not None or reason not in ("manual", "force"):
            self.primary.files_changed()
            return report
        try:
            own = self.primary.sync(reason, force=force, vectors=vectors, cancel=cancel)
        except BackendError as error:
            self._failed(error)
            warning = f"{self.primary.name}: {error.in_full}"
            return replace(report, warning="; ".join(part for part in (report.warning, warning) if part))
        self._answered()
        return replace(report, seconds={**report.seconds, **own.seconds})

    def forget(self, paths: tuple[str, ...], *, back: bool = False) -> SyncReport:
        """Take documents out of both for good, or let them come `back`. Raises StoreError."""
        report = self.secondary.forget(paths, back=back)
        if back:
            self.primary.files_changed()
            return report
        try:
            self.primary.purge()
        except BackendError as error:
            warning = f"{self.primary.name} still has the text: {error}"
            return replace(report, warning="; ".join(part for part in (report.warning, warning) if part))
        return report

    def close(self) -> None:
        self.primary.close()
        self.secondary.close()


class _Attempt:
    """One search of the primary, on a thread of its own, so that nobody waits for it longer than he wants."""

    def __init__(self, primary: Primary, request: SearchRequest) -> None:
        self._primary = primary
        self._request = request
        self._cancel = threading.Event()
        self._done: Future[SearchResult | MemdeckError] = Future()
        threading.Thread(target=self._run, name="memdeck-primary").start()

    def _run(self) -> None:
        try:
            self._done.set_result(self._primary.search(self._request, cancel=self._cancel))
        except MemdeckError as error:
            self._done.set_result(error)
        except Exception as error:
            log.exception("%s failed", self._primary.name)
            self._done.set_result(BackendError(f"{type(error).__name__}: {error}"))

    def wait(self, until: float, cancel: threading.Event | None) -> SearchResult | MemdeckError | None:
        """The answer or the error; None when there is none yet at `until`. Raises SearchCancelled."""
        while True:
            left = until - time.monotonic()
            try:
                return self._done.result(timeout=max(0.0, min(WAIT_SECONDS, left)))
            except TimeoutError:
                if cancel is not None and cancel.is_set():
                    raise SearchCancelled("the search was cancelled") from None
                if left <= 0:
                    return None

    def give_up(self) -> None:
        """Have the primary stop, if it has not ended."""
        self._cancel.set()
