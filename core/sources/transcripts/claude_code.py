"""Claude Code: one JSONL file for each session, one content block for each record of a reply."""

# ruff: noqa: PTH118
# Paths stay strings: a project may have a hundred thousand transcripts of subagents.

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from core.sources.transcripts import values
from core.sources.transcripts.found import Found, Listing, is_folder, marked, path_time
from core.sources.transcripts.model import SPOKEN, Checkpoint, Part, Record, Role
from core.sources.transcripts.parser import UNWANTED, RecordParser
from core.sources.transcripts.places import Place
from core.sources.transcripts.records import read_json
from core.sources.transcripts.wrappers import claude_user

DIALECT = "claude-code"
_SILENT_TYPES = (
    "api-request",
    "api-request-shape",
    "api-request-blob",
    "atis-latch",
    "mode",
    "permission-mode",
    "last-prompt",
    "tools-used",
    "cost-state",
    "queue-operation",
    "file-history-snapshot",
    "attribution-snapshot",
    "content-replacement",
    "progress",
    "worktree-state",
    "bridge-session",
    "tag",
    "agent-color",
    "agent-setting",
    "continued-in",
)
_SESSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{7,79}")
_SCALARS = rb'\s*\{\s*(?:"[A-Za-z_]{1,40}"\s*:\s*(?:"[^"\\]{0,200}"|[a-z0-9.+-]{1,24})\s*,\s*){0,12}'


class ClaudeCodeParser(RecordParser):
    """Records of one reply share their message's id and become one message, whatever tools ran between them.

    A reply may go on as long as no other one has begun, so reading goes on at its first record.
    """

    dialect = DIALECT
    skips: ClassVar[re.Pattern[bytes] | None] = re.compile(
        _SCALARS
        + rb'(?:"type"\s*:\s*"(?:'
        + b"|".join(re.escape(kind.encode()) for kind in _SILENT_TYPES)
        + rb')"|"attachment"\s*:\s*\{\s*"type"\s*:\s*"(?!file"|queued_command"))'
    )

    def __init__(self, wanted: Iterable[Role] = SPOKEN, repeats: Iterable[str] = ()) -> None:
        super().__init__(wanted, repeats)
        self._reply = ""
        self._reply_at: int | None = None
        self._reply_texts: set[int] = set()
        self._before_reply: Checkpoint | None = None

    def checkpoint(self) -> Checkpoint:
        return self._before_reply or self._checkpoint_here()

    def feed(self, line: int, record: Record) -> None:
        kind = record.get("type")
        if kind == "user":
            self._user(line, record)
        elif kind == "assistant":
            self._assistant(line, record)
        elif kind == "attachment":
            self._attachment(line, record)
        elif kind == "custom-title":
            self.facts.note_title("custom", values.text(record.get("customTitle")))
        elif kind == "ai-title":
            self.facts.note_title("ai", values.text(record.get("aiTitle") or record.get("title")))
        elif kind == "agent-name":
            self.facts.note_title("name", values.text(record.get("agentName")))
        elif kind == "summary":
            self.facts.note_title("summary", values.text(record.get("summary")))
        elif kind not in _SILENT_TYPES and kind != "system":
            self.facts.note_unknown(kind)

    def _common(self, record: Record) -> tuple[int | None, str]:
        """Time and uuid of a record; what it tells of the session is noted."""
        facts = self.facts
        facts.cwd = facts.cwd or values.text(record.get("cwd"))
        agent = values.text(record.get("agentId"))
        session = values.text(record.get("sessionId"))
        facts.id = facts.id or agent or session
        if agent and session:
            facts.kind = "subagent"
            facts.parent = facts.parent or session
        return values.millis(record.get("timestamp")), values.text(record.get("uuid"))

    def _user(self, line: int, record: Record) -> None:
        moment, uuid = self._common(record)
        content = values.blocks(values.record(record.get("message")).get("content"))
        for block in content:
            if block.get("type") == "tool_result":
                result = values.compact(block.get("content")) if self.wants_tools else UNWANTED
                self.add("tool", result, line, ts=moment, mid=uuid, key=uuid)
        if record.get("isMeta") is True or not _is_human(record):
            return
        text = values.texts(content)
        if record.get("isCompactSummary") is True:
            self.add("summary", text, line, ts=moment, mid=uuid, key=uuid)
            return
        said = claude_user(text)
        if said:
            self._close_reply()
            self.add("user", said, line, ts=moment, mid=uuid, key=uuid)

    def _assistant(self, line: int, record: Record) -> None:
        moment, uuid = self._common(record)
        message = values.record(record.get("message"))
        model = values.text(message.get("model"))
        if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
            return
        self.facts.model = model or self.facts.model
        reply = values.text(message.get("id")) or uuid
        if reply != self._reply:
            self._close_reply()
            if reply:
                self._before_reply = self._checkpoint_here()
            self._reply = reply
        for block in values.blocks(message.get("content")):
            kind = block.get("type")
            if kind == "text":
                self._say(values.text(block.get("text")), line, moment, reply, uuid)
            elif kind == "thinking":
                thought = values.text(block.get("thinking"))
                self.add("thinking", thought, line, ts=moment, mid=reply, key=uuid)
            elif kind == "tool_use":
                name = values.text(block.get("name"))
                called = values.call_text(name, block.get("input")) if self.wants_tools else UNWANTED
                self.add("tool", called, line, ts=moment, mid=reply, name=name, key=uuid)

    def _say(self, text: str, line: int, moment: int | None, reply: str, uuid: str) -> None:
        """The text of a reply; one that has begun goes on."""
        if self._reply_at is None or not reply:
            if self.add("assistant", text, line, ts=moment, mid=reply, key=uuid) is not None:
                self._reply_at = len(self.messages) - 1
                self._reply_texts = {hash(text)}
            return
        begun = self.messages[self._reply_at]
        if not text.strip() or hash(text) in self._reply_texts or self.is_repeated(uuid):
            return
        self._reply_texts.add(hash(text))
        self.facts.note_time(moment)
        kept = Part(self.kept("assistant", text), line)
        self.messages[self._reply_at] = replace(begun, parts=(*begun.parts, kept))

    def _attachment(self, line: int, record: Record) -> None:
        moment, uuid = self._common(record)
        attached = values.record(record.get("attachment"))
        if attached.get("type") == "queued_command":
            prompt = attached.get("prompt")
            said = claude_user(values.texts(prompt))
            if said and attached.get("commandMode") in (None, "prompt"):
                self._close_reply()
                self.add("user", said, line, ts=moment, mid=uuid, key=uuid)
        elif attached.get("type") == "file":
            name = values.text(attached.get("filename"))
            self.add("tool", f"{name}\n{_file_text(attached)}", line, ts=moment, mid=uuid, name="file", key=uuid)

    def _close_reply(self) -> None:
        self._reply = ""
        self._reply_at = None
        self._before_reply = None


