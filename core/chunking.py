"""Document to chunks: runs of whole lines within a token budget, cut where headings and paragraphs end."""

from __future__ import annotations

import hashlib
import string
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from core.text.headings import bounded_title, front_matter_end, headings_of
from core.text.lines import scrub, split_lines
from core.text.tokens import Counter
from core.types import Chunk

_HEADING_FILL = 0.5
"""A heading starts a new chunk once the current one holds this share of its budget."""
_PARAGRAPH_FILL = 0.7
"""A full chunk ends at the last paragraph end beyond this share of its budget."""

_SIGNS = string.punctuation + " \t"


def chunk_document(
    text: str,
    *,
    tokens: int,
    overlap: int,
    counter: Counter,
    markdown: bool = True,
) -> list[Chunk]:
    """Cut a decoded text into chunks of at most `tokens` tokens, the `overlap` with the one before included.

    A chunk starts and ends with a line that is not blank; every such line is in a chunk. A line beyond the budget
    becomes chunks of its own, whose texts joined are the line. Blank text and mere front matter give no chunks. Raises
    ValueError for budgets that cannot be.
    """
    if tokens < 1 or overlap < 0:
        raise ValueError(f"a chunk needs 1 token or more and an overlap of 0 or more, not {tokens} and {overlap}")
    text = scrub(text)
    lines = split_lines(text)
    front = front_matter_end(lines) if markdown else 0
    blocks = [number for number, line in enumerate(lines) if line and not line.isspace()]
    if not blocks or blocks[-1] < front:
        return []
    layout = _Layout(text, lines, blocks, counter, tokens)
    headings = dict(headings_of(lines, front)) if markdown else {}
    starts_section = frozenset(headings)

    chunks: list[Chunk] = []
    path: tuple[str, ...] = ()
    upcoming = iter(headings.items())
    following = next(upcoming, None)
    titles: list[tuple[int, str]] = []
    for first, last, piece in _cuts(layout, starts_section, tokens, min(overlap, tokens - 1)):
        while following is not None and following[0] <= first:
            level, title = following[1]
            titles = [outer for outer in titles if outer[0] < level]
            if title:
                titles.append((level, title))
            path = tuple(name for _, name in titles)
            following = next(upcoming, None)
        body = layout.text_of(first, last) if piece is None else piece
        if not body or body.isspace():
            continue
        chunks.append(Chunk(ordinal=len(chunks), start_line=first + 1, end_line=last + 1, text=body, heading=path))
    return chunks


def embedding_text(chunk: Chunk) -> str:
    """Exactly what the embedder gets: the heading path, unless the text begins with its last heading, and the text."""
    path = chunk.heading
    if path:
        first_line = chunk.text.partition("\n")[0]
        if bounded_title(first_line.strip().strip("#").strip()) == path[-1]:
            path = path[:-1]
    return f"{' > '.join(path)}\n\n{chunk.text}" if path else chunk.text


