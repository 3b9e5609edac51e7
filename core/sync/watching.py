"""What watchers share: where to watch, whom to tell, and what state they are in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from core.records import record

WatchMode = Literal["off", "events", "polling"]


@record(frozen=True, slots=True)
class WatchRoot:
    """A folder to watch.

    `counts` tells by name which files matter, `enters` which folders below are watched too; `recursive` False watches
    the folder alone.
    """

    path: str
    recursive: bool
    counts: Callable[[str], bool]
    enters: Callable[[str], bool]


@record(frozen=True, slots=True)
class WatchState:
    """How changes are noticed at the moment, and why not better. `folders` counts watched folders."""

    mode: WatchMode = "off"
    reason: str = ""
    folders: int = 0


class ChangeSink(Protocol):
    """Whom a watcher tells; called from its own thread."""

    def changed(self, path: str) -> None:
        """Something happened to this absolute path, or below it."""
        ...

    def lost(self) -> None:
        """Events were lost: anything may have changed."""
        ...


class Watch(Protocol):
    """A running watch over some roots."""

    @property
    def folders(self) -> int: ...

    @property
    def is_alive(self) -> bool: ...

    def start(self) -> None:
        """Raises OSError when the system has no room for it."""
        ...

    def stop(self) -> None: ...


def folders_below(root: WatchRoot, start: str) -> Iterator[str]:
    """`start` and the folders below that the root enters, without symlinks and what cannot be read."""
    waiting = [start]
    while waiting:
        folder = waiting.pop()
        yield folder
        if not root.recursive:
            return
        try:
            with os.scandir(folder) as entries:
                waiting.extend(
                    entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and root.enters(entry.name)
                )
        except OSError:
            continue


def nearest_folder(path: str) -> str:
    """The nearest folder above `path` that exists."""
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent) and not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    return parent
