"""Reads one session that was found, whole or from where the last reading ended, and gives it in the normal form."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from core.records import record
from core.sources.scanner import stat_key
from core.sources.transcripts import aider, claude_code, gemini, openclaw_store, opencode
from core.sources.transcripts.claude_code import ClaudeCodeParser
from core.sources.transcripts.codex import CodexParser
from core.sources.transcripts.found import Found, Origin, path_stat
from core.sources.transcripts.gemini import GeminiParser
from core.sources.transcripts.model import ROLES, SPOKEN, Checkpoint, Facts, Message, Role, Session
from core.sources.transcripts.openclaw import OpenClawParser
from core.sources.transcripts.parser import Keep, Position, Reading, RecordParser, Restart, read_lines
from core.sources.transcripts.pi import PiParser, session_id
from core.sources.transcripts.records import lines_of, opened, unpacked
from core.sources.transcripts.stores import read_store
from core.types import StatKey

PARSERS: dict[str, type[RecordParser]] = {
    parser.dialect: parser for parser in (OpenClawParser, PiParser, ClaudeCodeParser, CodexParser, GeminiParser)
}
"""The parsers of dialects that write one record on a line."""

_ANCHOR_BYTES = 4096
_MOST_OBJECT_BYTES = 64 << 20
_ORIGINS_KEPT = 8


@record(frozen=True, slots=True)
class Anchor:
    """What must still stand in a file for reading to go on: its inode, its first bytes and those before a point."""

    inode: int
    head: str
    tail: str

    @classmethod
    def of(cls, file: BinaryIO, offset: int) -> Anchor:
        """The anchor of an open file at a byte."""
        descriptor = file.fileno()
        first = os.pread(descriptor, min(_ANCHOR_BYTES, offset), 0)
        start = max(0, offset - _ANCHOR_BYTES)
        last = os.pread(descriptor, offset - start, start)
        return cls(os.fstat(descriptor).st_ino, _digest(first), _digest(last))


@record(frozen=True, slots=True)
class ResumePoint:
    """Where an earlier reading ended and what then stood in the file; a store needs no anchor."""

    checkpoint: Checkpoint
    anchor: Anchor | None


@record(frozen=True, slots=True)
class SessionReading:
    """A session as it was read: `stat` from before the reading; `point` is where the next reading can begin."""

    found: Found
    reading: Reading
    stat: StatKey
    point: ResumePoint | None


class SessionSource:
    """Reads sessions. Remembers what the last few origins said, for those that repeat it; not for several threads."""

    def __init__(self) -> None:
        self._origins: OrderedDict[tuple[Origin, str, StatKey | None], _Said] = OrderedDict()

    def read(
        self,
        found: Found,
        wanted: Iterable[Role] = SPOKEN,
        *,
        resume: ResumePoint | None = None,
        is_old: bool = False,
        keep: Keep | None = None,
        most: int | None = None,
        cancel: threading.Event | None = None,
    ) -> SessionReading:
        """Read a session, from `resume` on where the file still is the one it was. Raises OSError, SyncCancelled.

        Texts of roles that are not `wanted` are left out; of the others as much is held as `keep` says. A file that
        `is_old` may end at `resume`; another one that is no longer is read from the start. Of a growing file some
        `most` bytes are read, where it can be read on from there.
        """
        wanted = frozenset(wanted)
        if found.within:
            return self._read_within(found, wanted, resume, keep)
        if found.dialect == "opencode":
            return SessionReading(found, opencode.read_legacy(Path(found.absolute), wanted), found.stat, None)
        if found.absolute.endswith(".json"):
            return _read_object(found, wanted)
        parser_class = PARSERS[found.dialect]
        if found.growing:
            return self._read_growing(found, parser_class, wanted, resume, is_old, keep, most, cancel)
        with opened(found.absolute) as file:
            stat = _stat_of(file, found)
        with unpacked(found.absolute) as read:
            parser = parser_class(wanted, self._repeats(found))
            parser.keep = keep
            reading = read_lines(parser, lines_of(read), growing=False, cancel=cancel)
        return SessionReading(found, self._without_copies(found, reading, wanted), stat, None)

    def _read_growing(
        self,
        found: Found,
        parser_class: type[RecordParser],
        wanted: frozenset[Role],
        resume: ResumePoint | None,
        is_old: bool,
        keep: Keep | None,
        most: int | None,
        cancel: threading.Event | None,
    ) -> SessionReading:
        def from_start(most: int | None) -> Reading:
            parser = parser_class(wanted, repeats)
            parser.keep = keep
            file.seek(0)
            reading = read_lines(parser, lines_of(file.read), most=most, cancel=cancel)
            return self._without_copies(found, reading, wanted)

        with opened(found.absolute) as file:
            stat = _stat_of(file, found)
            reading = None
            repeats = self._repeats(found)
            if resume is not None and resume.anchor is not None:
                point = resume.checkpoint
                may_go_on = stat.size > point.offset or (is_old and stat.size == point.offset)
                if may_go_on and Anchor.of(file, point.offset) == resume.anchor:
                    parser = parser_class(wanted, repeats)
                    parser.keep = keep
                    parser.resume(point)
                    file.seek(point.offset)
                    lines = lines_of(file.read, offset=point.offset, number=point.line)
                    try:
                        start = Position(point.offset, point.line)
                        reading = read_lines(parser, lines, start=start, most=most, cancel=cancel)
                    except Restart:
                        most = None  # in parts it would come to the same record again
            if reading is None:
                reading = from_start(most)
                if reading.is_partial and reading.checkpoint is None:
                    reading = from_start(None)
            if reading.is_partial and reading.end >= stat.size:
                reading = replace(reading, is_partial=False)
            checkpoint = reading.checkpoint
            point_now = None
            if checkpoint is not None:
                point_now = ResumePoint(checkpoint, Anchor.of(file, checkpoint.offset))
        return SessionReading(found, reading, stat, point_now)

    def _read_within(
        self, found: Found, wanted: frozenset[Role], resume: ResumePoint | None, keep: Keep | None
    ) -> SessionReading:
        if found.dialect == "aider":
            start, end, line = (int(number) for number in found.within.split(":"))
            with opened(found.absolute) as file:
                data = os.pread(file.fileno(), end - start, start)
            return SessionReading(found, aider.read_chat(data, line, wanted), found.stat, None)
        if found.dialect == "opencode":
            reading = read_store(found.absolute, lambda store: opencode.read_session(store, found.within, wanted))
            return SessionReading(found, reading, found.stat, None)
        checkpoint = resume.checkpoint if resume is not None else None
        reading = read_store(
            found.absolute,
            lambda store: openclaw_store.read_session(store, found.within, wanted, checkpoint=checkpoint, keep=keep),
        )
        point = ResumePoint(reading.checkpoint, None) if reading.checkpoint is not None else None
        return SessionReading(found, reading, found.stat, point)

    def _repeats(self, found: Found) -> frozenset[str]:
        """Keys of the messages that stand in the session's origins."""
        if not found.origins or found.dialect == "codex":
            return frozenset()
        return frozenset().union(*(self._said(origin, found.dialect).keys for origin in found.origins))

    def _without_copies(self, found: Found, reading: Reading, wanted: frozenset[Role]) -> Reading:
        """Codex has no ids: a fork begins with what its origin said."""
        if not found.origins or found.dialect != "codex":
            return reading
        said = self._said(found.origins[0], found.dialect).sequence
        mine = [_spoken_key(message) for message in reading.messages]
        copies = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, said, strict=False)))
        if not copies:
            return reading
        own = [message.text for message in reading.messages[copies:] if message.role == "user"]
        _forget_copies(reading.facts, reading.messages[:copies], own)
        checkpoint = reading.checkpoint
        if checkpoint is not None:
            # While all is a copy, the next message may be one too.
            kept = checkpoint.messages - copies
            _forget_copies(checkpoint.facts, reading.messages[:copies], own)
            checkpoint = replace(checkpoint, messages=kept) if kept > 0 else None
        return replace(reading, messages=reading.messages[copies:], checkpoint=checkpoint)

    def _said(self, origin: Origin, dialect: str) -> _Said:
        path, within = origin
        key = (origin, dialect, path_stat(path))
        known = self._origins.get(key)
        if known is None:
            known = _Said.of(path, within, dialect)
            self._origins[key] = known
            while len(self._origins) > _ORIGINS_KEPT:
                self._origins.popitem(last=False)
        return known


