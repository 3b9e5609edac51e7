"""A large transcript by its physical lines: each is read, masked and made one line of text when it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from core.text.lines import LineSource, Piece, split_lines

READ_AT_ONCE = 16 << 10
"""Bytes of a record that may be read while a screen is drawn."""
_LINES_KEPT = 2048
_CHARACTERS_KEPT = 8_000_000

Read = Callable[[int], bytes]
Say = Callable[[Read], str]


class SaidLines(LineSource):
    """What `say` makes of the bytes of each line. Of what was read some thousand lines, or some MB, are kept."""

    _say: Say
    _said: OrderedDict[int, str]
    _held: int

    @classmethod
    def over(cls, path: Path, say: Say) -> SaidLines:
        """Open a transcript. Raises what `LineSource.open` raises."""
        source = cls.open(path)
        source._say = say
        source._said = OrderedDict()
        source._held = 0
        return source

    def ready(self, number: int) -> bool:
        return number in self._said or self.line_bytes(number) <= READ_AT_ONCE

    def line(self, number: int, *, width: int | None = None) -> str:
        text = self._said.get(number)
        if text is None:
            text = ""
            try:
                text = self._make(number)
            finally:  # What cannot be read is not tried again for each drawing.
                self._said[number] = text
                self._held += len(text)
                while len(self._said) > _LINES_KEPT or (self._held > _CHARACTERS_KEPT and len(self._said) > 1):
                    self._held -= len(self._said.popitem(last=False)[1])
        return text[:width]

    def lines(self, start: int, count: int, *, width: int | None = None) -> list[str]:
        first, last = max(1, start), min(self.line_count, start + count - 1)
        return [self.line(number, width=width) for number in range(first, last + 1)]

    def pieces(self, first: int = 1, last: int | None = None, *, size: int = 1 << 17) -> Iterator[Piece]:
        """The text of some lines; `size` counts the bytes of the records, and so do the pieces."""
        number, end = max(1, first), self.line_count if last is None else min(self.line_count, last)
        while number <= end:
            start, read = number, 0
            texts: list[str] = []
            while number <= end and (not texts or read + self.line_bytes(number) <= size):
                known = self._said.get(number)
                texts.append(self._make(number) if known is None else known)
                read += self.line_bytes(number)
                number += 1
            yield Piece(start, 0, "".join(f"{text}\n" for text in texts), read, False)

    def part(self, number: int, offset: int, width: int) -> str:
        return self.line(number).encode()[offset:].decode(errors="ignore")[:width]

    def offset_of(self, number: int, offset: int, characters: int) -> int:
        return offset + len(self.line(number).encode()[offset:].decode(errors="ignore")[:characters].encode())

    def _make(self, number: int) -> str:
        lines = split_lines(self._say(self.line_reader(number)))
        return lines[0] if lines else ""
