"""Control characters to visible marks: what is shown is never acted on by a terminal."""

from __future__ import annotations

import re

from core.regexes import late_regex

_C0 = "\x00-\x1f"
_C1 = "\x80-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_BREAKS = "\u2028\u2029"
_HIDDEN = "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_SURROGATES = "\ud800-\udfff"

_ACTIVE = late_regex(f"[{_C0}\x7f{_C1}{_BIDI}{_BREAKS}{_HIDDEN}{_SURROGATES}]")
_ACTIVE_BUT_NEWLINE = late_regex(f"[\x00-\x09\x0b-\x1f\x7f{_C1}{_BIDI}{_BREAKS}{_HIDDEN}{_SURROGATES}]")


def visible(text: str, *, keep_newlines: bool = False, tab_size: int = 0) -> str:
    """Replace every character that a terminal acts on, or that hides or reorders text, with a mark.

    C0 and DEL become control pictures (`␛`); C1, bidirectional controls, U+2028, U+2029, U+FEFF, tag characters and
    lone surrogates their code point (`⟦U+202E⟧`). `keep_newlines` leaves LF, and takes CRLF for one; a `tab_size`
    above 0 turns tabs into spaces up to the next column of that size.
    """
    if text.isprintable():
        return text
    if keep_newlines:
        text = text.replace("\r\n", "\n")
    pattern = _ACTIVE_BUT_NEWLINE if keep_newlines else _ACTIVE
    if tab_size > 0 and "\t" in text:
        lines = ([_marked(part, pattern) for part in line.split("\t")] for line in text.split("\n"))
        return ("\n" if keep_newlines else "␊").join("\t".join(parts).expandtabs(tab_size) for parts in lines)
    return _marked(text, pattern)


def _marked(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟦U+{code:04X}⟧"
