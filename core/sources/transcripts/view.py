"""One session as a screen shows it: its messages, the whole of one, its raw records; always masked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from core.sources.redaction import Redactor
from core.sources.transcripts import openclaw_store
from core.sources.transcripts.found import Found
from core.sources.transcripts.model import SPOKEN, Message, Role, Session, cut_words
from core.sources.transcripts.records import cut_base64, lines_of, parse_record, unpacked
from core.sources.transcripts.render import LABELS, said_words
from core.sources.transcripts.stores import read_store
from core.text.lines import LineSource, scrub

SHOWN_CHARACTERS = 4000
"""Of a message so much is held ready; the whole is read when it is asked for."""
MARGIN = 600
"""So much more is kept where text is cut before it is masked, so that no half of a secret is shown."""
WHOLE_CHARACTERS = 1_000_000
RAW_CHARACTERS = 20_000
_PRETTY_BYTES = 1 << 20
_MASKED_KEPT = 512


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """A message as it is shown. `seq` counts the messages of the view from 0, `ts` is epoch ms.

    `cut` says that `text` is only the beginning; `SessionView.whole` has all of it. Lines are physical and 1-based, or
    of a store the sequence number + 1.
    """

    seq: int
    role: Role
    text: str
    ts: int | None
    line_start: int
    line_end: int
    name: str = ""
    active: bool = True
    cut: bool = False


class SessionView:
    """One session, read once; texts are masked when they are asked for.

    `session` has the facts (its `messages` are empty here). Safe to read from several threads.
    """

    def __init__(
        self,
        found: Found,
        session: Session,
        messages: Sequence[Message],
        redact: Redactor,
        read_whole: Callable[[Message], str],
    ) -> None:
        self.path = found.path
        self.session = session
        self._found = found
        self._messages = messages
        self._redact = redact
        self._read_whole = read_whole
        self._masked: OrderedDict[int, SessionMessage] = OrderedDict()
        self._lines: LineSource | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many messages there are, of all roles and branches."""
        return len(self._messages)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The role of each message, for filters."""
        return tuple(message.role for message in self._messages)

    def message(self, seq: int) -> SessionMessage:
        """One message. Raises IndexError."""
        with self._lock:
            known = self._masked.get(seq)
            if known is None:
                known = self._shown(seq)
                self._masked[seq] = known
                while len(self._masked) > _MASKED_KEPT:
                    self._masked.popitem(last=False)
            return known

    def messages(self, start: int = 0, count: int | None = None) -> list[SessionMessage]:
        """`count` messages from `start` (0-based), or all."""
        end = len(self._messages) if count is None else min(len(self._messages), start + count)
        return [self.message(seq) for seq in range(max(0, start), end)]

    def by_line(self, roles: Iterable[Role] = SPOKEN) -> list[str]:
        """What these roles said on each physical line, masked, as one line of text each; "" where they said nothing.

        A message stands on the line where it begins; one that is `cut` ends with `…`. Left branches are left out.
        """
        wanted = frozenset(roles)
        said: list[str] = [""] * max((message.line_end for message in self._messages), default=0)
        for message in self._messages:
            if message.active and message.role in wanted:
                words = said_words(message.text, self._redact)[:SHOWN_CHARACTERS]
                more = " …" if len(message.text) >= SHOWN_CHARACTERS else ""
                before = said[message.line_start - 1]
                text = f"{LABELS[message.role]}: {words}{more}"
                said[message.line_start - 1] = f"{before} {text}" if before else text
        return said

    def at_line(self, line: int) -> int | None:
        """The message that stands on a physical line, what was said first; else the next one, else the last."""
        best: int | None = None
        for seq, message in enumerate(self._messages):
            if message.line_start <= line <= message.line_end:
                if message.role in SPOKEN:
                    return seq
                best = seq if best is None else best
            elif message.line_start > line:
                return seq if best is None else best
        return best if best is not None or not self._messages else len(self._messages) - 1

    def whole(self, seq: int) -> str:
        """The whole text of a message, masked, up to a million characters. Raises IndexError, OSError."""
        message = self._messages[seq]
        if len(message.text) < SHOWN_CHARACTERS:
            return self.message(seq).text
        return scrub(self._redact(cut_words(self._read_whole(message), WHOLE_CHARACTERS)))

    def raw(self, line: int, most: int = RAW_CHARACTERS) -> str:
        """The record on a line, indented where it is JSON, masked and cut to `most` characters; "" beyond the end.

        Raises OSError, Undecodable.
        """
        data, whole = self._raw_bytes(line, most)
        text = data.decode("utf-8", "replace")
        if whole and len(data) <= _PRETTY_BYTES:
            record = parse_record(data)
            if isinstance(record, dict):
                text = orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
        masked = scrub(self._redact(cut_words(text, most + MARGIN)))
        return masked if len(masked) <= most else f"{cut_words(masked, most)} …"

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            if self._lines is not None:
                self._lines.close()
                self._lines = None

    def _raw_bytes(self, line: int, most: int) -> tuple[bytes, bool]:
        """The bytes of a line, long base64 cut out, and whether that is all of it."""
        if self._found.within and self._found.dialect == "openclaw":
            within = self._found.within
            events = read_store(
                self._found.absolute, lambda store: list(openclaw_store.read_events(store, within, line, 1))
            )
            return (events[0].data, events[0].whole) if events else (b"", True)
        if self._found.within and self._found.dialect == "opencode":
            return self._as_record(line), True
        if self._found.absolute.endswith(".zst"):
            with unpacked(self._found.absolute) as read:
                for found in islice(lines_of(read), line - 1, line):
                    return found.data, found.whole
            return b"", True
        source = self._line_source()
        if source.line_bytes(line) <= 16 * _PRETTY_BYTES:
            return cut_base64(source.line(line).encode("utf-8", "replace")), True
        return source.line(line, width=most + MARGIN).encode("utf-8", "replace"), False

    def _as_record(self, line: int) -> bytes:
        """What is known of a message whose record is spread over rows."""
        said = [
            {"role": message.role, "id": message.mid, "name": message.name, "text": message.text}
            for message in self._messages
            if message.line_start == line
        ]
        return orjson.dumps({"messages": said}) if said else b""

    def _line_source(self) -> LineSource:
        with self._lock:
            if self._lines is None or self._lines.changed():
                if self._lines is not None:
                    self._lines.close()
                self._lines = LineSource.open(Path(self._found.absolute))
            return self._lines

    def _shown(self, seq: int) -> SessionMessage:
        message = self._messages[seq]
        text = message.text
        cut = len(text) >= SHOWN_CHARACTERS
        masked = scrub(self._redact(text))
        return SessionMessage(
            seq,
            message.role,
            cut_words(masked, SHOWN_CHARACTERS),
            message.ts,
            message.line_start,
            message.line_end,
            message.name,
            message.active,
            cut,
        )
