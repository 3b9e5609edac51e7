"""What the parsers of line-by-line dialects share, and how lines are read through one, from the start or a point."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar

from core.errors import SyncCancelled
from core.records import record
from core.sources.transcripts.model import SPOKEN, BadLine, Checkpoint, Facts, Message, Part, Record, Role, cut_words
from core.sources.transcripts.records import Line, parse_record

UNWANTED = "…"
"""Stands for the text of a tool where tools are only counted."""
_SKIP_HEAD = 400
_ODD_RECORD = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)


@record(frozen=True, slots=True)
class Keep:
    """How much text of messages is held, in characters: `most` of each, `room` for all, `lean` of each after that."""

    most: int
    room: int
    lean: int = 0


class Restart(Exception):
    """A record changes what was read before the point where reading went on: the file must be read anew."""


@record(frozen=True, slots=True)
class Position:
    """A point between lines: the byte (or row) after which it stands and how many physical lines are before it."""

    offset: int = 0
    line: int = 0


class RecordParser:
    """Turns the records of one session into messages, in order.

    Only messages of `wanted` roles keep their text. `repeats` are keys of messages that stand in another file already.
    A subclass reads one record in `feed` and keeps everything that outlives it in `facts` and in its state.
    """

    dialect: ClassVar[str] = ""
    skips: ClassVar[re.Pattern[bytes] | None] = None
    """Matches the head of lines that need no parsing."""

    def __init__(self, wanted: Iterable[Role] = SPOKEN, repeats: Iterable[str] = ()) -> None:
        self.facts = Facts()
        self.messages: list[Message] = []
        self.repeats = frozenset(repeats)
        self.wanted = frozenset(wanted)
        self.keep: Keep | None = None
        self._used = 0
        self.offset = 0
        self.line = 0
        """The byte (or row) after the last line that was fed, and its number."""
        self.resumed = False
        self.rewrote = False
        """Whether a record changed the meaning of earlier ones."""
        self.wants_tools = "tool" in self.wanted
        self.keeps_keys = False
        self.keys: set[str] = set()
        """Keys of the messages seen, if `keeps_keys`: for files that repeat them."""

    def feed(self, line: int, record: Record) -> None:
        """Take the record of a physical line. Raises Restart."""
        raise NotImplementedError

    def finish(self) -> None:
        """All records were fed: settle what only the end tells."""

    def state(self) -> Record:
        """What `feed` needs to know of earlier records, fit for JSON."""
        return {}

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on after a checkpoint, as if everything before it had been fed."""
        self.facts = checkpoint.facts.copy()
        self.resumed = True

    def checkpoint(self) -> Checkpoint:
        """Where reading can go on next time; by default here."""
        return self._checkpoint_here()

    def _checkpoint_here(self) -> Checkpoint:
        return Checkpoint(self.offset, self.line, self.facts.copy(), self.state(), len(self.messages))

    def rewrite(self) -> None:
        """Say that earlier records change their meaning. Raises Restart where these are not at hand."""
        if self.resumed:
            raise Restart
        self.rewrote = True

    def is_repeated(self, key: str) -> bool:
        """Whether a message of this key stands in another file; counts it if so."""
        if self.keeps_keys and key:
            self.keys.add(key)
        if key not in self.repeats:
            return False
        self.facts.repeated += 1
        return True

    def add(
        self, role: Role, text: str, line: int, *, ts: int | None, mid: str = "", name: str = "", key: str = ""
    ) -> Message | None:
        """Append a message, unless it is blank or a repetition of one elsewhere (`key`)."""
        if not text or text.isspace() or self.is_repeated(key):
            return None
        return self.add_parts(role, (Part(text, line),), ts=ts, mid=mid, name=name)

    def add_parts(
        self, role: Role, parts: tuple[Part, ...], *, ts: int | None, mid: str = "", name: str = ""
    ) -> Message:
        """Append a message of several parts, none of them blank."""
        facts = self.facts
        facts.counts[role] = facts.counts.get(role, 0) + 1
        if ts is not None:
            facts.note_time(ts)
        if role == "user" and "first" not in facts.titles:
            facts.note_title("first", parts[0].text)
        if self.keep is not None or role not in self.wanted:
            parts = tuple(Part(self.kept(role, part.text), part.line) for part in parts)
        message = Message(role, parts, facts.seq, ts, mid, name)
        facts.seq += 1
        self.messages.append(message)
        return message

    def kept(self, role: Role, text: str) -> str:
        """As much of a text as is held."""
        if role not in self.wanted:
            return ""
        if self.keep is None:
            return text
        cut = cut_words(text, self.keep.most if self._used < self.keep.room else self.keep.lean)
        self._used += len(cut)
        return cut


