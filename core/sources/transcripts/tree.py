"""The tree of entries that pi writes and OpenClaw has taken over: one branch of it is the conversation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from core.sources.transcripts import values
from core.sources.transcripts.model import SPOKEN, Checkpoint, Record, Role
from core.sources.transcripts.parser import UNWANTED, RecordParser

_SILENT_TYPES = ("custom", "thinking_level_change", "label", "leaf", "title", "reset")


class TreeParser(RecordParser):
    """Entries with `id` and `parentId`. The conversation is the last entry and what leads to it.

    An entry whose parent is not in the file follows the entry written before it, so that a damaged line costs no more
    than itself. Where no entry has a parent at all, all follow each other.
    """

    skips: ClassVar[re.Pattern[bytes] | None] = re.compile(rb'\s*\{\s*"type"\s*:\s*"(?:thinking_level_change|title)"')

    def __init__(self, wanted: Iterable[Role] = SPOKEN, repeats: Iterable[str] = ()) -> None:
        super().__init__(wanted, repeats)
        self._leaf = ""
        self._is_linear = True
        self._has_parents = False
        self._has_roots = False
        # Of each entry: its parent, the entry written before it, and which messages it brought.
        self._entries: dict[str, tuple[str, str, int, int]] = {}

    def state(self) -> Record:
        return {"leaf": self._leaf, "parents": self._has_parents, "roots": self._has_roots}

    def resume(self, checkpoint: Checkpoint) -> None:
        super().resume(checkpoint)
        self._leaf = values.text(checkpoint.state.get("leaf"))
        self._has_parents = bool(checkpoint.state.get("parents"))
        self._has_roots = bool(checkpoint.state.get("roots"))

    def feed(self, line: int, record: Record) -> None:
        kind = record.get("type")
        if kind == "session":
            self._header(record)
            return
        first = len(self.messages)
        self._entry(line, record)
        entry = record.get("id")
        if isinstance(entry, str) and entry:
            self._link(entry, record, first)

    def finish(self) -> None:
        if self._is_linear:
            return
        active: set[int] = set()
        placed: set[int] = set()
        seen: set[str] = set()
        at = self._leaf
        while at and at not in seen:
            seen.add(at)
            parent, before, first, end = self._entries[at]
            active.update(range(first, end))
            at = before if parent and parent not in self._entries else parent
        for _, _, first, end in self._entries.values():
            placed.update(range(first, end))
        for number in placed - active:
            self.messages[number] = replace(self.messages[number], active=False)

    def _link(self, entry: str, record: Record, first: int) -> None:
        before = self._leaf
        parent = values.text(record.get("parentId")) if "parentId" in record else before
        if parent and "parentId" in record and not self._has_parents:
            self._has_parents = True
            if self._has_roots:
                self._branch()
        if before and not parent:
            self._has_roots = True
        if before and parent != before and self._has_parents:
            self._branch()
        self._entries[entry] = (parent, before, first, len(self.messages))
        self._leaf = entry

    def _branch(self) -> None:
        self.rewrite()
        self._is_linear = False

    def _header(self, record: Record) -> None:
        facts = self.facts
        facts.id = facts.id or values.text(record.get("id"))
        facts.cwd = facts.cwd or values.text(record.get("cwd"))
        facts.parent = facts.parent or values.text(record.get("parentSession"))
        facts.note_time(values.millis(record.get("timestamp")))

    def _entry(self, line: int, record: Record) -> None:
        kind = record.get("type")
        moment = values.millis(record.get("timestamp"))
        mid = values.text(record.get("id"))
        if kind == "message":
            self._message(line, record, mid)
        elif kind in ("compaction", "branch_summary"):
            self.add("summary", values.text(record.get("summary")), line, ts=moment, mid=mid)
        elif kind == "model_change":
            self.facts.model = values.text(record.get("modelId")) or self.facts.model
        elif kind == "session_info":
            self.facts.note_title("name", values.text(record.get("name")))
        elif kind == "custom_message":
            self.add("tool", values.texts(record.get("content")), line, ts=moment, mid=mid)
        elif kind not in _SILENT_TYPES:
            self.facts.note_unknown(kind)

    def _message(self, line: int, record: Record, mid: str) -> None:
        message = values.record(record.get("message"))
        role = message.get("role")
        moment = values.first_moment(message.get("timestamp"), record.get("timestamp"))
        content = message.get("content")
        if role == "user" or role == "assistant":
            self._spoken(role, line, message, content, moment, mid)
        elif role == "toolResult":
            self.tool_result(line, message, moment, mid)
        elif role == "bashExecution":
            ran = f"$ {values.text(message.get('command'))}\n{values.compact(message.get('output'))}"
            self.add("tool", ran, line, ts=moment, mid=mid, name="bash")
        elif role in ("branchSummary", "compactionSummary"):
            self.add("summary", values.text(message.get("summary")), line, ts=moment, mid=mid)
        elif role in ("custom", "system", "developer"):
            self.add("tool", values.texts(content), line, ts=moment, mid=mid)
        else:
            self.facts.note_unknown(f"message role {role}" if isinstance(role, str) else "message without role")

    def _spoken(self, role: Role, line: int, message: Record, content: object, moment: int | None, mid: str) -> None:
        blocks = values.blocks(content)
        said = self.said(role, message, values.texts(blocks))
        key = repeat_key(mid, said) if self.repeats or self.keeps_keys else ""
        if role == "assistant":
            self.facts.model = values.text(message.get("model")) or self.facts.model
            for block in blocks:
                if block.get("type") == "thinking":
                    thought = values.text(block.get("thinking"))
                    self.add("thinking", thought, line, ts=moment, mid=mid, key=key and f"{key}:thinking")
        self.add(role, said, line, ts=moment, mid=mid, key=key)
        for block in blocks:
            if block.get("type") == "toolCall":
                name = values.text(block.get("name"))
                called = values.call_text(name, block.get("arguments")) if self.wants_tools else UNWANTED
                self.add("tool", called, line, ts=moment, mid=mid, name=name)

    def tool_result(self, line: int, message: Record, moment: int | None, mid: str) -> None:
        name = values.text(message.get("toolName"))
        result = values.compact(message.get("content")) if self.wants_tools else UNWANTED
        self.add("tool", result, line, ts=moment, mid=mid, name=name)

    def said(self, role: object, message: Record, text: str) -> str:
        """What of a message's text was really said."""
        return text


def repeat_key(mid: str, text: str) -> str:
    """Tells the same entry in another file: its id and its text; "" for entries without an id."""
    if not mid:
        return ""
    return f"{mid}:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
