"""A range of a session as text of bounded size, from its messages or from the chunks of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.sources.transcripts.render import LABELS
from core.types import Chunk, GetResult

MOST_LINES = 120
MOST_CHARACTERS = 12_000
_LABELED = tuple(f"{label}: " for label in LABELS.values())


class StoredLine(NamedTuple):
    """A rendered line, its physical line, and when its chunk says that it was said (epoch ms)."""

    line: int
    text: str
    time: int | None


def refused(path: str, from_line: int | None, lines: int | None) -> GetResult | None:
    """The answer to a range that cannot be; None for one that can."""
    for name, value in (("from", from_line), ("lines", lines)):
        if value is not None and value < 1:
            return GetResult(path, "not_allowed", error=f"{name} counts from 1; got {value}")
    return None


def render_stored(
    path: str,
    chunks: Iterable[Chunk],
    from_line: int | None = None,
    lines: int | None = None,
    *,
    max_characters: int = MOST_CHARACTERS,
) -> GetResult:
    """What was said on some physical lines, from the chunks of the index: for sessions whose transcript is gone."""
    if (refusal := refused(path, from_line, lines)) is not None:
        return refusal
    first = from_line or 1
    last = first + (lines or MOST_LINES) - 1
    stored = list(chunks)
    count = max((chunk.end_line for chunk in stored), default=0)
    near = [chunk for chunk in stored if chunk.end_line >= first and chunk.start_line <= last]
    rendered = [(line, text) for line, text, _ in stored_lines(near) if first <= line <= last]
    return bounded(path, rendered, first, min(last, count), count, max_characters)


def bounded(
    path: str, rendered: Sequence[tuple[int, str]], first: int, last: int, count: int, max_characters: int
) -> GetResult:
    """Rendered lines as a result of bounded size; `first` to `last` are the physical lines they come from."""
    kept: list[str] = []
    room = max_characters
    cut = False
    for number, (line, text) in enumerate(rendered):
        if len(text) > room:
            cut = True
            if number and rendered[0][0] != line:
                # The message goes whole into the next answer.
                while kept and rendered[len(kept) - 1][0] == line:
                    kept.pop()
                last = line - 1
            else:
                if not kept:
                    kept.append(text[:max_characters])
                last = line
            break
        kept.append(text)
        room -= len(text) + 1
    following = last + 1 if last < count else None
    if not kept:
        return GetResult(path, "empty", from_line=first, next_from=following, truncated=following is not None)
    return GetResult(
        path,
        "ok",
        from_line=first,
        lines=last - first + 1,
        text="\n".join(kept),
        truncated=cut or following is not None,
        next_from=following,
    )


def stored_lines(chunks: Iterable[Chunk]) -> list[StoredLine]:
    """The lines of chunks in order, each once though neighbours share some; pieces of a line are put together.

    Of when its lines were said a chunk knows the first and the last time.
    """
    known: list[StoredLine] = []
    previous: Chunk | None = None
    for chunk in chunks:
        texts = chunk.text.split("\n")
        numbers = chunk.line_map if len(chunk.line_map) == len(texts) else [chunk.start_line] * len(texts)
        lines = [StoredLine(*line, chunk.observed_ms) for line in zip(numbers, texts, strict=True)]
        since = chunk.observed_ms if chunk.observed_from_ms is None else chunk.observed_from_ms
        lines[0] = lines[0]._replace(time=since)
        is_piece = len(lines) == 1 and not lines[0].text.startswith(_LABELED)
        if is_piece and previous is not None and known and known[-1].line == lines[0].line:
            known[-1] = known[-1]._replace(text=known[-1].text + lines[0].text)
        else:
            shared = 0
            for size in range(min(len(lines), len(known)), 0, -1):
                if all(old[:2] == new[:2] for old, new in zip(known[-size:], lines, strict=False)):
                    shared = size
                    break
            if shared:
                known[-shared] = known[-shared]._replace(time=since)
            known.extend(lines[shared:])
        previous = chunk
    return known
