"""A session as text: one line for each message, masked, wrapped, and for each line where and when it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from core.records import record
from core.sources.transcripts.model import SPOKEN, Message, Role
from core.sources.transcripts.records import BASE64_MARK
from core.text.lines import scrub

WRAP = 800
LABELS: dict[Role, str] = {
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool",
    "thinking": "Thinking",
    "summary": "Summary",
}
_MARKS = re.compile(rf"(?:{re.escape(BASE64_MARK)}[A-Za-z0-9+/=_-]*)+")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{1024,}+")
_LONG_WORD = 1024

Redact = Callable[[str], str]


@record(slots=True)
class Rendered:
    """Lines of text; `line_map` holds the physical line of each (1-based), `times` when it was said (epoch ms)."""

    lines: list[str]
    line_map: list[int]
    times: list[int | None]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def wanted_roles(*, include_tools: bool = False, include_thinking: bool = False) -> frozenset[Role]:
    """The roles that are rendered: what was said; tools and thoughts by choice, summaries with the thoughts."""
    tools: frozenset[Role] = frozenset({"tool"}) if include_tools else frozenset()
    thinking: frozenset[Role] = frozenset({"thinking", "summary"}) if include_thinking else frozenset()
    return SPOKEN | tools | thinking


def render(messages: Iterable[Message], redact: Redact, roles: Iterable[Role] = SPOKEN) -> Rendered:
    """Render messages of the given roles that are active; secrets are masked by `redact` before anything else."""
    wanted = frozenset(roles)
    rendered = Rendered([], [], [])
    for message in messages:
        if message.active and message.role in wanted:
            for line, text in message_lines(message, redact):
                rendered.lines.append(text)
                rendered.line_map.append(line)
                rendered.times.append(message.ts)
    return rendered


def said_by_line(messages: Iterable[Message], redact: Redact, roles: Iterable[Role], most: int) -> list[str]:
    """What these roles said on each physical line, masked, as one line of text each; "" where they said nothing.

    A message stands on the line where it begins; one of `most` characters or more is cut and ends with `…`. Left
    branches are left out.
    """
    wanted = frozenset(roles)
    messages = list(messages)
    said: list[str] = [""] * max((message.line_end for message in messages), default=0)
    for message in messages:
        if message.active and message.role in wanted:
            words = said_words(message.text, redact)[:most]
            more = " …" if len(message.text) >= most else ""
            before = said[message.line_start - 1]
            text = f"{LABELS[message.role]}: {words}{more}"
            said[message.line_start - 1] = f"{before} {text}" if before else text
    return said


def message_lines(message: Message, redact: Redact) -> list[tuple[int, str]]:
    """The lines of one message, each with the physical line where its text begins."""
    label = LABELS[message.role]
    if len(message.parts) == 1:
        text = said_words(message.parts[0].text, redact)
        line = message.parts[0].line
        return [(line, f"{label}: {text[start:end]}") for start, end in wrapped(text)]
    starts: list[tuple[int, int]] = []
    pieces: list[str] = []
    at = 0
    for part in message.parts:
        words = said_words(part.text, redact)
        if words:
            starts.append((at, part.line))
            pieces.append(words)
            at += len(words) + 1
    text = " ".join(pieces)
    found = []
    number = 0
    for start, end in wrapped(text):
        while number + 1 < len(starts) and starts[number + 1][0] <= start:
            number += 1
        found.append((starts[number][1], f"{label}: {text[start:end]}"))
    return found


def said_words(text: str, redact: Redact) -> str:
    """A text as one line: masked, white space collapsed, long base64 cut out."""
    masked = scrub(redact(text))
    words = masked.split()
    if BASE64_MARK in masked or (len(masked) >= _LONG_WORD and max(map(len, words), default=0) >= _LONG_WORD):
        return " ".join(_BASE64.sub(BASE64_MARK, _MARKS.sub(BASE64_MARK, word)) for word in words)
    return " ".join(words)


def wrapped(text: str, width: int = WRAP) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end: each at the last blank within `width` characters, or cut there."""
    found = []
    start = 0
    while len(text) - start > width:
        end = text.rfind(" ", start + 1, start + width + 1)
        if end < 0:
            end = start + width
        found.append((start, end))
        start = end + 1 if text[end] == " " else end
    if start < len(text):
        found.append((start, len(text)))
    return found
