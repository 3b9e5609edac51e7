"""Events as lines of the log: failures as warnings, what was done at `info`, file by file at `debug`."""

from __future__ import annotations

import logging
import re
from dataclasses import fields, is_dataclass

from core import events
from core.bus import Event

log = logging.getLogger(__name__)

LEVELS: dict[type[Event], int] = {
    events.FileFailed: logging.WARNING,
    events.EmbeddingFailed: logging.WARNING,
    events.WatchLost: logging.WARNING,
    events.StoreRecovered: logging.WARNING,
    events.WorkerFailed: logging.WARNING,
    events.SyncFinished: logging.INFO,
    events.IdentityChanged: logging.INFO,
    events.EmbeddingFinished: logging.INFO,
    events.WatchStarted: logging.INFO,
    events.WriterChanged: logging.INFO,
    events.SourceGone: logging.INFO,
    events.SyncStarted: logging.DEBUG,
    events.FileIndexed: logging.DEBUG,
    events.FileRemoved: logging.DEBUG,
    events.FileRenamed: logging.DEBUG,
    events.FileSkipped: logging.DEBUG,
    events.EventsBatched: logging.DEBUG,
}
"""What is not here, progress above all, is not logged."""


class EventLog:
    """A listener that logs. What fails again in the same way is a detail: a provider is asked every minute."""

    def __init__(self) -> None:
        self._told: dict[tuple[type[Event], str], str] = {}

    def __call__(self, event: Event) -> None:
        level = LEVELS.get(type(event))
        if level is None:
            return
        words = _words(event)
        if level == logging.WARNING:
            about = (type(event), str(getattr(event, "path", "")))
            error = str(getattr(event, "error", words))
            if self._told.get(about) == error:
                level = logging.DEBUG
            self._told[about] = error
        elif isinstance(event, events.EmbeddingFinished):
            self._told.pop((events.EmbeddingFailed, ""), None)
        elif isinstance(event, events.FileIndexed):
            self._told.pop((events.FileFailed, event.path), None)
        log.log(level, "%s", words)


def _words(event: Event) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    return f"{name}: {_values(event, skip='at_ms')}"


def _values(holder: object, *, skip: str = "") -> str:
    """The fields that say something, by name; those of a dataclass inside in brackets."""
    parts = []
    for field in fields(holder) if is_dataclass(holder) and not isinstance(holder, type) else ():
        value = getattr(holder, field.name)
        if field.name == skip or value in (None, "", 0, (), {}) or value is False:
            continue
        parts.append(f"{field.name} ({_values(value)})" if is_dataclass(value) else f"{field.name} {value}")
    return ", ".join(parts)
