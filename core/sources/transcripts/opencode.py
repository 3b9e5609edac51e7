"""OpenCode: messages and their parts as rows of a SQLite file, or as small JSON files of older versions."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import orjson

from core.records import record
from core.sources.transcripts import values
from core.sources.transcripts.model import Part, Record, Role
from core.sources.transcripts.parser import Reading, RecordParser
from core.sources.transcripts.records import cut_base64, read_json
from core.sources.transcripts.stores import Store, Value

_LIVELY = 20
"""So many sessions, those changed last, are looked at down to their parts: others change by whole messages only."""
_SILENT_PARTS = ("file", "patch", "snapshot", "step-start", "step-finish", "agent", "subtask", "retry", "compaction")


class OpenCodeParser(RecordParser):
    """Takes messages with their parts; a message's line is its number in the session, from 1."""

    dialect = "opencode"

    def message(self, line: int, mid: str, data: Record, parts: Iterable[Record], moment: int | None) -> None:
        """One message. Tool parts and reasoning become messages of their own."""
        role = data.get("role")
        time = values.record(data.get("time"))
        moment = values.first_moment(time.get("created"), moment)
        self.facts.note_time(values.millis(time.get("completed")))
        path = values.record(data.get("path"))
        self.facts.cwd = self.facts.cwd or values.text(path.get("cwd"))
        model = values.text(data.get("modelID")) or values.text(values.record(data.get("model")).get("modelID"))
        self.facts.model = model or self.facts.model
        texts = []
        for part in parts:
            kind = part.get("type")
            if kind == "text":
                if part.get("synthetic") is not True and part.get("ignored") is not True:
                    texts.append(values.text(part.get("text")))
            elif kind == "reasoning":
                self.add("thinking", values.text(part.get("text")), line, ts=moment, mid=mid)
            elif kind == "tool":
                self._tool(line, mid, part, moment)
            elif kind not in _SILENT_PARTS:
                self.facts.note_unknown(f"part {kind}" if isinstance(kind, str) else "part")
        said = tuple(Part(text, line) for text in texts if text.strip())
        if not said:
            return
        if role in ("user", "assistant"):
            summary = role == "assistant" and data.get("summary") is True
            self.add_parts(
                "summary" if summary else "user" if role == "user" else "assistant", said, ts=moment, mid=mid
            )
        else:
            self.facts.note_unknown(f"message role {role}" if isinstance(role, str) else "message")

    def _tool(self, line: int, mid: str, part: Record, moment: int | None) -> None:
        state = values.record(part.get("state"))
        name = values.text(part.get("tool"))
        when = values.first_moment(values.record(state.get("time")).get("start"), moment)
        output = state.get("output") or state.get("error")
        ran = f"{values.call_text(name, state.get('input'))}\n{values.compact(output)}".strip()
        self.add("tool", ran, line, ts=when, mid=mid, name=name)


@record(frozen=True, slots=True)
class OpenCodeSession:
    """A session of the store; `mark` is a checksum of what tells a change besides size and time. Times in epoch ms."""

    id: str
    parent: str
    title: str
    cwd: str
    created: int
    updated: int
    messages: int
    mark: int


def is_store(store: Store) -> bool:
    return bool(store.columns("session")) and "data" in store.columns("part") and "data" in store.columns("message")


def sessions_of(store: Store) -> list[OpenCodeSession]:
    """The sessions, found without reading their text; raises apsw.Error."""
    sessions = store.rows(
        f"SELECT id, {store.column('session', 'parent_id')}, {store.column('session', 'title')}, "
        f"{store.column('session', 'directory')}, {store.column('session', 'time_created')}, "
        f"{store.column('session', 'time_updated')}, {store.column('session', 'revert')} "
        "FROM session ORDER BY time_updated DESC, id"
    )
    counts = {
        row[0]: row[1:]
        for row in store.rows("SELECT session_id, count(*), max(time_updated) FROM message GROUP BY session_id")
    }
    lively = json.dumps([row[0] for row in sessions[:_LIVELY]])
    parts = {
        row[0]: row[1:]
        for row in store.rows(
            "SELECT session_id, count(*), max(time_updated) FROM part "
            "WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id",
            (lively,),
        )
    }
    found = []
    for session, parent, title, directory, created, updated, revert in sessions:
        messages, newest = counts.get(session, (0, 0))
        seen = (title, revert, messages, newest, parts.get(session))
        found.append(
            OpenCodeSession(
                id=str(session),
                parent=str(parent or ""),
                title=str(title or ""),
                cwd=str(directory or ""),
                created=_number(created),
                updated=max(_number(updated), _number(newest)),
                messages=_number(messages),
                mark=zlib.crc32(repr(seen).encode("utf-8", "replace")),
            )
        )
    return found


