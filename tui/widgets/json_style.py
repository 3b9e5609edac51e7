"""What to colour in a piece of JSON, such as one line of JSONL: by its tokens alone, well-formed or cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core import late_regex

# Each part matches in one way only, so that the time is that of reading the text once.
_TOKEN = late_regex(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*(?P<closed>"(?P<key>\s*:)?)?)'
    r"|(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<literal>(?<![\w.])(?:true|false|null)(?![\w.]))",
    re.S,
)


def json_styles(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) in characters; kinds are key, string, digits and literal. A string may miss its end."""
    for match in _TOKEN.finditer(text):
        if match["string"] is None:
            yield match.start(), match.end(), "digits" if match["number"] is not None else "literal"
        elif match["key"] is not None:
            yield match.start(), match.start("key"), "key"
        else:
            yield match.start(), match.end(), "string"
