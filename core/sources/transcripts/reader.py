"""Transcripts for people and tools, by the path under which they are indexed: whole for a screen, a range as text."""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from core.errors import Undecodable
from core.records import record
from core.sources.redaction import Redactor
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.found import Found, path_stat
from core.sources.transcripts.model import ROLES, SPOKEN, Facts, Message, Part, Role, cut_words
from core.sources.transcripts.parser import Keep, Reading, read_lines
from core.sources.transcripts.pick import Picker
from core.sources.transcripts.ranges import MOST_CHARACTERS, MOST_LINES, bounded, refused
from core.sources.transcripts.reading import PARSERS, ResumePoint, SessionReading, SessionSource, session_of
from core.sources.transcripts.records import Line, Read, cut_base64, lines_of
from core.sources.transcripts.render import message_lines, said_by_line
from core.sources.transcripts.said import SaidLines
from core.sources.transcripts.view import (
    HELD_CHARACTERS,
    LEAN_CHARACTERS,
    MARGIN,
    SAID_CHARACTERS,
    SHOWN_CHARACTERS,
    SessionView,
)
from core.text.lines import LineSource
from core.types import GetResult, StatKey

_SMALL_FILE = 8 << 20
_SMALL_STORE = 4000
"""Events of a store's session."""
_SAID_HELD = 32_000_000
"""Characters of all that was said in a transcript, after which only the beginnings of messages are read."""
_VIEWS_KEPT = 3
_HELD_WHEN_GROWN = 1_000_000
_PART_LINES = 240
_PART_BYTES = 2 << 20
_Marks = tuple[StatKey | None, StatKey | None]


@record(frozen=True, slots=True)
class _Kept:
    """A view with what lets it grow: its messages, and of them those before the point where reading can go on."""

    marks: _Marks
    found: Found
    view: SessionView
    messages: tuple[Message, ...]
    point: ResumePoint | None
    before: int