def embedding_hash(text: str) -> bytes:
    """sha256 of exactly what the embedder gets: the key of the embedding cache."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


@dataclass(slots=True, init=False)
class _Layout:
    """A text as blocks: each line that is not blank with the blank lines after it, and their tokens.

    A block starts where no token crosses, so a run of blocks costs the sum of theirs, its last line counted bare.
    """

    text: str
    lines: Sequence[str]
    blocks: Sequence[int]
    before: Sequence[int]
    _offsets: Sequence[int]
    _counter: Counter
    _exact: bool

    def __init__(self, text: str, lines: Sequence[str], blocks: Sequence[int], counter: Counter, tokens: int) -> None:
        offsets = [0, *accumulate(len(line) + 1 for line in lines)]
        self.text = text
        self.lines = lines
        self.blocks = blocks
        self._offsets = offsets
        self._counter = counter
        self.before = [0, *accumulate(counter.line_counts(text, [offsets[line] for line in blocks], 2 * tokens))]
        # A CR at a line's start is taken into the token of the LF before it.
        self._exact = "\r" not in text

    def text_of(self, first_line: int, last_line: int) -> str:
        return self.text[self._offsets[first_line] : self._offsets[last_line] + len(self.lines[last_line])]

    def pieces(self, block: int, tokens: int) -> list[str]:
        return self._counter.split(self.lines[self.blocks[block]], tokens)

    def fits(self, first: int, last: int, tokens: int) -> bool:
        """Whether the text of blocks first..last is within a budget."""
        if not self._exact:
            return self._counter.count(self.text_of(self.blocks[first], self.blocks[last])) <= tokens
        cost = self.before[last + 1] - self.before[first]
        line = self.lines[self.blocks[last]]
        stem = line.rstrip(_SIGNS)
        if stem and stem[-1].isalnum():
            # Only these signs can share a token with the line end: bounds that spare most of the counting.
            signs = len(line) - len(stem)
            blanks = self._blanks_after(last)
            if cost - min(blanks, 1) + signs <= tokens:
                return True
            if cost - signs - blanks > tokens:
                return False
        inner = self.before[last] - self.before[first]
        return inner < tokens and inner + self._counter.count(line) <= tokens

    def _blanks_after(self, block: int) -> int:
        """Characters from the end of a block's line to the next block, or to the end of the text."""
        line = self.blocks[block]
        end = self._offsets[self.blocks[block + 1]] if block + 1 < len(self.blocks) else len(self.text)
        return end - self._offsets[line] - len(self.lines[line])

    def is_long(self, block: int, tokens: int) -> bool:
        cost = self.before[block + 1] - self.before[block]
        return cost > 2 * tokens or not self.fits(block, block, tokens)

    def follows_blank(self, block: int) -> bool:
        return self.blocks[block] - self.blocks[block - 1] > 1


def _cuts(
    layout: _Layout, sections: frozenset[int], tokens: int, overlap: int
) -> Iterator[tuple[int, int, str | None]]:
    """First and last line (0-based) of each chunk; with its text where it is a piece of a line."""
    blocks = layout.blocks
    fresh = 0  # the first block that no chunk holds yet
    first = 0  # where the next chunk starts: fresh, or before it by the overlap
    while fresh < len(blocks):
        if layout.is_long(fresh, tokens):
            for piece in layout.pieces(fresh, tokens):
                yield blocks[fresh], blocks[fresh], piece
            fresh += 1
            first = fresh
            continue
        while first < fresh and not layout.fits(first, fresh, tokens):
            first += 1
        end = _chunk_end(layout, sections, first, fresh, tokens)
        yield blocks[first], blocks[end - 1], None
        previous, fresh = first, end
        first = fresh
        if fresh < len(blocks) and blocks[fresh] not in sections:
            while first - 1 > previous and layout.before[fresh] - layout.before[first - 1] <= overlap:
                first -= 1


def _chunk_end(layout: _Layout, sections: frozenset[int], first: int, fresh: int, tokens: int) -> int:
    """The block after the chunk that starts at `first` and must hold `fresh`."""
    before, blocks = layout.before, layout.blocks
    end = max(fresh + 1, bisect_right(before, before[first] + tokens) - 1)
    if end < len(blocks) and before[end] - before[first] < tokens and layout.fits(first, end, tokens):
        end += 1
    while end > fresh + 1 and not layout.fits(first, end - 1, tokens):
        end -= 1
    full = before[first] + tokens * _HEADING_FILL
    for block in range(fresh + 1, end):
        if blocks[block] in sections and before[block] >= full:
            return block
    if end == len(blocks):
        return end
    full = before[first] + tokens * _PARAGRAPH_FILL
    block = end
    while block > fresh + 1 and before[block] >= full:
        if blocks[block] in sections or layout.follows_blank(block):
            break
        block -= 1
    else:
        block = end
    # A heading belongs to what follows it, unless that is cut to pieces, which know their heading.
    if not layout.is_long(block, tokens):
        while block > fresh + 1 and blocks[block - 1] in sections:
            block -= 1
    return block
