"""Transcripts for people and tools, by the path under which they are indexed: whole for a screen, a range as text."""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from core.sources.redaction import Redactor
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.found import Found, path_stat
from core.sources.transcripts.model import ROLES, SPOKEN, Message, Role
from core.sources.transcripts.parser import read_lines
from core.sources.transcripts.ranges import MOST_CHARACTERS, MOST_LINES, bounded, refused
from core.sources.transcripts.reading import PARSERS, SessionSource, session_of
from core.sources.transcripts.records import Line, cut_base64
from core.sources.transcripts.render import message_lines
from core.sources.transcripts.view import MARGIN, SHOWN_CHARACTERS, SessionView
from core.text.lines import LineSource
from core.types import GetResult, StatKey

_SMALL_FILE = 8 << 20
_VIEWS_KEPT = 4
_Marks = tuple[StatKey | None, StatKey | None]


class SessionReader:
    """Reads sessions by the path under which they are indexed. May be shared by threads."""

    def __init__(self, finder: Finder, redact: Redactor, roles: Iterable[Role] = SPOKEN) -> None:
        self._finder = finder
        self._redact = redact
        self._roles = frozenset(roles)
        self._found: dict[str, tuple[Found, _Marks]] = {}
        self._views: OrderedDict[tuple[str, _Marks], SessionView] = OrderedDict()
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

        Raises OSError, SyncCancelled.
        """
        found = self.find(path)
        key = (path, _marks(found))
        with self._lock:
            view = self._views.get(key)
        if view is None:
            view = self._view(found, cancel)
            with self._lock:
                self._views[key] = view
                while len(self._views) > _VIEWS_KEPT:
                    self._views.popitem(last=False)[1].close()
        return view

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

    def _view(self, found: Found, cancel: threading.Event | None) -> SessionView:
        whole = replace(found, origins=())  # a fork is shown with what it repeats
        read = SessionSource().read(whole, ROLES, most=SHOWN_CHARACTERS + MARGIN, cancel=cancel)
        messages = tuple(read.reading.messages)
        read.reading.messages.clear()
        return SessionView(found, session_of(read), messages, self._redact, lambda one: self._whole_text(found, one))

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

    def _whole_text(self, found: Found, wanted: Message) -> str:
        if found.dialect in PARSERS and found.growing and not found.within:
            with LineSource.open(Path(found.absolute)) as source:
                parser = PARSERS[found.dialect](ROLES)
                lines = _lines_between(source, wanted.line_start, wanted.line_end)
                candidates = read_lines(parser, lines, growing=False).messages
        else:
            candidates = SessionSource().read(found, ROLES).reading.messages
        shown = wanted.text[: SHOWN_CHARACTERS // 2]
        for message in candidates:
            if message.role == wanted.role and message.text.startswith(shown):
                return message.text
        return wanted.text


def _marks(found: Found) -> _Marks:
    """What tells that a session may have changed: its file, and the log of a store."""
    return path_stat(found.absolute), path_stat(f"{found.absolute}-wal") if found.within else None


def _lines_between(source: LineSource, first: int, last: int) -> Iterator[Line]:
    for number in range(max(1, first), min(last, source.line_count) + 1):
        data = cut_base64(source.line(number).encode("utf-8", "replace"))
        yield Line(number, number, data, True, True)


def _always_active(message: Message) -> Message:
    return replace(message, active=True)
