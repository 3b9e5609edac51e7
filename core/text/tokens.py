"""Counts text in tokens (cl100k_base, ranks shipped) and cuts it to a budget of them."""

from __future__ import annotations

import binascii
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.errors import MemdeckError
from core.identity import TOKENIZER
from core.regexes import late_regex

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tiktoken

LONGEST_TOKEN = 128
"""Bytes of the longest token: a text of more than this many bytes for each token of a budget is over it."""

_RANKS = Path(__file__).parent / "data" / "cl100k_base.tiktoken"
_RANKS_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# As in tiktoken_ext.openai_public.
_PATTERN = "|".join(
    (
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    )
)

# What _PATTERN finds in ASCII; re is twice as fast at it.
_ASCII_PIECES = late_regex(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\na-zA-Z0-9]?+[a-zA-Z]++|[0-9]{1,3}+| ?[^\sa-zA-Z0-9]++[\r\n]*+"
    r"|\s++\Z|\s*[\r\n]|\s+(?!\S)|\s",
    re.ASCII,
)
_ASCII_LINE = 32_768
"""A longer line goes to the encoder, which lets other threads run meanwhile."""
_ODD_LINES = 4
"""Where more than one of so many lines is not ASCII, the encoder counts all of them at once."""
_LONGEST_PIECE = 24
_MOST_PIECES = 65_536
"""Pieces whose counts are kept; a piece of prose takes 120 bytes."""

# The encoder's regex gives up on a run of a million blanks, so longer texts are encoded in windows.
_WINDOW = 500_000
_CUT_ZONE = 10_000
_WINDOW_CUT = late_regex(r"(?<=\n)(?=\S)|(?<=\S)(?= \S)")
_BATCH = 250_000

_SENTENCE_END = late_regex(r"[.!?…][\"'”’)\]]*\s+|[。！？；][」』”）]*")
_WORD_END = late_regex(r"\s+")


class Counter(Protocol):
    """What the chunker needs of a token counter."""

    def count(self, text: str) -> int: ...

    def line_counts(self, text: str, starts: Sequence[int], limit: int) -> list[int]: ...

    def split(self, text: str, budget: int) -> list[str]: ...


