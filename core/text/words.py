"""Words for people: numbers with their noun, and why a file was passed over."""

from __future__ import annotations

from core.types import SkippedPath


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `1,204 files`; `plural` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def skip_words(skip: SkippedPath) -> str:
    """Why a path is not indexed, said once: in words where there are any, else by its kind."""
    return skip.detail or skip.kind
