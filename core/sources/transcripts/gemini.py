"""Gemini CLI: a log of changes to a conversation, and the older file that holds it as one object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from core.sources.transcripts import values
from core.sources.transcripts.found import Found, Listing, is_folder
from core.sources.transcripts.model import SPOKEN, Record, Role
from core.sources.transcripts.parser import Reading, RecordParser
from core.sources.transcripts.places import Place
from core.sources.transcripts.records import opened, read_json
from core.sources.transcripts.wrappers import gemini_user

_NAME = re.compile(r"session-(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2})-(?P<id>[0-9A-Za-z-]{4,80})\.jsonl?")
_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_TYPES = ("user", "gemini", "info", "error", "warning")


class GeminiParser(RecordParser):
    """A message that comes again with its id takes the place of the earlier one; what is rewound is gone."""

    dialect = "gemini"

    def __init__(self, wanted: Iterable[Role] = SPOKEN, repeats: Iterable[str] = ()) -> None:
        super().__init__(wanted, repeats)
        self._kept: list[tuple[str, int, Record]] = []

    def feed(self, line: int, record: Record) -> None:
        if "$set" in record:
            changes = values.record(record["$set"])
            self._meta(changes)
            if isinstance(changes.get("messages"), list):
                self._replace_all(values.items(changes["messages"]), line)
        elif "$rewindTo" in record:
            self._rewind(values.text(record["$rewindTo"]))
        elif record.get("type") in _TYPES:
            self._put(line, record)
        elif "sessionId" in record:
            self._meta(record)
            self._replace_all(values.items(record.get("messages")), line)
        else:
            self.facts.note_unknown(record.get("type") or next(iter(record), None))

    def finish(self) -> None:
        for _, line, record in self._kept:
            self._message(line, record)

    def _meta(self, record: Record) -> None:
        facts = self.facts
        facts.id = values.text(record.get("sessionId")) or facts.id
        facts.note_time(values.millis(record.get("startTime")))
        if record.get("kind") == "subagent":
            facts.kind = "subagent"
        facts.note_title("summary", values.text(record.get("summary")))

    def _put(self, line: int, record: Record) -> None:
        mid = values.text(record.get("id"))
        for number in range(len(self._kept) - 1, -1, -1):
            if mid and self._kept[number][0] == mid:
                self._kept[number] = (mid, line, record)
                return
        self._kept.append((mid, line, record))

    def _replace_all(self, messages: list[object], line: int) -> None:
        """A whole new list; what stood in the old one unchanged keeps its line."""
        if not messages and not self._kept:
            return
        old = {mid: (at, record) for mid, at, record in self._kept if mid}
        kept = []
        for item in messages:
            record = values.record(item)
            mid = values.text(record.get("id"))
            at, before = old.get(mid, (line, None))
            kept.append((mid, at if before == record else line, record))
        self._kept = kept

    def _rewind(self, mid: str) -> None:
        for number, (kept, _, _) in enumerate(self._kept):
            if kept == mid:
                del self._kept[number:]
                return

    def _message(self, line: int, record: Record) -> None:
        mid = values.text(record.get("id"))
        moment = values.millis(record.get("timestamp"))
        kind = record.get("type")
        text = _parts_text(record.get("content"))
        if kind == "user":
            self.add("user", gemini_user(text), line, ts=moment, mid=mid)
            return
        if kind in ("info", "error", "warning"):
            return
        if kind != "gemini":
            self.facts.note_unknown(kind)
            return
        self.facts.model = values.text(record.get("model")) or self.facts.model
        for item in values.items(record.get("thoughts")):
            thought = values.record(item)
            words = f"{values.text(thought.get('subject'))}\n{values.text(thought.get('description'))}".strip()
            self.add("thinking", words, line, ts=moment, mid=mid)
        self.add("assistant", text, line, ts=moment, mid=mid)
        for item in values.items(record.get("toolCalls")):
            call = values.record(item)
            name = values.text(call.get("name"))
            shown = call.get("resultDisplay") or _responses(call.get("result"))
            ran = f"{values.call_text(name, call.get('args'))}\n{values.compact(shown)}".strip()
            self.add("tool", ran, line, ts=values.first_moment(call.get("timestamp"), moment), mid=mid, name=name)


def session_name(name: str) -> str | None:
    """The id, or its first 8 characters, that a file's name tells; None for other files."""
    found = _NAME.fullmatch(name)
    return found["id"] if found is not None else None