def _is_human(record: Record) -> bool:
    """Whether a user record was written by a person (or another program on a person's behalf)."""
    origin = record.get("origin")
    if isinstance(origin, dict) and isinstance(origin.get("kind"), str):
        return bool(origin["kind"] == "human")
    return record.get("promptSource") != "system"


def _file_text(attached: Record) -> str:
    content = attached.get("content")
    file = values.record(values.record(content).get("file"))
    return values.compact(file.get("content") if file else content)


def look(place: Place, into: Listing) -> None:
    """The sessions of all projects, and those of their subagents."""
    for project in into.entries(DIALECT, place.path, optional=place.optional, top=True):
        if not is_folder(project):
            continue
        folders: dict[str, str] = {}
        files = []
        for entry in into.entries(DIALECT, project.path):
            if is_folder(entry):
                folders[entry.name] = entry.path
            elif entry.name.endswith(".jsonl") and (stat := into.file_stat(entry)) is not None:
                files.append((entry.name.removesuffix(".jsonl"), entry.path, stat))
        for session, path, stat in files:
            if session.startswith("agent-"):
                into.found.append(Found(DIALECT, session, path, stat, kind="subagent", rank=(1, path)))
                continue
            title = ""
            if session in folders:
                title = _custom_title(os.path.join(folders[session], "custom-title.json"))
            into.found.append(Found(DIALECT, session, path, marked(stat, title), rank=(0, path), title=title))
        for session, path in folders.items():
            if _SESSION.fullmatch(session) and session != "memory":
                _look_at_subagents(os.path.join(path, "subagents"), session, into, depth=0)


def _look_at_subagents(folder: str, parent: str, into: Listing, *, depth: int) -> None:
    for entry in into.entries(DIALECT, folder, optional=True):
        if is_folder(entry):
            if depth < 3:
                _look_at_subagents(entry.path, parent, into, depth=depth + 1)
        elif entry.name.endswith(".jsonl") and (stat := into.file_stat(entry)) is not None:
            told = marked(stat, path_time(f"{entry.path.removesuffix('.jsonl')}.meta.json"))
            session = entry.name.removesuffix(".jsonl")
            rank = (1, entry.path)
            into.found.append(Found(DIALECT, session, entry.path, told, kind="subagent", rank=rank, parent=parent))


def _custom_title(path: str) -> str:
    return values.text(values.record(read_json(Path(path), 64 << 10)).get("customTitle"))


def description_of(path: str) -> str:
    """What a subagent was asked to do, from the file beside its transcript."""
    about = values.record(read_json(Path(f"{path.removesuffix('.jsonl')}.meta.json"), 64 << 10))
    return values.text(about.get("description")) or values.text(about.get("agentType"))
