"""Finds the transcripts of the agents that the settings name, and of no others."""

# ruff: noqa: PTH100, PTH118
# Paths stay strings: a folder may hold a hundred thousand transcripts.

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from core.settings.model import Sessions
from core.settings.paths import expand_user
from core.sources.rules import is_within
from core.sources.transcripts.found import Found, Listing, path_stat
from core.sources.transcripts.listing import Lister
from core.sources.transcripts.places import AGENTS, Place, agent_name, agent_problems, places_of
from core.sources.transcripts.relations import Relations
from core.types import Scan, ScannedFile

DocumentsBelow = Callable[[str], Iterable[str] | None]
"""The indexed documents whose source lies at or below an absolute path; None when that is not known."""


class Finder:
    """Opens and lists only what `sessions.agents` and `sessions.paths` name; keeps what makes the next look cheap.

    May be shared by threads.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        home: Path,
        environ: Mapping[str, str],
        agent_id: str,
        workspace: Path | None = None,
    ) -> None:
        agents = dict.fromkeys(agent_name(agent) for agent in sessions.agents)
        self._problems = agent_problems(agents)
        self._agents = tuple(agent for agent in agents if agent in AGENTS)
        self._home = home
        self._environ = environ
        self._agent_id = agent_id
        base = workspace if workspace is not None else home
        self._paths = tuple(
            os.path.abspath(os.path.join(base, expand_user(path.strip(), home)))
            for path in sessions.paths
            if path.strip() and "\0" not in path
        )
        self._lister = Lister()
        self._relations = Relations()
        self._seen: dict[str, Found] = {}
        self._lock = threading.Lock()

    @property
    def agents(self) -> tuple[str, ...]:
        """The named agents that are known."""
        return self._agents

    @property
    def paths(self) -> tuple[str, ...]:
        """The files and folders that the user named, absolute."""
        return self._paths

    def places(self) -> list[Place]:
        """The places of the named agents."""
        found: list[Place] = []
        for agent in self._agents:
            found.extend(places_of(agent, home=self._home, environ=self._environ, agent_id=self._agent_id))
        return found

    def look(
        self, cancel: threading.Event | None = None, *, near: Iterable[str] | None = None
    ) -> tuple[list[Found], Listing]:
        """All sessions, each once, by document path. Raises SyncCancelled.

        With `near` only those of agents that have a place above or below one of these absolute paths.
        """
        listing = Listing(cancel=cancel)
        places = self.places()
        paths = self._paths
        if near is not None:
            wanted = list(near)
            agents = {place.agent for place in places if _meets(place.path, wanted)}
            places = [place for place in places if place.agent in agents]
            paths = tuple(path for path in paths if _meets(path, wanted))
        with self._lock:
            for place in places:
                self._lister.look(place, listing)
            for path in paths:
                self._lister.look_at_path(path, listing)
            settled = self._relations.settle(listing.found)
            self._seen = {**(self._seen if near is not None else {}), **{one.path: one for one in settled}}
        listing.problems.extend(self._problems)
        return settled, listing

    def find(self, path: str) -> Found | None:
        """The session indexed under a document path; None when it is not there.

        A file that was seen before is only looked at; the places are searched when it is not where it was.
        """
        seen = self._seen.get(path)
        if seen is not None and not seen.within:
            stat = path_stat(seen.absolute)
            if stat is not None and stat.inode == seen.stat.inode:
                return replace(seen, stat=stat._replace(device=seen.stat.device))
        elif seen is not None:
            near, _ = self.look(near=(seen.absolute,))
            if (one := next((one for one in near if one.path == path), None)) is not None:
                return one
        found, _ = self.look()
        return next((one for one in found if one.path == path), None)


def _meets(place: str, paths: Iterable[str]) -> bool:
    return any(is_within(path, place) or is_within(place, path) for path in paths)


def scan_of(found: Iterable[Found], listing: Listing, documents_below: DocumentsBelow | None = None) -> Scan:
    """What a sync compares with the index. Documents of what could not be looked at are uncertain.

    Without `documents_below` all documents of the dialect are.
    """
    uncertain: dict[str, None] = {}
    for dialect, place in listing.lost:
        known = documents_below(place) if documents_below is not None else None
        if known is None:
            uncertain[f"sessions/{dialect}" if dialect else "sessions"] = None
        else:
            uncertain.update(dict.fromkeys(known))
    return Scan(
        files=tuple(ScannedFile("sessions", one.path, one.absolute, one.stat) for one in found),
        skipped=tuple(listing.skipped),
        uncertain=tuple(sorted(uncertain)),
        problems=tuple(dict.fromkeys(listing.problems)),
    )


def among(found: Iterable[Found], paths: Iterable[str]) -> list[Found]:
    """The sessions whose files are among absolute `paths` or below them, and those that took their place.

    An archive takes the place of the file it was renamed from, and a store that of its write-ahead log.
    """
    wanted = [store_of(os.path.abspath(path)) for path in paths]
    exact = set(wanted)
    folders = tuple(f"{path.rstrip('/')}/" for path in wanted)
    sessions = set()
    for path in wanted:
        folder, _, name = path.rpartition("/")
        if ".jsonl" in name:
            sessions.add(name.partition(".jsonl")[0])
        elif name == "custom-title.json":
            sessions.add(folder.rpartition("/")[2])
        elif name.endswith(".meta.json"):
            sessions.add(name.removesuffix(".meta.json"))
    return [
        one
        for one in found
        if one.absolute in exact
        or one.absolute.startswith(folders)
        or (not one.within and one.absolute.rpartition("/")[2].partition(".jsonl")[0] in sessions)
    ]


def store_of(path: str) -> str:
    """The file that a change is about: that of a write-ahead log or of a sidecar is a change of its store."""
    for ending in ("-wal", "-shm", "-journal"):
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path
