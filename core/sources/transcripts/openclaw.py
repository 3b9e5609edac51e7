"""OpenClaw: pi's tree with its own envelopes; JSONL files with their archives, or rows of its SQLite store."""

# ruff: noqa: PTH118
# Paths stay strings, as everywhere in the search for transcripts.

from __future__ import annotations

import os
import re
from pathlib import Path

from core.sources.transcripts import values
from core.sources.transcripts.found import Found, Listing, is_folder, path_stat
from core.sources.transcripts.model import Record
from core.sources.transcripts.records import read_json
from core.sources.transcripts.tree import TreeParser
from core.sources.transcripts.wrappers import openclaw_assistant, openclaw_user

DIALECT = "openclaw"
_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{1,9})?Z"
_NAME = re.compile(rf"(?P<id>[^/]+?)\.jsonl(?:\.(?P<kind>reset|deleted)\.(?P<stamp>{_STAMP}))?(?P<packed>\.zst)?")
_ARCHIVE_RANK = 5
_NO_SESSION = re.compile(r".*\.(?:trajectory|checkpoint\.[^/]*)")
_KEYS_LEFT_OUT = re.compile(r"(?:^|:)(?:cron|heartbeat|dreaming|dream)(?::|$)")


class OpenClawParser(TreeParser):
    dialect = DIALECT

    def said(self, role: object, message: Record, text: str) -> str:
        if role == "assistant":
            return openclaw_assistant(text)
        provenance = values.text(values.record(message.get("provenance")).get("kind"))
        if provenance in ("inter_session", "inter-session", "internal_system"):
            return ""
        return openclaw_user(text)

    def tool_result(self, line: int, message: Record, moment: int | None, mid: str) -> None:
        if values.text(message.get("toolCallId")):
            super().tool_result(line, message, moment, mid)


def archive_name(name: str) -> tuple[str, str, str] | None:
    """Session, kind ("" live, "reset", "deleted") and stamp that a file's name tells; None for other files.

    Names that OpenClaw does not write itself (`.bak`, `.lock`, trajectories, checkpoints) are other files.
    """
    found = _NAME.fullmatch(name)
    if found is None or _NO_SESSION.fullmatch(found["id"]) is not None:
        return None
    return found["id"], found["kind"] or "", found["stamp"] or ""


def is_left_out(session_key: str) -> bool:
    """Whether a session of this key is the program's own (scheduled runs, heartbeats, dreams)."""
    return _KEYS_LEFT_OUT.search(session_key) is not None


def look(sessions: str, stored: frozenset[str], into: Listing) -> None:
    """The files of an agent's folder `sessions`; live ones that the store has taken over (`stored`) are left out."""
    registry = _registry(os.path.join(sessions, "sessions.json"))
    for entry in into.entries(DIALECT, sessions, top=not stored):
        if entry.name == "cold" and is_folder(entry):
            _cold(entry.path, into)
            continue
        named_as = archive_name(entry.name)
        if named_as is None or (stat := into.file_stat(entry)) is None:
            continue
        session, kind, stamp = named_as
        key, title = registry.get(session, ("", ""))
        if is_left_out(key):
            into.skip(entry.path, "program", f"a session of the program's own ({key})")
            continue
        if session in stored and not kind:
            continue  # the store has taken it over
        packed = entry.name.endswith(".zst")
        into.found.append(
            Found(
                DIALECT,
                session,
                entry.path,
                stat,
                kind="archived" if kind else "main",
                rank=(_ARCHIVE_RANK if kind else 0, descending(stamp) + ("z" if packed else "")),
                variant=f"{kind}.{stamp}" if kind else "",
                title=title,
                growing=not kind and not packed,
            ).marked(title, key)
        )


def descending(stamp: str) -> str:
    """A time stamp such that later ones come first."""
    return "".join(chr(ord("9") - ord(digit) + ord("0")) if digit.isdigit() else digit for digit in stamp)


def _registry(path: str) -> dict[str, tuple[str, str]]:
    """Key and title of sessions, from OpenClaw's sessions.json."""
    known = {}
    for key, value in values.record(read_json(Path(path), 64 << 20)).items():
        about = values.record(value)
        session = values.text(about.get("sessionId"))
        if session:
            known[session] = (key, values.text(about.get("label")) or values.text(about.get("displayName")))
    return known


def _cold(folder: str, into: Listing) -> None:
    for entry in into.entries(DIALECT, folder, optional=True):
        if entry.name.endswith(".jsonl.zst") and (stat := into.file_stat(entry)) is not None:
            session = entry.name.partition(".")[0]
            into.found.append(
                Found(DIALECT, session, entry.path, stat, kind="archived", rank=(9, entry.name), growing=False)
            )


def archived(path: str, into: Listing) -> Found | None:
    """A file that lies anywhere, if its name is that of an archive."""
    named_as = archive_name(path.rpartition("/")[2])
    stat = path_stat(path)
    if named_as is None or not named_as[1] or stat is None:
        return None
    session, kind, stamp = named_as
    rank = (_ARCHIVE_RANK, descending(stamp))
    variant = f"{kind}.{stamp}"
    return Found(DIALECT, session, path, stat, kind="archived", rank=rank, variant=variant, growing=False)
