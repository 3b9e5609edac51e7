"""The fallback: when the provider has failed for good another embedder takes its place, with an identity of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from core.embedding.base import Embedder, StateStore, text_goes_to
from core.embedding.select import Selection
from core.errors import EmbeddingError, ProviderUnavailable, QuotaExhausted
from core.records import record
from core.types import EmbeddingIdentity

PATIENCE_SECONDS = 600.0
"""How long failures that may pass are put up with: an outage does not make an index anew."""
PATIENCE_FAILURES = 3
FIRST_HOLD_SECONDS = 3600.0
LONGEST_HOLD_SECONDS = 86_400.0
KEY = "embedding_failover"


@record(frozen=True, slots=True)
class _State:
    """What is remembered of the provider; times in epoch seconds. `switched` None while it is in force."""

    primary: str
    reason: str = ""
    failures: int = 0
    failing_since: float | None = None
    switched: float | None = None
    switches: int = 0


class Failover:
    """Which of two embedders is in force. For one thread; the indexing worker's alone may change what is remembered.

    The fallback takes over when the provider fails for good: its quota is used up, its key or model is refused, its
    answers are no good, or it has failed for ten minutes and more than twice. It is asked again an hour later, then
    after two, four… at most 24 hours; what it made stays in the embedding cache meanwhile. Without `store` nothing is
    remembered between processes.
    """

    def __init__(
        self,
        selection: Selection,
        *,
        store: StateStore | None = None,
        active: EmbeddingIdentity | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`active` is the identity whose vectors the index has: a key that is merely missing does not replace them."""
        self._selection = selection
        self._primary = selection.embedder
        self._standby = selection.standby
        self._store = store
        self._clock = clock
        self._state = self._remembered()
        self._missing = self._primary is None and self._standby is not None
        self._holds_back = self._missing and active is not None and active.provider == selection.requested

    @property
    def embedder(self) -> Embedder | None:
        """The one in force: documents are embedded with it."""
        if self._missing:
            return None if self._holds_back else self._standby
        return self._standby if self.is_switched else self._primary

    @property
    def identity(self) -> EmbeddingIdentity | None:
        """That of the embedder in force; None without one."""
        embedder = self.embedder
        return embedder.identity if embedder is not None else None

    @property
    def is_switched(self) -> bool:
        """Whether the fallback is in force."""
        return self._standby is not None and (self._missing or self._state.switched is not None)

    @property
    def fallback(self) -> dict[str, str] | None:
        """`from` and `reason` while the fallback is in force, for status and search results; else None."""
        if not self.is_switched or self.embedder is None:
            return None
        reason = (self._selection.reason or "") if self._missing else self._state.reason
        return {"from": self._selection.requested, "reason": reason}

    @property
    def text_goes_to(self) -> str:
        """Where text goes at the moment, in words."""
        return text_goes_to(self.embedder)

    def for_queries(self, has_vectors: Callable[[EmbeddingIdentity], bool]) -> Embedder | None:
        """The embedder whose vectors a query can be compared with: the one in force, else the other.

        While one makes its vectors those of the other are still there. None if neither has any.
        """
        candidates = [self.embedder, self._standby if self.embedder is self._primary else self._primary]
        return next((one for one in candidates if one is not None and has_vectors(one.identity)), None)

    def succeeded(self) -> None:
        """The embedder in force answered."""
        if not self.is_switched and self._state.failures:
            self._remember(replace(self._state, failures=0, failing_since=None, switches=0, reason=""))

    def failed(self, error: EmbeddingError) -> bool:
        """The embedder in force failed; True when the fallback takes over now: put its identity in force."""
        if self.is_switched or self._standby is None:
            return False
        now = self._clock()
        state = self._state
        since = state.failing_since if state.failing_since is not None else now
        state = replace(state, failures=state.failures + 1, failing_since=since, reason=str(error))
        over = now - since >= PATIENCE_SECONDS and state.failures >= PATIENCE_FAILURES
        if not over and not is_final(error):
            self._remember(state)
            return False
        self._remember(replace(state, switched=now, switches=state.switches + 1))
        _warn("%s is used in place of %s: %s", self._standby.identity, self._selection.requested, error)
        return True

    def retry_primary(self) -> bool:
        """Ask the provider again if its time has come; True when it is in force from now on.

        A failure hands over to the fallback at once.
        """
        if self._missing or self._state.switched is None or not self._is_due:
            return False
        self._remember(replace(self._state, switched=None))
        return True

    @property
    def _is_due(self) -> bool:
        hold = min(LONGEST_HOLD_SECONDS, FIRST_HOLD_SECONDS * 2.0 ** min(30, max(0, self._state.switches - 1)))
        elapsed = self._clock() - (self._state.switched or 0.0)
        return elapsed >= hold or elapsed < 0  # a clock that was set back

    def _remembered(self) -> _State:
        key = self._primary.identity.key if self._primary is not None else ""
        written = self._store.get(KEY) if self._store is not None else None
        if written is not None:
            try:
                state = _State(**json.loads(written))
                numbers = (state.failures, state.switches, state.failing_since or 0.0, state.switched or 0.0)
                if state.primary == key and all(isinstance(number, int | float) for number in numbers):
                    return state
            except (TypeError, ValueError):
                _warn("what was remembered of the fallback cannot be read")
        return _State(key)

    def _remember(self, state: _State) -> None:
        self._state = state
        if self._store is None:
            return
        if state == _State(state.primary):
            self._store.delete(KEY)
        else:
            self._store.put(KEY, json.dumps(asdict(state)))


def is_final(error: EmbeddingError) -> bool:
    """Whether waiting cannot help."""
    return isinstance(error, QuotaExhausted | ProviderUnavailable) or not error.retryable


def _warn(message: str, *parts: object) -> None:
    import logging  # a search that warns of nothing does without

    logging.getLogger(__name__).warning(message, *parts)