class SessionReader:
    """Reads sessions by the path under which they are indexed. May be shared by threads."""

    def __init__(self, finder: Finder, redact: Redactor, roles: Iterable[Role] = SPOKEN) -> None:
        self._finder = finder
        self._redact = redact
        self._roles = frozenset(roles)
        self._found: dict[str, tuple[Found, _Marks]] = {}
        self._views: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, path: str) -> Found:
        """Where a session lies. Raises FileNotFoundError."""
        found, marks = self._found.get(path, (None, None))
        if found is None or marks != _marks(found):
            found = self._finder.find(path)
            if found is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            self._found[path] = (found, _marks(found))
        return found

    def read_session(self, path: str, cancel: threading.Event | None = None) -> SessionView:
        """A session for showing; the same view as long as the file does not change. Blocks for large files.

        Of a file that was read before only what was added is read. Raises OSError, SyncCancelled.
        """
        found = self.find(path)
        marks = _marks(found)
        with self._lock:
            known = self._views.get(path)
        if known is None or known.marks != marks:
            known = self._read(found, marks, known, cancel)
            with self._lock:
                before = self._views.pop(path, None)
                self._views[path] = known
                gone = [] if before is None else [before]
                while len(self._views) > _VIEWS_KEPT:
                    gone.append(self._views.popitem(last=False)[1])
            for one in gone:
                one.view.close()
        return known.view

    def read_near(self, path: str, line: int, cancel: threading.Event | None = None) -> SessionView:
        """A session for showing at once: of a large one only the part around a physical line (`is_part`).

        A part does not tell which branches were left. Raises OSError, Undecodable, SyncCancelled.
        """
        found = self.find(path)
        with self._lock:
            known = self._views.get(path)
        picker = Picker(found)
        size = (path_stat(found.absolute) or found.stat).size
        is_large = size > _SMALL_FILE if not found.within else found.stat.size > _SMALL_STORE
        if (known is not None and known.marks == _marks(found)) or not is_large or not picker.can_pick:
            return self.read_session(path, cancel)
        messages = picker.around(line, most_lines=_PART_LINES, most_bytes=_PART_BYTES)
        keep = SHOWN_CHARACTERS + MARGIN
        messages = [
            message if len(message.text) <= keep else _without_text(message)
            for message in map(_always_active, messages)
        ]
        count = picker.line_count()
        reading = Reading(Facts(), [], None, count)
        session = session_of(SessionReading(found, reading, found.stat, None))
        return SessionView(
            found, session, messages, self._redact, lambda seq: "", picker=picker, is_part=True, line_count=count
        )

    def said_lines(self, path: str) -> LineSource:
        """What was said on each physical line of a session, masked, as one line of text each; "" where nothing was.

        Of a large file lines are read when they are asked for; branches that were left are then not told apart. Raises
        OSError.
        """
        found = self.find(path)
        size = (path_stat(found.absolute) or found.stat).size
        if size > _SMALL_FILE and not found.within and Picker(found).can_pick:
            try:
                return SaidLines.over(Path(found.absolute), lambda read: self._said_on(found, read))
            except Undecodable:
                pass  # read as records, which takes any bytes
        return LineSource.from_text("".join(f"{words}\n" for words in self.said_by_line(path)))

    def _said_on(self, found: Found, read: Read) -> str:
        """What one line tells by itself."""
        lines = (line._replace(ended=True) for line in lines_of(read))
        messages = read_lines(PARSERS[found.dialect](self._roles), lines, growing=False).messages
        most = SAID_CHARACTERS + MARGIN
        short = (_always_active(message) if len(message.text) <= most else _cut(message, most) for message in messages)
        return " ".join(said_by_line(short, self._redact, self._roles, SAID_CHARACTERS))

    def said_by_line(self, path: str) -> list[str]:
        """What was said on each physical line of a session, masked, as one line of text each; "" where nothing was.

        Raises OSError.
        """
        whole = replace(self.find(path), origins=())
        keep = Keep(SAID_CHARACTERS + MARGIN, _SAID_HELD, SHOWN_CHARACTERS + MARGIN)
        read = SessionSource().read(whole, self._roles, keep=keep)
        return said_by_line(read.reading.messages, self._redact, self._roles, SAID_CHARACTERS)

    def render_range(
        self,
        path: str,
        from_line: int | None = None,
        lines: int | None = None,
        *,
        max_characters: int = MOST_CHARACTERS,
    ) -> GetResult:
        """What was said on the physical lines from `from_line` (default 1), `lines` of them or 120, as rendered text.

        `lines` of the result counts physical lines; `next_from` is where more follows. Raises OSError, Undecodable.
        """
        if (refusal := refused(path, from_line, lines)) is not None:
            return refusal
        first = from_line or 1
        last = first + (lines or MOST_LINES) - 1
        found = replace(self.find(path), origins=())
        count, messages = self._messages_between(found, first, last)
        rendered = [
            (line, text)
            for message in messages
            if message.active and message.role in self._roles
            for line, text in message_lines(message, self._redact)
            if first <= line <= last
        ]
        return bounded(path, rendered, first, min(last, count), count, max_characters)

    def _read(self, found: Found, marks: _Marks, known: _Kept | None, cancel: threading.Event | None) -> _Kept:
        """A view of a session as it is now, from where an earlier one ended if that is possible."""
        whole = replace(found, origins=())  # a fork is shown with what it repeats
        is_same = known is not None and (known.found.absolute, known.found.within) == (found.absolute, found.within)
        point = known.point if known is not None and is_same else None
        keep = Keep(
            SHOWN_CHARACTERS + MARGIN, HELD_CHARACTERS if point is None else _HELD_WHEN_GROWN, self._lean(found)
        )
        read = SessionSource().read(whole, ROLES, resume=point, keep=keep, cancel=cancel)
        before: tuple[Message, ...] = ()
        if known is not None and read.reading.resumed:
            before = known.messages[: known.before]
        messages = (*before, *read.reading.messages)
        read.reading.messages.clear()
        view = SessionView(found, session_of(read), messages, self._redact, lambda seq: self._whole_text(found, seq))
        checkpoint = read.point.checkpoint if read.point is not None else None
        ahead = checkpoint.messages if checkpoint is not None else 0
        return _Kept(marks, found, view, messages, read.point, len(before) + ahead)

    def _lean(self, found: Found) -> int:
        return 0 if Picker(found).can_pick else LEAN_CHARACTERS

    def _messages_between(self, found: Found, first: int, last: int) -> tuple[int, list[Message]]:
        """How many lines a session has, and the messages on some of them.

        Of a large file only these lines are read: branches that were left are then not told apart.
        """
        stat = path_stat(found.absolute)
        is_large = found.growing and not found.within and stat is not None and stat.size > _SMALL_FILE
        if not is_large or found.dialect not in PARSERS:
            read = SessionSource().read(found, self._roles)
            return read.reading.lines, read.reading.messages
        with LineSource.open(Path(found.absolute)) as source:
            parser = PARSERS[found.dialect](self._roles)
            reading = read_lines(parser, _lines_between(source, first, last), growing=False)
            for number, message in enumerate(reading.messages):
                reading.messages[number] = _always_active(message)
            return source.line_count, reading.messages

    def _whole_text(self, found: Found, seq: int) -> str:
        """The text of one message of a session that can only be read whole."""
        messages = SessionSource().read(replace(found, origins=()), ROLES).reading.messages
        return messages[seq].text if seq < len(messages) else ""


def _marks(found: Found) -> _Marks:
    """What tells that a session may have changed: its file, and the log of a store."""
    return path_stat(found.absolute), path_stat(f"{found.absolute}-wal") if found.within else None


def _lines_between(source: LineSource, first: int, last: int) -> Iterator[Line]:
    for number in range(max(1, first), min(last, source.line_count) + 1):
        data = cut_base64(source.line(number).encode("utf-8", "replace"))
        yield Line(number, number, data, True, True)


def _always_active(message: Message) -> Message:
    return message if message.active else replace(message, active=True)


def _cut(message: Message, most: int) -> Message:
    return replace(message, parts=(Part(cut_words(message.text, most), message.line_start),), active=True)


def _without_text(message: Message) -> Message:
    """A long message, its text to be read again."""
    return replace(message, parts=tuple(part._replace(text="") for part in message.parts))
