"""When a sync that the store refused is tried again."""

from __future__ import annotations

import time

RETRY_SECONDS = 2.0
LAST_RETRY_SECONDS = 60.0
"""After RETRY_SECONDS, then after twice as long each time."""


class Later:
    """When what the store refused is tried again, and whether that is news. For a process that lives on."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._pause = 0.0
        self._told: str | None = None

    def put_off(self, error: str) -> bool:
        """Try later, and each time later; whether this error differs from the last one."""
        self._pause = min(LAST_RETRY_SECONDS, self._pause * 2) if self._told is not None else RETRY_SECONDS
        self._at = time.monotonic() + self._pause
        is_news, self._told = error != self._told, error
        return is_news

    def is_due(self) -> bool:
        """Whether it is time, once."""
        if self._at is None or time.monotonic() < self._at:
            return False
        self._at = None
        return True

    def settle(self) -> None:
        """All is well again."""
        self._told = None
