"""The normal form of all transcripts: a session, its messages, and what could not be read of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from core.records import record

Role = Literal["user", "assistant", "tool", "thinking", "summary"]
Kind = Literal["main", "subagent", "archived"]
Record = dict[str, object]
"""One JSON object of a transcript."""

ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "thinking", "summary")
SPOKEN: frozenset[Role] = frozenset({"user", "assistant"})

MOST_BAD_LINES = 20
MOST_UNKNOWN_TYPES = 50
TITLE_ORDER = ("custom", "label", "name", "ai", "summary", "description", "first")
"""Where a title may come from, best first; "first" is the first words of the user."""
TITLE_CHARACTERS = 120
_SECRET_SIGNS = "".join(map(chr, range(33, 127)))
_INNER_SIGNS = _SECRET_SIGNS.translate(dict.fromkeys(map(ord, "\"',;(){}[]<>|&")))
_LONG_WORD = 512


def cut_words(text: str, most: int) -> str:
    """The first `most` characters, without what a secret could be that the cut goes through.

    That is the word at the cut, or of a very long one, such as JSON without blanks, what follows its last delimiter.
    """
    if len(text) <= most:
        return text
    cut = text[:most]
    if text[most].isspace():
        return cut
    words = cut.rstrip(_SECRET_SIGNS)
    return words if len(cut) - len(words) <= _LONG_WORD else cut.rstrip(_INNER_SIGNS)


class Part(NamedTuple):
    """A text and the physical line (or sequence number + 1) where it stands."""

    text: str
    line: int


@record(frozen=True, slots=True)
class Message:
    """One thing that was said, or a call of a tool, its result, a thought, a summary.

    `seq` counts the messages of the session from 0. `ts` is epoch ms. `mid` is the agent's own id, `name` the tool's.
    `active` is False on a branch that was left. Lines are physical and 1-based; of a store without lines they are the
    sequence number + 1.
    """

    role: Role
    parts: tuple[Part, ...]
    seq: int
    ts: int | None = None
    mid: str = ""
    name: str = ""
    active: bool = True

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts)

    @property
    def line_start(self) -> int:
        return self.parts[0].line if len(self.parts) == 1 else min(part.line for part in self.parts)

    @property
    def line_end(self) -> int:
        return self.parts[0].line if len(self.parts) == 1 else max(part.line for part in self.parts)


@record(frozen=True, slots=True)
class BadLine:
    """A physical line (1-based) that is no record, and why."""

    line: int
    why: str


@record(slots=True)
class Facts:
    """What a parser learns of a session besides its messages; it grows while the session is read."""

    id: str = ""
    cwd: str = ""
    model: str = ""
    parent: str = ""
    kind: Kind = "main"
    started: int | None = None
    ended: int | None = None
    titles: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    bad: list[BadLine] = field(default_factory=list)
    bad_count: int = 0
    repeated: int = 0
    seq: int = 0
    size: int = 0

    def copy(self) -> Facts:
        """One that does not follow."""
        return Facts(
            self.id,
            self.cwd,
            self.model,
            self.parent,
            self.kind,
            self.started,
            self.ended,
            dict(self.titles),
            dict(self.counts),
            dict(self.unknown),
            list(self.bad),
            self.bad_count,
            self.repeated,
            self.seq,
            self.size,
        )

    def note_bad(self, line: int, why: str) -> None:
        self.bad_count += 1
        if len(self.bad) < MOST_BAD_LINES:
            self.bad.append(BadLine(line, why))

    def note_unknown(self, kind: object) -> None:
        """Count a record of a type that nobody here knows."""
        name = kind[:60] if isinstance(kind, str) and kind else "(no type)"
        if name not in self.unknown and len(self.unknown) >= MOST_UNKNOWN_TYPES:
            name = "(others)"
        self.unknown[name] = self.unknown.get(name, 0) + 1

    def note_time(self, moment: int | None) -> None:
        if moment is None:
            return
        if self.started is None or moment < self.started:
            self.started = moment
        if self.ended is None or moment > self.ended:
            self.ended = moment

    def note_title(self, source: str, title: str) -> None:
        """A title from one of TITLE_ORDER; blank ones do not count, the last one does."""
        words = " ".join(cut_words(title, 8 * TITLE_CHARACTERS).split())
        if words:
            self.titles[source] = words

    def title(self) -> tuple[str, str]:
        """The best title and where it comes from; two empty texts when there is none."""
        for source in TITLE_ORDER:
            if source in self.titles:
                return self.titles[source], source
        return "", ""


@record(frozen=True, slots=True)
class Checkpoint:
    """Where reading can go on: all before `offset` (bytes; rows of a store) is read and never changes its meaning.

    `line` counts the physical lines before it, `messages` those messages of this reading that stand before it. `state`
    is the parser's own, fit for JSON.
    """

    offset: int
    line: int
    facts: Facts
    state: Record
    messages: int


@record(frozen=True, slots=True)
class Session:
    """One conversation in the normal form. Times are epoch ms; `lines` counts physical lines or rows, `size` bytes.

    `messages` has all roles, those of left branches too; `counts` counts them by role. `unknown` counts records by
    type, `bad_lines` names the first lines that are no records, `bad_count` counts all. `pending` bytes at the end wait
    for the end of their line.
    """

    dialect: str
    id: str
    source: str
    title: str
    title_source: str
    cwd: str
    model: str
    started: int | None
    ended: int | None
    parent: str
    kind: Kind
    messages: tuple[Message, ...]
    unknown: Mapping[str, int]
    bad_lines: tuple[BadLine, ...]
    bad_count: int
    repeated: int
    lines: int
    size: int
    counts: Mapping[str, int]
    pending: int = 0
