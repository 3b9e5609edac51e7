"""Text fit for SQLite."""

from __future__ import annotations

from core.regexes import late_regex

_UNSTORABLE = late_regex("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with NUL and lone surrogates as U+FFFD."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return _UNSTORABLE.sub("\ufffd", text)
