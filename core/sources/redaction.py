"""Masks secrets in the text of transcripts before it is hashed, stored, embedded or shown; costs linear time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from core.sources.redaction_fields import field_secrets
from core.sources.redaction_tokens import token_secrets

REDACTION_VERSION = "2"

_SHORT = 18
_MASKED = re.compile(r"\S{6}…\S{4}|\*{3,}")
_PASSES = 8
_WINDOW = 256 << 10
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}

Span = tuple[int, int]


def mask(secret: str) -> str:
    """`***` for less than 18 characters, else the first 6, `…` and the last 4."""
    return "***" if len(secret) < _SHORT else f"{secret[:6]}…{secret[-4:]}"


class Redactor:
    """Masks the known kinds of secrets and those of further `patterns` (regular expressions).

    Of a further pattern the last group that matched is masked, or the whole match where it has none. Masking what is
    masked changes nothing. May be shared by threads.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]
        parts = (REDACTION_VERSION, *patterns)
        self.version = hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:12]

    def __call__(self, text: str) -> str:
        """`text` with its secrets masked: what masking uncovers, where secrets of two kinds meet, is masked too."""
        for _ in range(_PASSES):
            masked = self._once(text)
            if masked == text:
                break
            text = masked
        return text

    def _once(self, text: str) -> str:
        spans = [*field_secrets(text, _lowered(text)), *token_secrets(text)]
        for pattern in self._patterns:
            spans.extend(_pattern_secrets(pattern, text))
        blocks = list(_private_keys(text)) if "-----BEGIN" in text else []
        if not spans and not blocks:
            return text
        pieces = []
        done = 0
        keys = {block[0]: block for block in blocks}
        for start, end in _merged([*spans, *((start, end) for start, _, _, end in blocks)], keys):
            pieces.append(text[done:start])
            if start in keys:
                _, body, tail, _ = keys[start]
                pieces.append(f"{text[start:body]}\n…redacted…\n{text[tail:end]}".rstrip("\n"))
            else:
                secret = text[start:end]
                pieces.append(secret if _MASKED.fullmatch(secret) else mask(secret))
            done = end
        pieces.append(text[done:])
        return "".join(pieces)


def _lowered(text: str) -> str:
    """In lower case and of the same length."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_UPPER_TO_LOWER)


def _merged(spans: list[Span], keys: dict[int, tuple[int, int, int, int]]) -> Iterator[Span]:
    """Spans in order; of those that meet, one that covers all. Nothing is merged into a private key."""
    ends = {start: block[3] for start, block in keys.items()}
    current: Span | None = None
    for start, end in sorted(spans, key=lambda span: (span[0], span[0] not in ends, -span[1])):
        if current is None or start >= current[1]:
            if current is not None:
                yield current
            current = (start, end)
        elif current[0] in ends:
            if end > current[1]:
                yield current
                current = (current[1], end)
        elif start in ends:
            yield (current[0], start)
            current = (start, max(end, ends[start]))
        else:
            current = (current[0], max(current[1], end))
    if current is not None:
        yield current


def _private_keys(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Start, end of the first line, start of the last line and end of each private key; one without end goes on."""
    done = 0
    for begin in _PEM_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        end = _PEM_END.search(text, begin.end())
        if end is None:
            yield begin.start(), begin.end(), len(text), len(text)
            return
        yield begin.start(), begin.end(), end.start(), end.end()
        done = end.end()


def _pattern_secrets(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for start, end in _windows(text):
        for found in pattern.finditer(text, start, end):
            group = found.lastindex or 0
            while group and not found[group]:
                group -= 1
            if found.end(group) > found.start(group):
                yield found.span(group)


def _windows(text: str) -> Iterator[Span]:
    """A text in pieces that end at line ends or blanks, so that a slow pattern stays within bounds."""
    start = 0
    while len(text) - start > _WINDOW:
        end = start + _WINDOW
        cut = max(text.rfind("\n", start + 1, end), text.rfind(" ", end - 4096, end))
        end = cut if cut > start else end
        yield start, end
        start = end
    yield start, len(text)
