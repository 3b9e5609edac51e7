"""Where changes of transcripts can be noticed: the folders of the named agents and what the user named."""

# ruff: noqa: PTH110, PTH112, PTH118
# Paths stay strings, as everywhere in watching.

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from operator import eq

from core.sources.rules import is_ignored
from core.sources.transcripts.aider import HISTORY_NAME
from core.sources.transcripts.detect import may_be_transcript
from core.sources.transcripts.finder import Finder, store_of
from core.sources.transcripts.openclaw_store import STORE_NAME
from core.sources.transcripts.places import Place
from core.sync.watching import WatchRoot


def session_watch_roots(finder: Finder) -> list[WatchRoot]:
    """The folders to watch; optional places that are not there are left alone."""
    roots: list[WatchRoot] = []
    for place in finder.places():
        if not place.optional or os.path.exists(place.path):
            roots.extend(_roots_of(place))
    for path in finder.paths:
        if os.path.isdir(path):
            roots.append(WatchRoot(path, True, _counts, _enters))
        else:
            roots.append(_file_root(path))
    return roots


def _roots_of(place: Place) -> list[WatchRoot]:
    if place.agent == "openclaw":
        return [
            WatchRoot(os.path.join(place.path, "sessions"), True, _counts, _enters),
            WatchRoot(os.path.join(place.path, "agent"), False, _named_store(STORE_NAME), _enters_none),
        ]
    if place.agent == "opencode":
        storage = os.path.join(place.path, "storage", "session")
        roots = [WatchRoot(place.path, False, _is_store, _enters_none)]
        return [*roots, WatchRoot(storage, True, _is_json, _enters)] if os.path.isdir(storage) else roots
    if place.agent == "aider":
        return [_file_root(place.path)]
    if place.agent == "gemini":
        return [WatchRoot(place.path, True, _is_chat, _enters)]
    return [WatchRoot(place.path, True, _counts, _enters)]


def _file_root(path: str) -> WatchRoot:
    folder, name = os.path.split(path)
    return WatchRoot(folder, False, _named_store(name), _enters_none)


def _named_store(name: str) -> Callable[[str], bool]:
    is_it = partial(eq, name)
    return lambda changed: is_it(store_of(changed)) and not changed.endswith("-shm")


def _counts(name: str) -> bool:
    if name.endswith(("-shm", "-journal")):
        return False
    return may_be_transcript(store_of(name)) or name in ("custom-title.json", HISTORY_NAME)


def _is_store(name: str) -> bool:
    return store_of(name).endswith(".db") and not name.endswith("-shm")


def _is_json(name: str) -> bool:
    return name.endswith(".json")


def _is_chat(name: str) -> bool:
    return name.startswith("session-") and name.endswith((".jsonl", ".json"))


def _enters(name: str) -> bool:
    return not is_ignored(name)


def _enters_none(name: str) -> bool:
    return False
