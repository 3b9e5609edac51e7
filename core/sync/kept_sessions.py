"""Transcripts that are gone, from what the index kept of them: for screens and previews."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from itertools import groupby

from core.sources.redaction import Redactor
from core.sources.transcripts.found import Found
from core.sources.transcripts.model import Kind, Message, Part, Role, Session
from core.sources.transcripts.pick import Picker
from core.sources.transcripts.ranges import StoredLine, stored_lines
from core.sources.transcripts.render import LABELS, WRAP, said_by_line
from core.sources.transcripts.view import RAW_CHARACTERS, SAID_CHARACTERS, SessionView
from core.store.document_reader import StoredDocument
from core.sync.growth import KeptSession, details_of

_ROLES: dict[str, Role] = {label: role for role, label in LABELS.items()}
_KINDS: dict[str, Kind] = {"subagent": "subagent", "archived": "archived"}


class KeptView(SessionView):
    """What was said in a session whose transcript is gone; of its records none are left."""

    def raw(self, line: int, most: int = RAW_CHARACTERS) -> str:
        """Raises FileNotFoundError."""
        raise FileNotFoundError(errno.ENOENT, "the transcript is gone; only what was said is kept", self.session.source)


def kept_view(kept: KeptSession, redact: Redactor) -> KeptView:
    """The messages that the index kept, each on the physical line where it stood."""
    document = kept.document
    name = document.path.rpartition("/")[2].removesuffix(".jsonl")
    found = Found(document.dialect or "", name, document.absolute, document.stat)
    messages = tuple(_messages(stored_lines(kept.chunks)))
    picker = Picker(found, can_pick=False)
    return KeptView(found, _session(document), messages, redact, lambda seq: messages[seq].text, picker=picker)


def kept_by_line(kept: KeptSession, redact: Redactor, roles: Iterable[Role]) -> list[str]:
    """What the index kept of these roles, on each physical line as one line of text."""
    return said_by_line(_messages(stored_lines(kept.chunks)), redact, roles, SAID_CHARACTERS)


def _messages(lines: Iterable[StoredLine]) -> Iterator[Message]:
    """Messages from rendered lines: those that were wrapped are one again."""
    groups = groupby(map(_spoken, lines), key=lambda one: (one[0].line, one[1]))
    for seq, ((number, role), group) in enumerate(groups):
        text, last, time = "", "", None
        for stored, _, words in group:
            # Lines were wrapped at a blank, and cut only within a word that has none.
            text += words if not text or (len(last) >= WRAP and " " not in last) else f" {words}"
            last, time = words, stored.time
        yield Message(role, (Part(text, number),), seq, time)


def _spoken(stored: StoredLine) -> tuple[StoredLine, Role, str]:
    label, mark, words = stored.text.partition(": ")
    role = _ROLES.get(label) if mark else None
    return (stored, role, words) if role is not None else (stored, "assistant", stored.text)


def _session(document: StoredDocument) -> Session:
    told = details_of(document.details)
    bad = told.get("bad_lines")
    return Session(
        dialect=document.dialect or "",
        id=_text(told.get("session")),
        source=document.absolute,
        title=document.title or "",
        title_source=_text(told.get("title_source")),
        cwd=_text(told.get("cwd")),
        model=_text(told.get("model")),
        started=_number(told.get("started")),
        ended=_number(told.get("ended")),
        parent=_text(told.get("parent")),
        kind=_KINDS.get(_text(told.get("kind")), "main"),
        messages=(),
        unknown=_counts(told.get("unknown")),
        bad_lines=(),
        bad_count=(_number(bad.get("count")) or 0) if isinstance(bad, dict) else 0,
        repeated=_number(told.get("repeated")) or 0,
        lines=document.lines,
        size=_number(told.get("bytes")) or document.stat.size,
        counts=_counts(told.get("counts")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {str(name): count for name, count in value.items() if isinstance(count, int)}
