"""Whether the process that writes gives signs of life to those who wait for it: commits, or work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from core.errors import StoreBusy
from core.records import record
from core.store.database import Database

LOOK_SECONDS = 0.5
STOPPED_SECONDS = 10.0
"""How long a process that was stopped is waited for."""
SILENT_SECONDS = 30.0
"""How long a process that runs may neither commit nor compute: a slow disk can make it wait."""
BLIND_SECONDS = 120.0
"""The same where the system does not tell what a process does."""
_WORKING = 0.05
"""The part of a processor from which on a process counts as working; an idle one takes less."""


class WriterSilent(StoreBusy):
    """The process that holds the writer lock does not take up what it is asked; what was asked is left for it."""


@record(frozen=True, slots=True)
class Activity:
    """What the system says of a process: whether it was stopped, and the seconds of processor that it has used."""

    stopped: bool
    cpu_seconds: float


def activity_of(pid: int, proc: Path = Path("/proc")) -> Activity | None:
    """None where the system does not tell, or the process is gone."""
    try:
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return None
    return Activity(fields[0] in "Tt", ticks / os.sysconf("SC_CLK_TCK"))


class Pulse:
    """Watches the owner of the writer lock while somebody waits for it. Used on one thread, by one connection."""

    def __init__(self, database: Database, owner: Callable[[], int | None]) -> None:
        self._database = database
        self._owner = owner
        self._looked = 0.0
        self._silence = 0.0
        self._seen: tuple[int | None, int] = (None, 0)
        self._activity: Activity | None = None

    def begin(self) -> None:
        """Somebody begins to wait."""
        self._silence, self._looked = 0.0, time.monotonic()
        self._activity = None

    def look(self) -> WriterSilent | None:
        """The error for those who wait, if the writer has been silent for too long. Raises StoreError."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < LOOK_SECONDS:
            return None
        self._looked = now
        pid = self._owner()
        seen = (pid, self._database.count("PRAGMA data_version"))
        activity = activity_of(pid) if pid is not None else None
        if seen != self._seen or self._works(activity, passed):
            self._silence = 0.0
        else:
            self._silence += min(passed, 2 * LOOK_SECONDS)  # this process may have been stopped itself
        self._seen, self._activity = seen, activity
        stopped = activity is not None and activity.stopped
        patience = BLIND_SECONDS if activity is None else STOPPED_SECONDS if stopped else SILENT_SECONDS
        if pid is None or self._silence < patience:
            return None
        words = "was stopped" if stopped else f"has not answered for {self._silence:.0f} s"
        advice = f"Let it go on (kill -CONT {pid})" if stopped else "Wait for it"
        return WriterSilent(
            f"process {pid}, which writes the index, {words}; what it was asked is done when it goes on",
            remedy=f"{advice}, or end it (kill -KILL {pid}) and run memdeck index.",
        )

    def _works(self, activity: Activity | None, passed: float) -> bool:
        before = self._activity
        return activity is not None and (
            before is None or activity.cpu_seconds - before.cpu_seconds >= _WORKING * passed
        )
