"""Aider: one Markdown file for each repository, its chats one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from core.records import record
from core.sources.transcripts.model import Part, Role
from core.sources.transcripts.parser import Reading, RecordParser

HISTORY_NAME = ".aider.chat.history.md"

_START = re.compile(rb"^# aider chat started at (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})[ \t]*\r?$", re.M)
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")


class AiderParser(RecordParser):
    """Used for its messages alone; Aider has no records."""

    dialect = "aider"


@record(frozen=True, slots=True)
class Chat:
    """One chat of a history file: bytes `start` to `end`, its first line (1-based) and when it began, local time."""

    start: int
    end: int
    line: int
    began: str


def chats_of(data: bytes) -> list[Chat]:
    """The chats of a history file; what stands before the first is none."""
    starts = [(found.start(), found[1].decode()) for found in _START.finditer(data)]
    chats = []
    line = 1
    at = 0
    for number, (start, began) in enumerate(starts):
        line += data.count(b"\n", at, start)
        at = start
        end = starts[number + 1][0] if number + 1 < len(starts) else len(data)
        chats.append(Chat(start, end, line, began))
    return chats


def read_chat(data: bytes, first_line: int, wanted: Iterable[Role]) -> Reading:
    """One chat. Lines that start with `#### ` are the user's, with `> ` the tool's, all others the assistant's."""
    parser = AiderParser(wanted)
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    began = _START.match(data)
    moment = _local_millis(began[1].decode()) if began is not None else None
    parser.facts.note_time(moment)
    role: Role = "assistant"
    held: list[Part] = []
    fence = ""

    def flush() -> None:
        if held and not (role == "user" and held[0].text.startswith("/")):
            parser.add_parts(role, tuple(held), ts=moment)
        held.clear()

    for number, line in enumerate(lines, first_line):
        if number == first_line and began is not None:
            continue
        now, words = _judge(line.rstrip("\r"), in_fence=bool(fence))
        fence = _fence_after(fence, line) if now == "assistant" else ""
        if not words.strip():
            continue
        if now != role:
            flush()
            role = now
        held.append(Part(words, number))
    flush()
    return Reading(parser.facts, parser.messages, None, first_line + len(lines) - 1)


def _judge(line: str, *, in_fence: bool) -> tuple[Role, str]:
    if not in_fence:
        if line.startswith("#### "):
            return "user", line[5:].rstrip()
        if line.startswith("> ") or line == ">":
            return "tool", line[2:].rstrip()
    return "assistant", line


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after a line; "" for none."""
    if fence:
        closing = line.strip()
        return "" if closing.startswith(fence) and not closing.strip(fence[0]) else fence
    opening = _FENCE.match(line)
    return opening[1] if opening is not None else ""


def _local_millis(began: str) -> int | None:
    try:
        return int(datetime.strptime(began, "%Y-%m-%d %H:%M:%S").timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