@record(frozen=True, slots=True)
class _Said:
    """What an origin holds: keys of its messages, and for Codex their sequence."""

    keys: frozenset[str]
    sequence: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, path: str, within: str, dialect: str) -> _Said:
        """Raises OSError."""
        parser = PARSERS[dialect](SPOKEN)
        parser.keeps_keys = True
        if within:
            events = read_store(path, lambda store: list(openclaw_store.read_events(store, within, 1, 1 << 40)))
            read_lines(parser, events, growing=False)
        else:
            with unpacked(path) as read:
                read_lines(parser, lines_of(read), growing=False)
        sequence = tuple(_spoken_key(message) for message in parser.messages) if dialect == "codex" else ()
        return cls(frozenset(parser.keys), sequence)


def _forget_copies(facts: Facts, copies: list[Message], own: list[str]) -> None:
    facts.repeated += len(copies)
    for message in copies:
        facts.counts[message.role] -= 1
    facts.titles.pop("first", None)
    if own:
        facts.note_title("first", own[0])


def _spoken_key(message: Message) -> tuple[str, str]:
    return message.role, message.text if message.role in SPOKEN else ""


def session_of(read: SessionReading) -> Session:
    """The normal form: what the records told, and where they are silent what the place of the file tells."""
    found, facts = read.found, read.reading.facts.copy()
    if found.title:
        facts.note_title("custom", found.title)
    if found.dialect == claude_code.DIALECT and found.kind == "subagent":
        facts.note_title("description", claude_code.description_of(found.absolute))
    title, source = facts.title()
    parent = found.parent or facts.parent
    if found.dialect in ("pi", "openclaw") and "/" in parent:
        parent = session_id(parent.rpartition("/")[2])
    kind = found.kind if found.kind != "main" else facts.kind
    if kind == "main" and found.variant:
        kind = "archived"
    return Session(
        dialect=found.dialect,
        id=facts.id if found.dialect != claude_code.DIALECT and facts.id else found.id,
        source=found.absolute,
        title=title,
        title_source=source,
        cwd=facts.cwd or found.cwd,
        model=facts.model,
        started=facts.started,
        ended=facts.ended,
        parent=parent if parent != found.id else "",
        kind=kind,
        messages=tuple(read.reading.messages),
        unknown=dict(sorted(facts.unknown.items())),
        bad_lines=tuple(facts.bad),
        bad_count=facts.bad_count,
        repeated=facts.repeated,
        lines=read.reading.lines,
        size=_size(read),
        counts={role: facts.counts[role] for role in ROLES if facts.counts.get(role)},
        pending=read.reading.pending,
    )


