"""A range of a document's lines, bounded, as the tools and the command line give it."""

from __future__ import annotations

from core.text.lines import LineSource
from core.types import GetResult


def read_range(
    source: LineSource,
    from_line: int | None,
    lines: int | None,
    *,
    max_lines: int = 120,
    max_chars: int = 12_000,
) -> GetResult:
    """Lines from `from_line` (1-based, default 1): `lines` of them, or `max_lines`; never more than `max_chars`.

    `path` of the result is left empty. `truncated` says that more text follows, `next_from` where; only a line that
    is longer than `max_chars` alone is cut.
    """
    for name, value in (("from", from_line), ("lines", lines)):
        if value is not None and value < 1:
            return GetResult("", "not_allowed", error=f"{name} counts from 1; got {value}")
    first = from_line or 1
    if first > source.line_count:
        return GetResult("", "empty", from_line=first)
    last = min(source.line_count, first + (lines or max_lines) - 1)
    found: list[str] = []
    room = max_chars
    cut = False
    while not cut and room > 0 and first + len(found) <= last:
        start = first + len(found)
        for line in source.lines(start, min(128, last - start + 1), width=max_chars + 1):
            if len(line) > room:
                cut = not found
                if cut:
                    found.append(line[:max_chars])
                room = 0
                break
            found.append(line)
            room -= len(line) + 1
    following = first + len(found)
    more = following <= source.line_count
    return GetResult(
        "",
        "ok",
        from_line=first,
        lines=len(found),
        text="\n".join(found),
        truncated=cut or more,
        next_from=following if more else None,
    )