@record(frozen=True, slots=True)
class Reading:
    """What reading a session gave: `facts` of the whole session, the `messages` of this reading.

    `checkpoint` is None where reading cannot go on later. `lines` counts physical lines to the end, `end` the bytes (or
    rows) to the last line end, `pending` the bytes of a last line that waits for its end. A partial one ended before
    all lines were read.
    """

    facts: Facts
    messages: list[Message]
    checkpoint: Checkpoint | None
    lines: int
    pending: int = 0
    resumed: bool = False
    end: int = 0
    is_partial: bool = False


def read_lines(
    parser: RecordParser,
    lines: Iterable[Line],
    *,
    start: Position | None = None,
    growing: bool = True,
    most: int | None = None,
    cancel: threading.Event | None = None,
) -> Reading:
    """Feed lines to a parser; lines that are no records are noted, none stops the reading.

    `start` is where the lines begin. A last line without its end is taken only when it is a whole object; in a file
    that is still `growing` reading goes on before it. After `most` bytes reading ends where it can go on later. Raises
    Restart, SyncCancelled.
    """
    begin = start or Position()
    parser.offset, parser.line = begin.offset, begin.line
    facts, feed, skips = parser.facts, parser.feed, parser.skips
    last: Line | None = None
    is_partial = False
    stop = None if most is None else begin.offset + most
    for line in lines:
        number, end, data, ended, whole = line
        if not ended:
            last = line
            break
        if data and not data.isspace() and (skips is None or skips.match(data, 0, _SKIP_HEAD) is None):
            record = parse_record(data) if whole else "longer than 16 MiB"
            if isinstance(record, str):
                facts.note_bad(number, record)
            else:
                try:
                    feed(number, record)
                except _ODD_RECORD as error:
                    facts.note_bad(number, f"not as its kind should be ({type(error).__name__})")
        facts.size += len(data) + 1
        parser.offset, parser.line = end, number
        if cancel is not None and cancel.is_set():
            raise SyncCancelled("the sync was cancelled")
        if stop is not None and end >= stop:
            is_partial = parser.checkpoint().offset > begin.offset
            if is_partial:
                break
            stop = end + most if most is not None else None
    checkpoint: Checkpoint | None = parser.checkpoint() if growing else None
    pending = 0
    count = parser.line
    if last is not None:
        pending = last.end - parser.offset
        record = parse_record(last.data) if last.whole else "longer than 16 MiB"
        if isinstance(record, dict):
            parser.rewrote = False
            with suppress(*_ODD_RECORD):
                feed(last.number, record)
            pending = 0
            count = last.number
            if parser.rewrote:
                checkpoint = None
    parser.finish()
    return Reading(facts, parser.messages, checkpoint, count, pending, parser.resumed, parser.offset, is_partial)


def facts_to_json(facts: Facts) -> Record:
    """What a checkpoint keeps of facts."""
    kept: Record = {name: getattr(facts, name) for name in _PLAIN if getattr(facts, name) not in ("", None, 0)}
    kept.update({name: dict(getattr(facts, name)) for name in _TABLES if getattr(facts, name)})
    if facts.bad:
        kept["bad"] = [[bad.line, bad.why] for bad in facts.bad]
    return kept


def facts_from_json(value: Record) -> Facts:
    """The facts that `facts_to_json` kept. Raises TypeError, ValueError, KeyError for anything else."""
    facts = Facts(**{name: value[name] for name in (*_PLAIN, *_TABLES) if name in value})  # type: ignore[arg-type]
    for name in _TABLES:
        if not isinstance(getattr(facts, name), dict):
            raise TypeError(name)
    bad = value.get("bad", [])
    if not isinstance(bad, list):
        raise TypeError("bad")
    facts.bad = [BadLine(int(line), str(why)) for line, why in bad]
    return facts


_PLAIN = ("id", "cwd", "model", "parent", "kind", "started", "ended", "bad_count", "repeated", "seq", "size")
_TABLES = ("titles", "counts", "unknown")
