"""Codex: rollout files that say everything twice, as what the model saw and as what the screen showed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from core.sources.transcripts import values
from core.sources.transcripts.found import Found, Listing, is_folder
from core.sources.transcripts.model import SPOKEN, Checkpoint, Record, Role
from core.sources.transcripts.parser import UNWANTED, RecordParser
from core.sources.transcripts.places import Place
from core.sources.transcripts.records import first_records
from core.sources.transcripts.wrappers import codex_user

_SILENT_TYPES = ("world_state", "token_usage_record", "inter_agent_communication", "realtime_item", "ghost_snapshot")
_SCALARS = rb'\s*\{\s*(?:"[a-z_]{1,40}"\s*:\s*(?:"[^"\\]{0,200}"|[a-z0-9.+-]{1,24})\s*,\s*){0,8}'
_NAME = re.compile(
    r"rollout-(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2})-(?P<id>[0-9A-Za-z-]{8,80})\.jsonl(?P<packed>\.zst)?"
)


class CodexParser(RecordParser):
    """Of each role the model's records (`response_item`) count, and the screen's (`event_msg`) where there are none."""

    dialect = "codex"
    skips: ClassVar[re.Pattern[bytes] | None] = re.compile(
        _SCALARS
        + rb'"type"\s*:\s*"(?:'
        + b"|".join(kind.encode() for kind in _SILENT_TYPES)
        + rb'|event_msg"\s*,\s*"payload"\s*:\s*\{\s*"type"\s*:\s*"(?:token_count|exec_command_output_delta|'
        rb'agent_message_delta|agent_reasoning_delta))"'
    )

    def __init__(self, wanted: Iterable[Role] = SPOKEN, repeats: Iterable[str] = ()) -> None:
        super().__init__(wanted, repeats)
        self._from_items: set[str] = set()
        self._from_events: set[str] = set()

    def state(self) -> Record:
        return {"items": sorted(self._from_items), "events": sorted(self._from_events)}

    def resume(self, checkpoint: Checkpoint) -> None:
        super().resume(checkpoint)
        self._from_items = {values.text(role) for role in values.items(checkpoint.state.get("items"))}
        self._from_events = {values.text(role) for role in values.items(checkpoint.state.get("events"))}

    def feed(self, line: int, record: Record) -> None:
        kind = record.get("type")
        payload = values.record(record.get("payload"))
        moment = values.millis(record.get("timestamp"))
        if kind == "response_item":
            self._item(line, payload, moment)
        elif kind == "event_msg":
            self._event(line, payload, moment)
        elif kind == "session_meta":
            self._meta(payload, moment)
        elif kind == "turn_context":
            self.facts.cwd = self.facts.cwd or values.text(payload.get("cwd"))
            self.facts.model = values.text(payload.get("model")) or self.facts.model
        elif kind == "compacted":
            self.add("summary", values.text(payload.get("message")), line, ts=moment)
        elif kind is None and "id" in record and "timestamp" in record:
            self._meta(record, moment)
        elif kind in ("message", "reasoning", "function_call", "function_call_output"):
            self._item(line, record, moment)
        elif kind not in _SILENT_TYPES and not (kind is None and "record_type" in record):
            self.facts.note_unknown(kind)

    def _meta(self, payload: Record, moment: int | None) -> None:
        facts = self.facts
        if facts.id:  # a copy of the parent's
            return
        facts.id = values.text(payload.get("id")) or values.text(payload.get("session_id"))
        facts.cwd = values.text(payload.get("cwd"))
        facts.note_time(values.first_moment(payload.get("timestamp"), moment))
        source = values.record(payload.get("source"))
        spawn = values.record(values.record(source.get("subagent") or source.get("subAgent")).get("thread_spawn"))
        facts.parent = values.text(
            payload.get("parent_thread_id") or spawn.get("parent_thread_id") or payload.get("forked_from_id")
        )
        if spawn or payload.get("thread_source") == "subagent" or "subagent" in source or "subAgent" in source:
            facts.kind = "subagent"

    def _item(self, line: int, payload: Record, moment: int | None) -> None:
        kind = payload.get("type")
        if kind == "message":
            role = payload.get("role")
            if role == "user":
                self._take("user", _user_text(payload), line, moment, from_items=True)
            elif role == "assistant":
                text = values.texts(payload.get("content"), "output_text", "text")
                self._take("assistant", text, line, moment, from_items=True)
        elif kind == "reasoning":
            text = values.texts(payload.get("summary"), "summary_text", "text")
            self._take("thinking", text, line, moment, from_items=True)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"):
            name = values.text(payload.get("name")) or values.text(kind).removesuffix("_call")
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            called = values.call_text(name, given) if self.wants_tools else UNWANTED
            self._take("tool", called, line, moment, from_items=True, name=name)
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            output = payload.get("output")
            if isinstance(output, dict):
                output = output.get("content") or output.get("body")
            result = values.compact(output) if self.wants_tools else UNWANTED
            self._take("tool", result, line, moment, from_items=True)
        elif kind not in ("ghost_snapshot", "compaction", "compaction_summary", "other"):
            self.facts.note_unknown(f"response_item {kind}" if isinstance(kind, str) else "response_item")

    def _event(self, line: int, payload: Record, moment: int | None) -> None:
        kind = payload.get("type")
        if kind == "item_completed":
            self._completed(line, values.record(payload.get("item")), moment)
        elif kind == "user_message":
            self._take("user", codex_user(values.text(payload.get("message"))), line, moment)
        elif kind == "agent_message":
            self._take("assistant", values.text(payload.get("message")), line, moment)
        elif kind == "agent_reasoning":
            self._take("thinking", values.text(payload.get("text")), line, moment)
        elif kind in ("thread_name_updated", "session_name_updated"):
            name = payload.get("thread_name") or payload.get("session_name") or payload.get("name")
            self.facts.note_title("name", values.text(name))

    def _completed(self, line: int, item: Record, moment: int | None) -> None:
        kind = item.get("type")
        if kind == "UserMessage":
            self._take("user", codex_user(values.texts(item.get("content"))), line, moment)
        elif kind == "AgentMessage":
            text = values.texts(item.get("content"), "text", "Text") or values.text(item.get("text"))
            self._take("assistant", text, line, moment)
        elif kind == "Reasoning":
            texts = [values.text(text) for text in values.items(item.get("summary_text"))]
            self._take("thinking", "\n".join(texts), line, moment)
        elif kind == "CommandExecution":
            ran = f"{values.compact(item.get('command'))}\n{values.compact(item.get('aggregated_output'))}"
            self._take("tool", ran, line, moment, name="command")

    def _take(
        self, role: Role, text: str, line: int, moment: int | None, *, from_items: bool = False, name: str = ""
    ) -> None:
        if from_items:
            if not text.strip():
                return
            if role not in self._from_items:
                self._from_items.add(role)
                if role in self._from_events:
                    self.rewrite()
                    self._drop(role)
        elif role in self._from_items:
            return
        if self.add(role, text, line, ts=moment, name=name) is not None and not from_items:
            self._from_events.add(role)

    def _drop(self, role: Role) -> None:
        """What the screen showed of a role goes, now that the model's records tell it."""
        kept = [message for message in self.messages if message.role != role]
        self.facts.counts[role] -= len(self.messages) - len(kept)
        self.messages[:] = kept


