"""Single records of one session, read again by their line: for raw panes, whole texts, and texts that are not held."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from core.errors import Undecodable
from core.sources.transcripts import openclaw, openclaw_store
from core.sources.transcripts.found import Found
from core.sources.transcripts.model import ROLES, Message
from core.sources.transcripts.parser import read_lines
from core.sources.transcripts.reading import PARSERS
from core.sources.transcripts.records import Line, cut_base64, lines_of, unpacked
from core.sources.transcripts.stores import Store, read_store
from core.text.lines import LineSource

_BLOCK = 1 << 20
STORED_BYTES = 1 << 20
"""What reading an event of a store is taken to cost."""


class Picker:
    """One session's file or store. A file that is deleted or replaced meanwhile can still be read once it is open.

    Safe to use from several threads.
    """

    def __init__(self, found: Found, *, can_pick: bool = True) -> None:
        self._found = found
        self._may_pick = can_pick
        self._lines: LineSource | None = None
        self._lock = threading.Lock()

    @property
    def can_pick(self) -> bool:
        """Whether a message can be had from its lines alone, without reading what stands before them."""
        found = self._found
        if not self._may_pick or found.dialect == "gemini" or found.dialect not in PARSERS:
            return False
        return found.dialect == openclaw.DIALECT if found.within else self._is_plain

    @property
    def _is_plain(self) -> bool:
        return not self._found.within and not self._found.absolute.endswith((".zst", ".json"))

    def cost(self, lines: Iterable[int]) -> int:
        """Bytes that `messages` would read of some lines; -1 where that is not known without opening the file."""
        if not self._is_plain:
            return STORED_BYTES
        source = self._lines
        return -1 if source is None else sum(source.line_bytes(line) for line in lines)

    def line_count(self) -> int:
        """How many lines a plain file has, or a store's session by its last event. Raises OSError, Undecodable."""
        return self._source().line_count if self._is_plain else self._found.stat.inode + 1

    def around(self, line: int, *, most_lines: int, most_bytes: int) -> list[Message]:
        """The messages on and around a line, as far as these lines tell them. Raises OSError, Undecodable."""
        if not self._is_plain:
            return self._parsed(self._events(max(1, line - most_lines // 4), most_lines))
        source = self._source()
        first = last = max(1, min(line, source.line_count))
        room = most_bytes - source.line_bytes(first)
        spare = most_bytes // 3
        while last < source.line_count and last - first < 3 * most_lines // 4:
            size = source.line_bytes(last + 1)
            if size > room - spare:
                break
            last, room = last + 1, room - size
        while first > 1 and last - first < most_lines:
            size = source.line_bytes(first - 1)
            if size > room:
                break
            first, room = first - 1, room - size
        return self._parsed(self._file_lines(range(first, last + 1)))

    def messages(self, line: int) -> list[Message]:
        """The messages that one line tells by itself. Raises OSError, Undecodable."""
        lines = self._file_lines((line,)) if self._is_plain else self._events(line, 1)
        return self._parsed(lines)

    def record(self, line: int, most: int) -> tuple[bytes, bool]:
        """The bytes of a line with long base64 cut out, and whether they are all of it; b"" beyond the end.

        Of a line of a plain file with more than `most` bytes only the beginning. Raises OSError, Undecodable.
        """
        if self._found.within:
            events = self._events(line, 1)
            return (events[0].data, events[0].whole) if events else (b"", True)
        if not self._is_plain and self._found.absolute.endswith(".zst"):
            with unpacked(self._found.absolute) as read:
                for found in islice(lines_of(read), line - 1, line):
                    return found.data, found.whole
            return b"", True
        read = self._source().line_reader(line)
        pieces: list[bytes] = []
        held = 0
        while block := read(_BLOCK):
            pieces.append(cut_base64(block))
            held += len(pieces[-1])
            if held > most:
                return b"".join(pieces), False
        return b"".join(pieces).removesuffix(b"\n"), True

    def close(self) -> None:
        """Let the file go; it is opened again when something is asked for."""
        with self._lock:
            source, self._lines = self._lines, None
        if source is not None:
            source.close()

    def _parsed(self, lines: Iterable[Line]) -> list[Message]:
        return read_lines(PARSERS[self._found.dialect](ROLES), lines, growing=False).messages

    def _file_lines(self, numbers: Iterable[int]) -> Iterator[Line]:
        source = self._source()
        for number in numbers:
            for line in lines_of(source.line_reader(number)):
                yield line._replace(number=number, ended=True)

    def _events(self, first: int, count: int) -> list[Line]:
        within = self._found.within

        def read(store: Store) -> list[Line]:
            return list(openclaw_store.read_events(store, within, first, count))

        return read_store(self._found.absolute, read)

    def _source(self) -> LineSource:
        with self._lock:
            known = self._lines
            if known is None or known.changed():
                try:
                    self._lines = LineSource.open(Path(self._found.absolute))
                except (OSError, Undecodable):
                    if known is None:
                        raise
                    return known
                if known is not None:
                    known.close()
            assert self._lines is not None
            return self._lines