def read_object(data: bytes, wanted: Iterable[Role]) -> Reading:
    """The older file: one JSON object. A message stands on the line where its own object begins."""
    text = data.decode("utf-8", "replace")
    parser = GeminiParser(wanted)
    lines = text.count("\n") + (not text.endswith("\n"))
    try:
        whole = json.loads(text)
        placed = _placed(text)
    except (ValueError, RecursionError) as error:
        parser.facts.note_bad(1, f"not JSON: {str(error).partition(':')[0]}")
        return Reading(parser.facts, [], None, lines)
    meta = values.record(whole)
    listed = values.items(meta.get("messages"))
    parser.feed(1, {name: value for name, value in meta.items() if name != "messages"})
    if [record for _, record in placed] != listed:
        placed = [(1, record) for record in listed]
    for line, item in placed:
        if isinstance(item, dict):
            parser.feed(line, item)
    parser.finish()
    return Reading(parser.facts, parser.messages, None, lines)


def _placed(text: str) -> list[tuple[int, object]]:
    """The messages of the object, each with the line where it begins."""
    opening = _MESSAGES.search(text)
    if opening is None:
        return []
    decoder = json.JSONDecoder()
    at = opening.end()
    line = 1 + text.count("\n", 0, at)
    found: list[tuple[int, object]] = []
    while True:
        start = at
        while start < len(text) and text[start] in " \t\r\n,":
            start += 1
        if start >= len(text) or text[start] == "]":
            return found
        line += text.count("\n", at, start)
        item, at = decoder.raw_decode(text, start)
        found.append((line, item))
        line += text.count("\n", start, at)


def _parts_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [values.record(part) for part in values.items(content)]
    return "\n".join(
        values.text(part.get("text")) for part in parts if "text" in part and part.get("thought") is not True
    )


def _responses(result: object) -> object:
    responses = [values.record(values.record(item).get("functionResponse")) for item in values.items(result)]
    outputs = [values.record(response.get("response")).get("output") for response in responses]
    return "\n".join(values.compact(output) for output in outputs if output is not None)


def look(place: Place, into: Listing) -> None:
    """The chats of all projects; of two files of one session the larger counts: resuming leaves a nearly empty one."""
    paths = values.record(read_json(Path(place.path).parent / "projects.json"))
    folders = {values.text(name): path for path, name in values.record(paths.get("projects")).items()}
    for project in into.entries("gemini", place.path, optional=place.optional, top=True):
        if not is_folder(project):
            continue
        cwd = folders.get(project.name) or _project_root(f"{project.path}/.project_root")
        chats = f"{project.path}/chats"
        for entry in into.entries("gemini", chats, optional=True):
            if is_folder(entry):
                for below in into.entries("gemini", entry.path, optional=True):
                    if below.name.endswith((".jsonl", ".json")) and (stat := into.file_stat(below)) is not None:
                        session = below.name.partition(".json")[0]
                        found = Found(
                            "gemini",
                            session,
                            below.path,
                            stat,
                            kind="subagent",
                            parent=entry.name,
                            cwd=cwd,
                            growing=False,
                        )
                        into.found.append(found.marked(cwd))
                continue
            short = session_name(entry.name)
            if short is not None and (stat := into.file_stat(entry)) is not None:
                rank = (max(0, (1 << 50) - stat.size), entry.path)
                found = Found("gemini", short, entry.path, stat, rank=rank, alike=True, cwd=cwd, growing=False)
                into.found.append(found.marked(cwd))


def _project_root(path: str) -> str:
    try:
        with opened(path) as file:
            return file.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""
