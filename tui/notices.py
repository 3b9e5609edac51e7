"""A notice that is shown until it has run out, however late it comes to the screen."""

from __future__ import annotations

import time

from textual.notifications import Notification

SOON = 0.1


class Notice(Notification):
    """A notification of Textual whose time left is never negative: its toast waits that long in a timer.

    A timer of a negative time runs for ever and lets nothing else run. Time runs out between the moment in which a
    screen asks which notices to show and the one in which it shows them, and when the clock is set.
    """

    @property
    def time_left(self) -> float:
        return max(SOON, self._left)

    @property
    def has_expired(self) -> bool:
        return self._left <= 0

    def end(self) -> None:
        """Be gone when notices are shown the next time."""
        self.timeout = 0

    @property
    def _left(self) -> float:
        return self.raised_at + self.timeout - time.time()
