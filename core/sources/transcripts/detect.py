"""Which dialect a file is, by its name and by its first records; for files that no agent's own folder vouches for."""

from __future__ import annotations

import re

from core.sources.transcripts import openclaw_store, opencode, values
from core.sources.transcripts.aider import HISTORY_NAME, chats_of
from core.sources.transcripts.model import Record
from core.sources.transcripts.records import first_records, opened
from core.sources.transcripts.stores import Store, read_store

_JSONL = re.compile(r".+\.jsonl(?:\.zst|\.(?:reset|deleted)\.[0-9TZ.-]+(?:\.zst)?)?")
_SQLITE = b"SQLite format 3\0"
_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context")
_CLAUDE_TYPES = (
    "user",
    "assistant",
    "permission-mode",
    "mode",
    "file-history-snapshot",
    "summary",
    "attachment",
    "custom-title",
)
_PI_NAME = re.compile(r"\d{4}-\d{2}-\d{2}T[0-9-]+Z?_")
_HEAD = 64 << 10


def may_be_transcript(name: str) -> bool:
    """Whether a file of this name is worth a look."""
    if name == HISTORY_NAME or _JSONL.fullmatch(name):
        return True
    return name.endswith((".sqlite", ".db")) or (name.startswith("session-") and name.endswith(".json"))


def dialect_of(path: str) -> str | None:
    """The dialect of a transcript (or store of transcripts), None for anything else. Raises OSError."""
    name = path.rpartition("/")[2]
    with opened(path) as file:
        head = file.read(_HEAD)
    if head.startswith(_SQLITE):
        return _store_dialect(path)
    if name.endswith(".md"):
        return "aider" if name == HISTORY_NAME or chats_of(head) else None
    if name.endswith(".json"):
        return "gemini" if b'"sessionId"' in head and b'"messages"' in head else None
    if not _JSONL.fullmatch(name):
        return None
    for record in first_records(path):
        dialect = _record_dialect(record, path, name)
        if dialect is not None:
            return dialect
    return None


def _store_dialect(path: str) -> str | None:
    def told(store: Store) -> str | None:
        if openclaw_store.is_store(store):
            return "openclaw"
        return "opencode" if opencode.is_store(store) else None

    return read_store(path, told)


def _record_dialect(record: Record, path: str, name: str) -> str | None:
    kind = record.get("type")
    if kind in _CODEX_TYPES and isinstance(record.get("payload"), dict):
        return "codex"
    if "$set" in record or "$rewindTo" in record or ("sessionId" in record and "projectHash" in record):
        return "gemini"
    if kind in _CLAUDE_TYPES and ("sessionId" in record or "uuid" in record or "leafUuid" in record):
        return "claude-code"
    if kind == "session" or (kind == "message" and isinstance(record.get("message"), dict)):
        return "pi" if _is_pi(record, path, name) else "openclaw"
    return None


def _is_pi(record: Record, path: str, name: str) -> bool:
    if _PI_NAME.match(name) or "/.pi/" in path or "/.omp/" in path:
        return True
    version = record.get("version")
    entry = values.text(record.get("id"))
    return record.get("type") == "message" and version is None and len(entry) == 8 and "/sessions/--" in path
