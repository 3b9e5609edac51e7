"""One session as a screen shows it: its messages, the whole of one, its raw records; always masked."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import orjson

from core.records import record
from core.sources.redaction import Redactor
from core.sources.transcripts.found import Found, path_stat
from core.sources.transcripts.model import SPOKEN, Message, Role, Session, cut_words
from core.sources.transcripts.pick import Picker
from core.sources.transcripts.records import BASE64_MARK, parse_record
from core.text.lines import scrub

SHOWN_CHARACTERS = 4000
"""Of a message so much is shown at first; the whole is read when it is asked for."""
SAID_CHARACTERS = 200_000
"""Of a message so much stands on its line where a transcript is read by lines."""
MARGIN = 600
"""So much more is kept where text is cut before it is masked, so that no half of a secret is shown."""
HELD_CHARACTERS = 12_000_000
"""Of all messages so much is held; after that a text is read again from its line when it is shown."""
LEAN_CHARACTERS = MARGIN + 200
"""What is held of each text after that where single lines cannot be read again."""
WHOLE_CHARACTERS = 1_000_000
RAW_CHARACTERS = 20_000
_PRETTY_BYTES = 1 << 20
_MARKS = re.compile(rf"(?:{re.escape(BASE64_MARK)}[A-Za-z0-9+/=_-]*)+")
_MASKED_KEPT = 512


@record(frozen=True, slots=True)
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
    """One session, or a part of a large one; texts are masked when they are asked for.

    `session` has the facts (its `messages` are empty here). A view never changes: when the file does (`is_current`), a
    new one is asked for. Safe to read from several threads.
    """

    def __init__(
        self,
        found: Found,
        session: Session,
        messages: Sequence[Message],
        redact: Redactor,
        read_again: Callable[[int], str],
        *,
        picker: Picker | None = None,
        is_part: bool = False,
        line_count: int = 0,
    ) -> None:
        self.path = found.path
        self.session = session
        self.is_part = is_part
        self.line_count = line_count or session.lines
        self.roles: tuple[Role, ...] = tuple(message.role for message in messages)
        """The role of each message, for filters."""
        self._found = found
        self._stats = _stats(found)
        self._messages = messages
        self._redact = redact
        self._read_again = read_again
        self._picker = picker or Picker(found)
        self._lean_from = _lean_from(messages) if not self._picker.can_pick else len(messages)
        self._starts = [message.line_start for message in messages]
        self._ends = [message.line_end for message in messages]
        self._masked: OrderedDict[int, SessionMessage] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many messages there are, of all roles and branches."""
        return len(self._messages)

    @property
    def is_current(self) -> bool:
        """Whether the file or store is as it was when it was read; looks at no more than its stat."""
        return _stats(self._found) == self._stats

    @property
    def is_gone(self) -> bool:
        """Whether there is no such file any more."""
        return path_stat(self._found.absolute) is None

    def message(self, seq: int) -> SessionMessage:
        """One message; reads its lines again where its text is not held. Raises IndexError, OSError, Undecodable."""
        with self._lock:
            known = self._masked.get(seq)
            if known is not None:
                self._masked.move_to_end(seq)
                return known
        known = self._shown(seq)
        with self._lock:
            self._masked[seq] = known
            while len(self._masked) > _MASKED_KEPT:
                self._masked.popitem(last=False)
        return known

    def messages(self, start: int = 0, count: int | None = None) -> list[SessionMessage]:
        """`count` messages from `start` (0-based), or all."""
        end = len(self._messages) if count is None else min(len(self._messages), start + count)
        return [self.message(seq) for seq in range(max(0, start), end)]

    def cost(self, seq: int) -> int:
        """Bytes that `message` would read now, for callers that must not wait; -1 if that is not known yet."""
        with self._lock:
            if seq in self._masked:
                return 0
        message = self._messages[seq]
        if all(part.text for part in message.parts) or not self._picker.can_pick:
            return 0
        return self._picker.cost({part.line for part in message.parts})

    def place(self, seq: int) -> tuple[int, int]:
        """The physical lines of a message, first and last, without reading it. Raises IndexError."""
        return self._starts[seq], self._ends[seq]

    def lines_of(self, seq: int) -> tuple[int, ...]:
        """The physical lines whose records make up a message, in order. Raises IndexError."""
        return tuple(dict.fromkeys(part.line for part in self._messages[seq].parts))

    def moment(self, seq: int) -> int | None:
        """When a message was said, in epoch ms, without reading it. Raises IndexError."""
        return self._messages[seq].ts

    def is_active(self, seq: int) -> bool:
        """Whether a message is on the branch that the conversation went on with. Raises IndexError."""
        return self._messages[seq].active

    def same_as(self, other: SessionView, seq: int) -> int | None:
        """The message of this view that is message `seq` of another view of the same session; None if it has none."""
        role, start = other.roles[seq], other._starts[seq]
        earlier = other._siblings(seq)
        try:
            at = self._starts.index(start)
        except ValueError:
            return None
        while at < len(self._starts) and self._starts[at] == start:
            if self.roles[at] == role:
                if not earlier:
                    return at
                earlier -= 1
            at += 1
        return None

    def at_line(self, line: int) -> int | None:
        """The message that stands on a physical line, what was said first; else the next one, else the last."""
        best: int | None = None
        for seq, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            if start <= line <= end:
                if self.roles[seq] in SPOKEN:
                    return seq
                best = seq if best is None else best
            elif start > line:
                return seq if best is None else best
        return best if best is not None or not self._messages else len(self._messages) - 1

    def whole(self, seq: int, most: int = WHOLE_CHARACTERS) -> str:
        """The whole text of a message, masked, up to `most` characters. Raises IndexError, OSError, Undecodable."""
        message = self._messages[seq]
        if not self.message(seq).cut:
            return self.message(seq).text
        text = self._picked(seq) if self._picker.can_pick else self._read_again(seq)
        return self._cut_masked(text if len(text) >= len(message.text) else message.text, most)

    def raw(self, line: int, most: int = RAW_CHARACTERS) -> str:
        """The record on a line, indented where it is JSON, masked and cut to `most` characters; "" beyond the end.

        Raises OSError, Undecodable.
        """
        if self._found.dialect == "opencode":
            data, whole = self._as_record(line), True
        else:
            data, whole = self._picker.record(line, _PRETTY_BYTES)
        text = data.decode("utf-8", "replace")
        if whole and len(data) <= _PRETTY_BYTES:
            record = parse_record(data)
            if isinstance(record, dict):
                text = orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
        return self._cut_masked(_MARKS.sub(BASE64_MARK, text), most)

    def close(self) -> None:
        """Let the file go; the view can still be used."""
        self._picker.close()

    def _cut_masked(self, text: str, most: int) -> str:
        masked = scrub(self._redact(cut_words(text, most + MARGIN)))
        return masked if len(masked) <= most else f"{cut_words(masked, most)} …"

    def _as_record(self, line: int) -> bytes:
        """What is known of a message whose record is spread over rows or files."""
        said = [
            {"role": message.role, "id": message.mid, "name": message.name, "text": message.text}
            for message in self._messages
            if message.line_start == line
        ]
        return orjson.dumps({"messages": said}) if said else b""

    def _siblings(self, seq: int) -> int:
        """How many messages of the same role begin on the same line before a message."""
        count, at = 0, seq - 1
        while at >= 0 and self._starts[at] == self._starts[seq]:
            count += self.roles[at] == self.roles[seq]
            at -= 1
        return count

    def _picked(self, seq: int) -> str:
        """The text of a message from its own lines."""
        message = self._messages[seq]
        texts = []
        for line in dict.fromkeys(part.line for part in message.parts):
            alike = [found for found in self._picker.messages(line) if found.role == message.role]
            number = self._siblings(seq) if line == message.line_start else 0
            if number < len(alike):
                texts.append(alike[number].text)
        return "\n".join(texts)

    def _shown(self, seq: int) -> SessionMessage:
        message = self._messages[seq]
        text = message.text
        is_cut = len(text) >= SHOWN_CHARACTERS
        if not all(part.text for part in message.parts) and self._picker.can_pick:
            text = self._picked(seq)
            is_cut = len(text) > SHOWN_CHARACTERS
        elif seq >= self._lean_from and not MARGIN // 10 < len(text) < LEAN_CHARACTERS - 200:
            is_cut = True
        masked = scrub(self._redact(cut_words(_MARKS.sub(BASE64_MARK, text), SHOWN_CHARACTERS + MARGIN)))
        return SessionMessage(
            seq,
            message.role,
            cut_words(masked, SHOWN_CHARACTERS),
            message.ts,
            self._starts[seq],
            self._ends[seq],
            message.name,
            message.active,
            is_cut,
        )


def _lean_from(messages: Sequence[Message]) -> int:
    """The first message of which little is held, because the room for texts was used up."""
    used = 0
    for seq, message in enumerate(messages):
        if used >= HELD_CHARACTERS:
            return seq
        used += sum(len(part.text) for part in message.parts)
    return len(messages)


def _stats(found: Found) -> tuple[object, object]:
    return path_stat(found.absolute), path_stat(f"{found.absolute}-wal") if found.within else None
