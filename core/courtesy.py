"""Room for the user: background threads wait a moment after each key, so that they do not fight for the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.25
"""How long after a key background threads begin nothing new: the search that a key asks for is answered by then."""
LONGEST_SECONDS = 0.5
"""Who types without a pause holds them up this long at most…"""
TURN_SECONDS = 0.2
"""…and then they have a turn of this long."""
_STEP_SECONDS = 0.02


class Courtesy:
    """`give_way` is called for each key, `wait` by background threads between two small pieces of work.

    Any thread may call either. Nothing is owed: without calls of `give_way`, `wait` returns at once.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._until = 0.0
        self._since = 0.0
        self._turn_until = 0.0

    def give_way(self) -> None:
        """The user is at work: let background threads wait."""
        now = self._clock()
        if now >= self._until:
            self._since = now
        self._until = now + PAUSE_SECONDS

    def wait(self) -> None:
        """Return when the user has paused, or when it is this side's turn; after half a second at the latest."""
        while self._turn_until <= (now := self._clock()) < self._until:
            if now - max(self._since, self._turn_until) >= LONGEST_SECONDS:
                self._turn_until = now + TURN_SECONDS
                return
            self._sleep(_STEP_SECONDS)