def _size(read: SessionReading) -> int:
    """Bytes of a session: of a growing file to its last line end, of rows their text."""
    if read.found.within:
        return read.stat.size if read.found.dialect == "aider" else read.reading.facts.size
    return read.reading.end if read.found.growing else read.stat.size


def read_file(
    dialect: str, path: str, wanted: Iterable[Role] = SPOKEN, *, cancel: threading.Event | None = None
) -> Session:
    """One transcript file by its path, whatever lies around it. Raises OSError, SyncCancelled."""
    stat = path_stat(path)
    if stat is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    name = path.rpartition("/")[2].partition(".jsonl")[0]
    found = Found(dialect, name, path, stat, growing=not path.endswith(".zst"))
    return session_of(SessionSource().read(found, wanted, cancel=cancel))


def _read_object(found: Found, wanted: frozenset[Role]) -> SessionReading:
    with opened(found.absolute) as file:
        stat = _stat_of(file, found)
        if stat.size > _MOST_OBJECT_BYTES:
            raise OSError(errno.EFBIG, "one JSON object of more than 64 MiB", found.absolute)
        data = b"".join(iter(lambda: file.read(1 << 20), b""))
    return SessionReading(found, gemini.read_object(data, wanted), stat, None)


def _stat_of(file: BinaryIO, found: Found) -> StatKey:
    """The stat key of the open file, marked as the found one is."""
    return stat_key(os.fstat(file.fileno()))._replace(device=found.stat.device)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
