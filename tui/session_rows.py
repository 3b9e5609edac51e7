"""The list of transcripts as rows: newest first, subagents under their session, narrowed by words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Literal

from core import SessionInfo, Status, record
from tui.text import counted, folded

State = Literal["ok", "warning", "gone", "failed"]


@record(frozen=True, slots=True)
class SessionRow:
    """A transcript in the list. `note` says what is wrong with it; `depth` is 1 for a subagent below its session.

    `children` counts its subagents, `opened` whether they are shown. `words` is what the field is compared with.
    """

    path: str
    title: str
    dialect: str
    cwd: str
    started: int | None
    messages: int
    size: int
    info: SessionInfo | None = None
    state: State = "ok"
    note: str = ""
    depth: int = 0
    children: int = 0
    opened: bool = False
    words: str = ""


@record(frozen=True, slots=True)
class Family:
    """A session with those of its subagents."""

    row: SessionRow
    children: tuple[SessionRow, ...] = ()


def families(sessions: Sequence[SessionInfo], status: Status | None) -> list[Family]:
    """All transcripts, the latest first; those that could not be read too. A subagent without its session stands alone.

    Subagents of subagents stand under the outermost session.
    """
    failed = {row.path: row.error for row in status.failed if row.source == "sessions"} if status is not None else {}
    by_path = {info.path: info for info in sessions}
    roots: dict[str, list[SessionRow]] = {}
    heads: list[SessionRow] = []
    for info in sessions:
        root = _root(info, by_path) if info.kind == "subagent" else info.path
        row = _row(info, failed.get(info.path, ""), depth=int(root != info.path))
        if root == info.path:
            heads.append(row)
        else:
            roots.setdefault(root, []).append(row)
    unread = [_failed(path, error) for path, error in failed.items() if path not in by_path]
    found = []
    for row in (*unread, *heads):
        children = tuple(roots.get(row.path, ()))
        found.append(Family(replace(row, children=len(children)) if children else row, children))
    return found


def narrowed(families: Iterable[Family], query: str, opened: Set[str]) -> list[SessionRow]:
    """The rows that hold all words of `query`; a session whose subagent does is shown with it."""
    words = folded(query)[0].split()
    rows: list[SessionRow] = []
    for family in families:
        row, children = family.row, family.children
        if not words:
            is_open = bool(children) and row.path in opened
            rows.append(replace(row, opened=True) if is_open else row)
            if is_open:
                rows.extend(children)
            continue
        found = [child for child in children if all(word in child.words for word in words)]
        if found or all(word in row.words for word in words):
            is_open = bool(found) or (bool(children) and row.path in opened)
            rows.append(replace(row, opened=True) if is_open else row)
            rows.extend(found or (children if is_open else ()))
    return rows


def trouble(info: SessionInfo) -> str:
    """What of a transcript was not understood, in words."""
    parts = []
    if info.bad_lines:
        parts.append(f"{counted(info.bad_lines, 'line')} no record")
    if info.unknown:
        parts.append(f"{counted(sum(info.unknown.values()), 'record')} of unknown types")
    return ", ".join(parts)


def _root(info: SessionInfo, by_path: Mapping[str, SessionInfo]) -> str:
    """The session that a transcript is shown under: its own path, unless it is a subagent's.

    Parents that lead around in a circle count for nothing.
    """
    at, seen = info, {info.path}
    while at.kind == "subagent" and at.parent in by_path:
        at = by_path[at.parent]
        if at.path in seen:
            return info.path
        seen.add(at.path)
    return at.path


def _row(info: SessionInfo, error: str, *, depth: int) -> SessionRow:
    words = f"{info.title} {info.dialect} {info.cwd} {info.path} {info.model}"
    state: State = "ok"
    note = trouble(info)
    if error:
        state, note = "failed", error
    elif info.is_gone:
        state, note = "gone", "its file is gone; the text was kept"
    elif note:
        state = "warning"
    return SessionRow(
        info.path, info.title, info.dialect, info.cwd, info.started or info.ended, info.messages, info.size, info,
        state, note, depth, words=_plain(words),
    )  # fmt: skip


def _failed(path: str, error: str) -> SessionRow:
    parts = path.split("/")
    dialect = parts[1] if len(parts) > 2 else ""
    words = _plain(f"{path} {error}")
    return SessionRow(path, parts[-1], dialect, "", None, 0, 0, state="failed", note=error, words=words)


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else folded(text)[0]