def read_session(store: Store, session: str, wanted: Iterable[Role]) -> Reading:
    """The messages of a session in the order they were made; what was reverted is not active."""
    parser = OpenCodeParser(wanted)
    revert = _revert_of(store, session)
    reverted_at: int | None = None
    line = 0
    for mid, moment, data, parts in _messages(store, session, parser):
        line += 1
        if mid == revert and reverted_at is None:
            reverted_at = len(parser.messages)
        parser.message(line, mid, data, parts, moment)
    if reverted_at is not None:
        for number in range(reverted_at, len(parser.messages)):
            parser.messages[number] = replace(parser.messages[number], active=False)
    return Reading(parser.facts, parser.messages, None, line)


def _revert_of(store: Store, session: str) -> str:
    rows = store.rows(f"SELECT {store.column('session', 'revert')} FROM session WHERE id = ?", (session,))
    value = rows[0][0] if rows else None
    if not isinstance(value, str):
        return ""
    return values.text(values.record(_object(value)).get("messageID"))


def _messages(
    store: Store, session: str, parser: RecordParser
) -> Iterator[tuple[str, int | None, Record, list[Record]]]:
    parts: dict[Value, list[Record]] = {}
    for message, data in store.each(
        "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id", (session,)
    ):
        part = _object(data)
        parser.facts.size += len(data) if isinstance(data, str) else 0
        if part is None:
            parser.facts.note_bad(0, "a part that is no JSON object")
        else:
            parts.setdefault(message, []).append(part)
    for mid, created, data in store.each(
        "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    ):
        record = _object(data)
        if record is None:
            parser.facts.note_bad(0, "a message that is no JSON object")
        yield str(mid), values.millis(created), record or {}, parts.get(mid, [])


def _object(value: Value) -> Record | None:
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        return None
    try:
        parsed = orjson.loads(cut_base64(data))
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _number(value: Value) -> int:
    return int(value) if isinstance(value, int | float) else 0


def read_legacy(session_file: Path, wanted: Iterable[Role]) -> Reading:
    """A session of an older version, from `storage/session/<project>/<session>.json` and the files that belong to it.

    Raises OSError.
    """
    parser = OpenCodeParser(wanted)
    session = session_file.name.removesuffix(".json")
    storage = session_file.parent.parent.parent
    about = values.record(read_json(session_file))
    facts = parser.facts
    facts.id, facts.cwd = session, values.text(about.get("directory"))
    facts.parent = values.text(about.get("parentID"))
    facts.kind = "subagent" if facts.parent else "main"
    facts.note_title("label", values.text(about.get("title")))
    facts.note_time(values.millis(values.record(about.get("time")).get("created")))
    revert = values.text(values.record(about.get("revert")).get("messageID"))
    messages = []
    for path in _json_files(storage / "message" / session):
        record = read_json(path, 64 << 20)
        if isinstance(record, dict):
            messages.append((values.millis(values.record(record.get("time")).get("created")) or 0, path.stem, record))
        else:
            parser.facts.note_bad(0, f"{path.name} is no JSON object")
    reverted_at: int | None = None
    for line, (moment, mid, record) in enumerate(sorted(messages, key=lambda item: item[:2]), 1):
        parts = [values.record(read_json(path, 64 << 20)) for path in _json_files(storage / "part" / mid)]
        if mid == revert and reverted_at is None:
            reverted_at = len(parser.messages)
        parser.message(line, mid, record, parts, moment or None)
    if reverted_at is not None:
        for number in range(reverted_at, len(parser.messages)):
            parser.messages[number] = replace(parser.messages[number], active=False)
    return Reading(parser.facts, parser.messages, None, len(messages))


def _json_files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".json") and entry.is_file()]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]