class TokenCounter:
    """Counts tokens; loads its ranks at first use and may be shared by threads. Special-token text is ordinary text."""

    def __init__(self, ranks: Path = _RANKS) -> None:
        self._ranks = ranks
        self._lock = threading.Lock()
        self._encoding: tiktoken.Encoding | None = None
        self._lengths: npt.NDArray[np.int64]
        self._pieces = _Pieces(self._encode)

    def __reduce__(self) -> tuple[type[TokenCounter], tuple[Path]]:
        return TokenCounter, (self._ranks,)

    def load(self) -> None:
        """Load the ranks now: for a tenth of a second no other thread gets on. Raises MemdeckError."""
        self._loaded()

    def count(self, text: str) -> int:
        """Tokens of `text`. Beyond 500,000 characters without a line or word end: the sum over windows of that size."""
        if len(text) <= _ASCII_LINE and text.isascii():
            return sum(map(self._pieces.__getitem__, _ASCII_PIECES.findall(text)))
        if len(text) <= _WINDOW:
            return len(self._encode(text))
        return sum(len(self._encode(window)) for window in _windows(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def line_counts(self, text: str, starts: Sequence[int], limit: int) -> list[int]:
        """Tokens from each start to the next (the last: to the end), in one pass over the text.

        `starts` are ascending character offsets, each at the start of a line that is not blank. Exact up to `limit`,
        anything above it beyond, and additive: tokens never cross such a start, unless its line begins with a CR.
        """
        counts: list[int] = []
        ends = [*starts[1:], len(text)]
        most = limit * LONGEST_TOKEN
        first = 0
        while first < len(starts):
            if ends[first] - starts[first] > most:
                counts.append(limit + 1)
                first += 1
                continue
            last = first
            stop = starts[first] + _BATCH
            while last + 1 < len(starts) and ends[last + 1] <= stop and ends[last + 1] - starts[last + 1] <= most:
                last += 1
            counts.extend(self._counts_between(text, [*starts[first : last + 1], ends[last]]))
            first = last + 1
        return counts

    def split(self, text: str, budget: int) -> list[str]:
        """Cut `text` into pieces of at most `budget` tokens, at sentence or word ends where these are near.

        The pieces joined are the text. A single character is never cut, so a budget below 4 may be exceeded by one.
        """
        budget = max(1, budget)
        pieces: list[str] = []
        position = 0
        guess = budget * 4
        known: tuple[str, int] = ("", 0)
        while position < len(text):
            rest = len(text) - position
            # The last two pieces share what is left, so that no tiny one ends the row.
            window = text[position:] if rest <= guess * 2 else text[position : position + guess]
            if window != known[0]:
                known = (window, self._fitting(text, position, len(window), budget))
            pieces.append(text[position : position + known[1]])
            position += known[1]
            guess = max(16, known[1] * 5 // 4)
        return pieces

    def _fitting(self, text: str, position: int, size: int, budget: int) -> int:
        """How many characters the next piece takes."""
        while True:
            window = text[position : position + size]
            ends = self._ends(window)
            whole = position + size >= len(text)
            if len(ends) > budget:
                break
            if whole:
                return len(window)
            size = min(size * 2, len(text) - position)
        low, high = budget * 3 // 4, budget
        if whole and len(ends) <= 2 * budget:
            low = max(len(ends) - budget, len(ends) * 3 // 8, 1)
            high = max(low, min(budget, len(ends) * 5 // 8))
        cut = _cut_near(window, _characters(window, ends, low), _characters(window, ends, high))
        while cut > 1 and (over := self.count(window[:cut]) - budget) > 0:
            cut = max(1, cut - over)
        return max(1, cut)

    def _encode(self, text: str) -> list[int]:
        return self._loaded().encode_ordinary(text)

    def _ends(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token ends, in UTF-8 bytes."""
        import numpy as np

        tokens = np.array(self._encode(text), dtype=np.int32)
        ends: npt.NDArray[np.int64] = np.cumsum(self._lengths[tokens])
        return ends

    def _counts_between(self, text: str, marks: Sequence[int]) -> list[int]:
        import numpy as np

        window = text[marks[0] : marks[-1]]
        if len(window) > _WINDOW:
            return [self.count(window)]
        if len(marks) == 2:
            return [self.count(window)]
        if "\r" not in window:
            lines = [text[start:end] for start, end in pairwise(marks)]
            if sum(map(str.isascii, lines)) * _ODD_LINES >= len(lines) * (_ODD_LINES - 1):
                return [self.count(line) for line in lines]
        ends = self._ends(window)
        if window.isascii():
            offsets = np.array(marks, dtype=np.int64) - marks[0]
        else:
            sizes = [len(text[start:end].encode()) for start, end in pairwise(marks)]
            offsets = np.cumsum([0, *sizes])
        below: list[int] = np.diff(np.searchsorted(ends, offsets, side="right")).tolist()
        return below

    def _loaded(self) -> tiktoken.Encoding:
        encoding = self._encoding
        if encoding is not None:
            return encoding
        with self._lock:
            if self._encoding is None:
                ranks = _read_ranks(self._ranks)
                # These imports take time that a search does not have to pay.
                import numpy as np
                import tiktoken

                self._lengths = np.fromiter(map(len, ranks), dtype=np.int64, count=len(ranks))
                self._encoding = tiktoken.Encoding(
                    TOKENIZER, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}
                )
            return self._encoding


class _Pieces(dict[str, int]):
    """Tokens of the pieces that texts fall into; forgets all when there are too many."""

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, piece: str) -> int:
        cost = len(self._encode(piece))
        if len(piece) <= _LONGEST_PIECE:
            if len(self) >= _MOST_PIECES:
                self.clear()
            self[piece] = cost
        return cost


def _read_ranks(path: Path) -> dict[bytes, int]:
    """Token bytes by rank; tiktoken's own loader would leave a copy in the temporary folder."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MemdeckError(f"token ranks cannot be read: {error}", remedy="Install memdeck again.") from error
    if hashlib.sha256(data).hexdigest() != _RANKS_SHA256:
        raise MemdeckError(f"token ranks are damaged: {path}", remedy="Install memdeck again.")
    return {binascii.a2b_base64(token): rank for rank, token in enumerate(data.split()[::2])}


def _windows(text: str) -> Iterator[str]:
    position = 0
    while len(text) - position > _WINDOW:
        end = position + _WINDOW
        cut = end
        for found in _WINDOW_CUT.finditer(text, end - _CUT_ZONE, end):
            cut = found.start()
        yield text[position:cut]
        position = cut
    yield text[position:]


def _characters(window: str, ends: npt.NDArray[np.int64], tokens: int) -> int:
    """How many whole characters the first `tokens` tokens hold."""
    size = int(ends[tokens - 1]) if tokens else 0
    return size if window.isascii() else len(window.encode("utf-8", "replace")[:size].decode("utf-8", "ignore"))


def _cut_near(window: str, low: int, high: int) -> int:
    """The last sentence end between two positions, else the last word end, else `high`."""
    for boundary in (_SENTENCE_END, _WORD_END):
        cut = 0
        for found in boundary.finditer(window, low, high):
            cut = found.end()
        if low < cut <= high:
            return cut
    return high
