"""What to colour in one line of Markdown: cheap, line by line, with only the fences known beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from core import late_regex

_HEADING = late_regex(r"^ {0,3}#{1,6}(?:\s|$)")
_MARKER = late_regex(r"^\s*(?:[-*+]|\d{1,9}[.)]|>+)(?=\s)")
_INLINE = late_regex(
    r"(?P<code>`[^`]+`)"
    r"|(?P<bold>\*\*[^*\s][^*]*\*\*|__[^_\s][^_]*__)"
    r"|(?P<link>!?\[[^\[\]]*\]\([^()\s]*\)|<?https?://[^\s<>()]+>?)"
)


def line_styles(text: str, fenced: bool) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) in characters; kinds are heading, code, marker, bold and link."""
    if fenced:
        yield 0, len(text), "code"
        return
    if _HEADING.match(text):
        yield 0, len(text), "heading"
        return
    marker = _MARKER.match(text)
    if marker:
        yield marker.start(), marker.end(), "marker"
    for match in _INLINE.finditer(text):
        yield match.start(), match.end(), match.lastgroup or "code"
