"""The sessions that the index holds, as a list for people: title, agent, folder, start, messages, size."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import field, replace

from core.records import record
from core.store.database import Database
from core.store.document_reader import NO_DEVICE
from core.sync.growth import details_of


@record(frozen=True, slots=True)
class SessionInfo:
    """One indexed session. Times are epoch ms, `size` is in bytes, `messages` counts those of user and assistant.

    `parent` is the path of the session that this one belongs to (`kind` subagent) or was forked from, if it is known.
    `unknown` counts records by type, `bad_lines` counts the lines that were none. `is_gone`: the transcript itself is
    no longer there, its text was kept.
    """

    path: str
    dialect: str
    title: str
    session: str
    cwd: str
    model: str
    started: int | None
    ended: int | None
    messages: int
    size: int
    chunks: int
    kind: str
    parent: str
    source: str
    is_gone: bool = False
    unknown: Mapping[str, int] = field(default_factory=dict)
    bad_lines: int = 0
    repeated: int = 0

    @property
    def resume_command(self) -> str | None:
        """What to type to go on with the session in its agent; None where the agent offers nothing of the kind."""
        commands = {
            "claude-code": ("claude", "--resume", self.session),
            "codex": ("codex", "resume", self.session),
            "pi": ("pi", "--session", self.source),
            "gemini": ("gemini", "--resume", self.session),
            "opencode": ("opencode", "--session", self.session),
            "aider": ("aider", "--restore-chat-history"),
        }
        words = commands.get(self.dialect)
        if words is None or self.is_gone or self.kind == "subagent" or not self.session:
            return None
        command = shlex.join(words)
        return f"cd {shlex.quote(self.cwd)} && {command}" if self.cwd else command


def list_sessions(database: Database) -> list[SessionInfo]:
    """All indexed sessions, the latest first. Raises StoreError."""
    rows = database.rows(
        "SELECT path, dialect, title, size, chunks, absolute, device, details FROM files WHERE source = 'sessions'"
    )
    found = [_info(*row) for row in rows]
    by_session = {(info.dialect, info.session): info.path for info in found if info.session}
    placed = [
        info if not info.parent else replace(info, parent=by_session.get((info.dialect, info.parent), ""))
        for info in found
    ]
    return sorted(placed, key=lambda info: (-(info.ended or info.started or 0), info.path))


def _info(
    path: object,
    dialect: object,
    title: object,
    size: object,
    chunks: object,
    absolute: object,
    device: object,
    details: object,
) -> SessionInfo:
    told = details_of(details if isinstance(details, str) else None)
    bad = told.get("bad_lines")
    unknown = told.get("unknown")
    return SessionInfo(
        path=str(path),
        dialect=str(dialect or ""),
        title=str(title or ""),
        session=_text(told.get("session")),
        cwd=_text(told.get("cwd")),
        model=_text(told.get("model")),
        started=_number(told.get("started")),
        ended=_number(told.get("ended")),
        messages=_number(told.get("messages")) or 0,
        size=_number(told.get("bytes")) or _number(size) or 0,
        chunks=_number(chunks) or 0,
        kind=_text(told.get("kind")) or "main",
        parent=_text(told.get("parent")),
        source=str(absolute),
        is_gone=device == NO_DEVICE,
        unknown=unknown if isinstance(unknown, dict) else {},
        bad_lines=(_number(bad.get("count")) or 0) if isinstance(bad, dict) else 0,
        repeated=_number(told.get("repeated")) or 0,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
