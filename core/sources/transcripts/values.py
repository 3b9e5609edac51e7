"""Small readings of JSON values: text of blocks, moments, names. Nothing here raises on odd input."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

from core.sources.transcripts.model import Record, cut_words

TOOL_CHARACTERS = 20_000
"""Of a tool's call or result no more is kept."""
_TEXT = ("text",)
_SECONDS_BELOW = 100_000_000_000
_LATEST_MS = 253_402_300_799_000


def text(value: object) -> str:
    """A string as it is; "" for everything else."""
    return value if isinstance(value, str) else ""


def record(value: object) -> Record:
    """An object as it is; an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """A list as it is; an empty one for everything else."""
    return value if isinstance(value, list) else []


def blocks(value: object) -> list[Record]:
    """The objects of a list; a bare string is one text block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if not isinstance(value, list):
        return []
    return [item if isinstance(item, dict) else {"type": "text", "text": text(item)} for item in value]


def texts(value: object, *types: str) -> str:
    """The texts of blocks of these types, joined by line ends; a string is a text block."""
    if isinstance(value, str):
        return value
    wanted = types or _TEXT
    found = [text(block.get("text")) for block in blocks(value) if block.get("type") in wanted]
    return found[0] if len(found) == 1 else "\n".join(found)


def millis(value: object) -> int | None:
    """A moment as epoch ms: numbers below 1e11 are seconds, others ms; ISO texts, without a zone in UTC."""
    if isinstance(value, str):
        if not 8 <= len(value) <= 40:
            return None
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return None
        if parsed.tzinfo is None:
            parsed = parsed.replace(tzinfo=UTC)
        moment = round(parsed.timestamp() * 1000)
    elif isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        if value is True or value is False:
            return None
        moment = int(value * 1000) if abs(value) < _SECONDS_BELOW else int(value)
    else:
        return None
    return moment if 0 < moment <= _LATEST_MS else None


def first_moment(*values: object) -> int | None:
    """The first of several values that is a moment."""
    for value in values:
        moment = millis(value)
        if moment is not None:
            return moment
    return None


def compact(value: object) -> str:
    """A tool's arguments or result as bounded text: strings as they are, texts of blocks, the rest as JSON."""
    if isinstance(value, str):
        return cut_words(value, TOOL_CHARACTERS)
    if value is None:
        return ""
    if isinstance(value, list) and any(isinstance(item, dict) and "text" in item for item in value):
        joined = "\n".join(text(item.get("text")) for item in value if isinstance(item, dict))
        return cut_words(joined, TOOL_CHARACTERS)
    try:
        return cut_words(json.dumps(value, ensure_ascii=False), TOOL_CHARACTERS)
    except (ValueError, RecursionError):
        return ""


def call_text(name: str, arguments: object) -> str:
    """A call of a tool as text: its name and its arguments, the values of a flat object without the JSON around."""
    if isinstance(arguments, dict) and all(isinstance(item, str | int | float) for item in arguments.values()):
        words = cut_words("\n".join(f"{key}: {item}" for key, item in arguments.items()), TOOL_CHARACTERS)
    else:
        words = compact(arguments)
    return f"{name} {words}".strip()
