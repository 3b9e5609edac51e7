"""Looks for the transcripts of each agent in its places: names and stat keys, no text."""

# ruff: noqa: PTH112, PTH118
# Paths stay strings: a folder may hold a hundred thousand transcripts.

from __future__ import annotations

import os
import re
from collections.abc import Callable
from errno import ENOENT

from core.sources.rules import is_ignored
from core.sources.transcripts import claude_code, codex, gemini, openclaw, pi
from core.sources.transcripts.detect import dialect_of, may_be_transcript
from core.sources.transcripts.found import Found, Listing, is_folder, path_stat, path_time
from core.sources.transcripts.openclaw_store import STORE_NAME
from core.sources.transcripts.places import Place
from core.sources.transcripts.store_listing import StoreLists

_OPENCODE_STORE = re.compile(r"opencode(?:-[A-Za-z0-9._-]{1,40})?\.db")
_DEEPEST = 10


class Lister:
    """Keeps what was learnt of stores and of unknown files, so that the next look is cheap."""

    def __init__(self) -> None:
        self._stores = StoreLists()
        self._dialects: dict[tuple[str, int, int], str | None] = {}

    def look(self, place: Place, into: Listing) -> None:
        """All transcripts of a place. Raises SyncCancelled; what cannot be read is noted in `into`."""
        listers: dict[str, Callable[[Place, Listing], None]] = {
            "openclaw": self._openclaw,
            "claude-code": claude_code.look,
            "codex": codex.look,
            "pi": pi.look,
            "gemini": gemini.look,
            "opencode": self._opencode,
            "aider": self._aider,
        }
        lister = listers.get(place.agent)
        if lister is not None:
            lister(place, into)

    def look_at_path(self, path: str, into: Listing) -> None:
        """A file or folder that the user named: what is a transcript in there, of whatever dialect."""
        if os.path.isdir(path):
            self._walk(path, into, depth=0)
            return
        found = path_stat(path)
        if found is None:
            into.lose("", path, FileNotFoundError(ENOENT, ""))
        else:
            self._unknown(path, into)

    def _walk(self, folder: str, into: Listing, *, depth: int) -> None:
        for entry in into.entries("", folder, top=depth == 0):
            if is_folder(entry):
                if depth < _DEEPEST and not is_ignored(entry.name):
                    self._walk(entry.path, into, depth=depth + 1)
            elif may_be_transcript(entry.name) and into.file_stat(entry) is not None:
                self._unknown(entry.path, into)

    def _unknown(self, path: str, into: Listing) -> None:
        found = path_stat(path)
        if found is None:
            return
        key = (path, found.inode, found.device)
        if self._dialects.get(key) is None:
            try:
                self._dialects[key] = dialect_of(path)
            except OSError as error:
                into.lose("", path, error)
                return
        dialect = self._dialects[key]
        name = path.rpartition("/")[2]
        if dialect is None:
            if found.size > 0 and not name.endswith((".sqlite", ".db")):
                into.skip(path, "unknown", "not a transcript of a known agent")
        elif name.endswith((".sqlite", ".db")):
            self._stores.add(dialect, path, into)
        elif dialect == "aider":
            self._stores.add_aider(path, into)
        else:
            session = named(dialect, path, into)
            if session is not None:
                into.found.append(session)

    def _openclaw(self, place: Place, into: Listing) -> None:
        sessions = os.path.join(place.path, "sessions")
        store = os.path.join(place.path, "agent", STORE_NAME)
        stored: frozenset[str] = frozenset()
        has_sessions, has_store = os.path.lexists(sessions), os.path.lexists(store)
        if has_store:
            before = len(into.found)
            self._stores.add("openclaw", store, into)
            stored = frozenset(found.id for found in into.found[before:])
        if has_sessions:
            openclaw.look(sessions, stored, into)
        if not has_sessions and not has_store:
            into.lose("openclaw", place.path, FileNotFoundError(ENOENT, ""), quiet=place.optional)
        elif not has_sessions or not has_store:
            into.lost.append(("openclaw", store if has_sessions else sessions))

    def _opencode(self, place: Place, into: Listing) -> None:
        before = len(into.found)
        has_store = False
        for entry in into.entries("opencode", place.path, optional=place.optional, top=True):
            if _OPENCODE_STORE.fullmatch(entry.name) and into.file_stat(entry) is not None:
                has_store = True
                self._stores.add("opencode", entry.path, into)
        stored = {found.id for found in into.found[before:]}
        storage = os.path.join(place.path, "storage", "session")
        for project in into.entries("opencode", storage, optional=has_store or not os.path.lexists(storage)):
            if is_folder(project):
                for entry in into.entries("opencode", project.path):
                    session = entry.name.removesuffix(".json")
                    stat = into.file_stat(entry) if session != entry.name and session not in stored else None
                    if stat is not None:
                        messages = path_time(os.path.join(place.path, "storage", "message", session))
                        into.found.append(Found("opencode", session, entry.path, stat, growing=False).marked(messages))

    def _aider(self, place: Place, into: Listing) -> None:
        if path_stat(place.path) is None:
            into.lose("aider", place.path, FileNotFoundError(ENOENT, ""), quiet=place.optional)
        else:
            self._stores.add_aider(place.path, into)


def named(dialect: str, path: str, into: Listing) -> Found | None:
    """A file of a known dialect that lies anywhere."""
    stat = path_stat(path)
    if stat is None:
        return None
    if dialect == openclaw.DIALECT and (archive := openclaw.archived(path, into)) is not None:
        return archive
    name = path.rpartition("/")[2]
    packed = name.endswith(".zst")
    session = name.partition(".jsonl")[0].removesuffix(".json")
    if dialect == "pi":
        session = pi.session_id(name)
    elif dialect == "codex":
        session = codex.session_name(name) or session
    growing = not packed and dialect != "gemini"
    return Found(dialect, session, path, stat, rank=(2 if packed else 1, path), alike=packed, growing=growing)
