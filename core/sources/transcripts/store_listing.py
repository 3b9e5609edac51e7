"""The sessions inside stores and inside files that hold several: listed anew only when the file has changed."""

from __future__ import annotations

import re
import zlib
from functools import partial
from pathlib import Path

from core.sources.transcripts import openclaw, openclaw_store, opencode
from core.sources.transcripts.aider import chats_of
from core.sources.transcripts.found import Found, Listing, path_stat
from core.sources.transcripts.records import opened
from core.sources.transcripts.stores import Store, read_store
from core.types import SkippedPath, StatKey

_SLUG = re.compile(r"[^A-Za-z0-9]+")
_Marks = tuple[StatKey | None, StatKey | None]


class StoreLists:
    """Remembers the sessions of a store as long as neither it nor its write-ahead log changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Marks, list[Found], list[SkippedPath]]] = {}

    def add(self, dialect: str, path: str, into: Listing) -> None:
        """The sessions of a SQLite store; one that cannot be read is lost."""
        into.check()
        marks = (path_stat(path), path_stat(f"{path}-wal"))
        known = self._known.get(path)
        if known is None or known[0] != marks:
            try:
                list_store = _openclaw if dialect == "openclaw" else _opencode
                found, skipped = read_store(path, partial(list_store, path=path, file=marks[0]))
            except OSError as error:
                into.lose(dialect, path, error)
                return
            known = (marks, found, skipped)
            self._known[path] = known
        into.found.extend(known[1])
        into.skipped.extend(known[2])

    def add_aider(self, path: str, into: Listing) -> None:
        """The chats of a history file."""
        into.check()
        marks = (path_stat(path), None)
        known = self._known.get(path)
        if known is None or known[0] != marks:
            try:
                found = _aider(path)
            except OSError as error:
                into.lose("aider", path, error)
                return
            known = (marks, found, [])
            self._known[path] = known
        into.found.extend(known[1])


def _openclaw(store: Store, path: str, file: StatKey | None) -> tuple[list[Found], list[SkippedPath]]:
    found = []
    skipped = []
    for session in openclaw_store.sessions_of(store):
        if openclaw.is_left_out(session.key):
            detail = f"a session of the program's own ({session.key})"
            skipped.append(SkippedPath(f"{path}: {session.id}", "program", detail))
            continue
        stat = StatKey(
            session.rows,
            session.updated * 1_000_000,
            session.mark,
            session.last,
            (file.device if file is not None else 0) ^ session.generation,
        )
        found.append(Found("openclaw", session.id, path, stat, within=session.id, title=session.title))
    return found, skipped


def _opencode(store: Store, path: str, file: StatKey | None) -> tuple[list[Found], list[SkippedPath]]:
    device = file.device if file is not None else 0
    found = []
    for session in opencode.sessions_of(store):
        stat = StatKey(session.messages, session.updated * 1_000_000, session.mark, 0, device)
        found.append(
            Found(
                "opencode",
                session.id,
                path,
                stat,
                kind="subagent" if session.parent else "main",
                within=session.id,
                title=session.title,
                parent=session.parent,
                cwd=session.cwd,
                growing=False,
            )
        )
    return found, []


def _aider(path: str) -> list[Found]:
    with opened(path) as file:
        data = file.readall()  # type: ignore[attr-defined]
    stat = path_stat(path)
    folder = str(Path(path).parent)
    slug = _SLUG.sub("-", folder).strip("-")[-60:].strip("-") or "root"
    taken: dict[str, int] = {}
    found = []
    for chat in chats_of(data):
        session = f"{slug}-{re.sub('[^0-9]', '', chat.began)}"
        taken[session] = taken.get(session, 0) + 1
        if taken[session] > 1:
            session = f"{session}-{taken[session]}"
        mark = zlib.crc32(data[chat.start : chat.end], chat.line)
        key = StatKey(chat.end - chat.start, 0, mark, stat.inode if stat else 0, stat.device if stat else 0)
        within = f"{chat.start}:{chat.end}:{chat.line}"
        found.append(Found("aider", session, path, key, within=within, cwd=folder, growing=False))
    return found