def session_name(name: str) -> str | None:
    """The session that a file's name tells; None for other files."""
    found = _NAME.fullmatch(name)
    return found["id"] if found is not None else None


def _user_text(payload: Record) -> str:
    """What a person wrote of a user item: by its provenance where that is told, else by its words."""
    kept = []
    content = payload.get("content")
    passed = values.record(payload.get("internal_chat_message_metadata_passthrough"))
    told = values.items(passed.get("content_item_metadata"))
    for number, block in enumerate(values.blocks(content)):
        if block.get("type") not in ("input_text", "text"):
            continue
        text = values.text(block.get("text"))
        kinds = [
            values.record(values.record(source).get("provenance") or source).get("type")
            for source in _sources(told[number] if number < len(told) else None)
        ]
        if "harness" in kinds:
            continue
        said = text.strip() if "user" in kinds else codex_user(text)
        if said:
            kept.append(said)
    return "\n".join(kept)


def _sources(metadata: object) -> list[object]:
    provenance = values.record(metadata).get("provenance")
    return values.items(provenance) if isinstance(provenance, list) else [provenance]


def look(place: Place, into: Listing) -> None:
    """Rollouts, plain and packed, live and archived; a plain and a live one come first."""
    archived = place.path.endswith("archived_sessions")
    titles = _titles(str(Path(place.path).parent / "session_index.jsonl"))

    def walk(folder: str, depth: int) -> None:
        for entry in into.entries("codex", folder, optional=place.optional, top=depth == 0):
            if is_folder(entry):
                if depth < 4:
                    walk(entry.path, depth + 1)
                continue
            session = session_name(entry.name)
            if session is None or (stat := into.file_stat(entry)) is None:
                continue
            packed = entry.name.endswith(".zst")
            title = titles.get(session, "")
            into.found.append(
                Found(
                    "codex",
                    session,
                    entry.path,
                    stat,
                    kind="archived" if archived else "main",
                    rank=((2 if archived else 0) + (1 if packed else 0), entry.path),
                    alike=True,
                    title=title,
                    growing=not packed,
                ).marked(title)
            )

    walk(place.path, 0)


def _titles(path: str) -> dict[str, str]:
    """Names of sessions from Codex's own index; the last one counts."""
    try:
        records = first_records(path, most=100_000, size=16 << 20)
    except OSError:
        return {}
    return {values.text(record.get("id")): values.text(record.get("thread_name")) for record in records}
