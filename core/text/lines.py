"""Bytes to text by one line rule: LF ends a line, CRLF counts once, nothing else does."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from core.errors import Undecodable
from core.records import record
from core.regexes import late_regex
from core.text.words import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REPLACEMENT = "\ufffd"

_JUDGED_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20
_WINDOW_LINES = 128
_WINDOW_BYTES = 1 << 20
_WINDOWS_KEPT = 8
_PIECE_BYTES = 1 << 17
_SURROGATE = late_regex("[\ud800-\udfff]")


@record(frozen=True, slots=True)
class DecodedText:
    """Text with LF line ends and without NUL or lone surrogates; `warning` says what had to be replaced."""

    text: str
    encoding: str
    warning: str | None = None


def decode(data: bytes) -> DecodedText:
    """Turn a file's bytes into text, line numbers unchanged; raises Undecodable.

    UTF-8 with or without BOM, UTF-16 with BOM. CRLF becomes LF, a lone CR stays; bytes that are not valid, NUL and lone
    surrogates become U+FFFD.
    """
    encoding, skip = _encoding_of(data)
    _judge(data[:_JUDGED_BYTES], encoding)
    body = data[skip:]
    codec = _codec(encoding)
    warnings = []
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as error:
        text = body.decode(codec, "replace")
        places = text.count(REPLACEMENT) - body.count(REPLACEMENT.encode(codec))
        line = 1 + body[: error.start].decode(codec, "replace").count("\n")
        name = "UTF-16" if codec.startswith("utf-16") else "UTF-8"
        warnings.append(f"{counted(max(places, 1), 'place')} not valid {name}, the first on line {line}")
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        warnings.append(f"{counted(text.count(chr(0)), 'NUL character')}, the first on line {line}")
    warning = "; ".join(warnings) + ": shown as U+FFFD" if warnings else None
    return DecodedText(_clean(text), encoding, warning)


def split_lines(text: str) -> list[str]:
    """The lines of `text` without their LF; a trailing LF makes no extra line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def line_count(text: str) -> int:
    """How many lines `split_lines` gives."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def scrub(text: str) -> str:
    """`text` without NUL and lone surrogates, which become U+FFFD: what may enter the index."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    return _SURROGATE.sub(REPLACEMENT, text.replace("\0", REPLACEMENT))


class Piece(NamedTuple):
    """Text of whole lines from `line` on or, where `is_part`, of one long line from its byte `offset` on.

    `size` is how many bytes it takes in the file.
    """

    line: int
    offset: int
    text: str
    size: int
    is_part: bool


class LineSource:
    """Lines of a file by number, read on demand; the same lines that `split_lines(decode(bytes))` gives.

    Holds one offset for each line and a few windows of at most 128 lines; a file of hundreds of megabytes is fine.
    Control characters are left as they are. Safe to read from several threads.
    """

    def __init__(
        self, read: Callable[[int, int], bytes], size: int, encoding: str, skip: int, *, fd: int | None = None
    ) -> None:
        self._read = read
        self._fd = fd
        self._path: Path | None = None
        self._stat: os.stat_result | None = None
        self._codec = _codec(encoding)
        self.encoding = encoding
        self.size = size
        self._starts = _line_starts(read, skip, size, self._codec)
        self.line_count = len(self._starts) - 1
        self._windows: OrderedDict[int, list[str]] = OrderedDict()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a regular file; raises OSError (also for symlinks, folders and devices) and Undecodable."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        return cls.from_descriptor(fd, path)

    @classmethod
    def from_descriptor(cls, fd: int, path: Path | None = None) -> Self:
        """Take over an open descriptor (closed on error too); `path`, if known, is what `changed` looks at."""
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(path or ""))

            def read(offset: int, length: int) -> bytes:
                return _pread(fd, offset, length)

            head = read(0, _JUDGED_BYTES)
            encoding, skip = _encoding_of(head)
            _judge(head, encoding)
            source = cls(read, found.st_size, encoding, skip, fd=fd)
        except BaseException:
            os.close(fd)
            raise
        source._path = path
        source._stat = found
        return source

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Lines of a text that is already in memory."""
        data = scrub(text).encode()
        return cls(lambda offset, length: data[offset : offset + length], len(data), "utf-8", 0)

    def ready(self, number: int) -> bool:
        """Whether a line can be had at once, while a screen is drawn."""
        return True

    def line(self, number: int, *, width: int | None = None) -> str:
        """One line (1-based), "" beyond the end; `width` bounds its characters."""
        found = self.lines(number, 1, width=width)
        return found[0] if found else ""

    def lines(self, start: int, count: int, *, width: int | None = None) -> list[str]:
        """Up to `count` lines from `start` (1-based); each cut to `width` characters where given."""
        first = max(1, start)
        last = min(self.line_count, start + count - 1)
        found: list[str] = []
        while first <= last:
            base = (first - 1) // _WINDOW_LINES * _WINDOW_LINES + 1
            end = min(base + _WINDOW_LINES - 1, last)
            found.extend(self._window_lines(base, first, end, width))
            first = end + 1
        return found if width is None else [text[:width] for text in found]

    def pieces(self, first: int = 1, last: int | None = None, *, size: int = _PIECE_BYTES) -> Iterator[Piece]:
        """The text of lines `first` to `last` in pieces of at most `size` bytes; only the last of a line has its LF.

        Nothing is kept of what was read. Raises OSError.
        """
        number = max(1, first)
        end = self.line_count if last is None else min(self.line_count, last)
        while number <= end:
            start = int(self._starts[number - 1])
            last_byte = self._starts.dtype.type(min(start + size, int(self._starts[-1])))
            until = min(int(self._starts.searchsorted(last_byte, side="right")) - 1, end)
            if until < number:
                yield from self._parts(number, size)
                number += 1
                continue
            length = self._span(number, until)
            text = _clean(self._read(start, length).decode(self._codec, "replace"))
            yield Piece(number, 0, text, length, False)
            number = until + 1

    def _parts(self, number: int, size: int) -> Iterator[Piece]:
        """One long line."""
        start, length = int(self._starts[number - 1]), self.line_bytes(number)
        decoder = codecs.getincrementaldecoder(self._codec)("replace")
        at = 0
        while at < length and (data := self._read(start + at, min(size, length - at))):
            offset = at - len(decoder.getstate()[0])
            at += len(data)
            yield Piece(number, offset, _clean(decoder.decode(data, at >= length)), len(data), True)

    def part(self, number: int, offset: int, width: int) -> str:
        """Up to `width` characters of a line, from its byte `offset` on, or from the character that it falls into."""
        start, length = int(self._starts[number - 1]), self.line_bytes(number)
        offset = max(0, min(offset, length))
        if self._codec.startswith("utf-16"):
            offset -= offset % 2
            high = self._read(start + offset + (self._codec == "utf-16-le"), 1)
            offset -= 2 if offset and high and 0xDC <= high[0] < 0xE0 else 0
        else:
            before = self._read(start + max(offset - 3, 0), min(offset, 3) + 1)
            while offset > 0 and len(before) > 1 and 0x80 <= before[-1] < 0xC0:
                before, offset = before[:-1], offset - 1
        data = self._read(start + offset, min(length - offset, 4 * width + 8))
        lines = split_lines(_clean(data.decode(self._codec, "replace")))
        return lines[0][:width] if lines else ""

    def offset_of(self, number: int, offset: int, characters: int) -> int:
        """The byte of a line at which its character stands that comes `characters` after the one at byte `offset`."""
        start, length = int(self._starts[number - 1]), self.line_bytes(number)
        data = self._read(start + offset, min(length - offset, 4 * characters + 8))
        low, high = 0, len(data)
        while low < high:  # the first so many bytes that give more characters than asked for
            middle = (low + high) // 2
            if len(codecs.getincrementaldecoder(self._codec)("replace").decode(data[:middle])) > characters:
                high = middle
            else:
                low = middle + 1
        return offset + max(low - 1, 0)

    def line_bytes(self, number: int) -> int:
        """How many bytes a line takes in the file, its line end included; 0 beyond the end."""
        return self._span(number, number) if 1 <= number <= self.line_count else 0

    def span_bytes(self, first: int, last: int) -> int:
        """How many bytes lines `first` to `last` take in the file."""
        first, last = max(first, 1), min(last, self.line_count)
        return self._span(first, last) if first <= last else 0

    def line_reader(self, number: int) -> Callable[[int], bytes]:
        """Reads the bytes of one line with its line end, piece by piece; b"" at its end and beyond the last line."""
        at = end = 0
        if 1 <= number <= self.line_count:
            at, end = int(self._starts[number - 1]), int(self._starts[number])

        def read(size: int) -> bytes:
            nonlocal at
            data = self._read(at, min(size, end - at)) if at < end else b""
            at = at + len(data) if data else end
            return data

        return read

    def changed(self) -> bool:
        """Whether the file is no longer the one that was opened."""
        if self._stat is None:
            return False
        try:
            if self._path is not None:
                now = self._path.lstat()
            elif self._fd is not None:
                now = os.fstat(self._fd)
            else:
                return False
        except OSError:
            return True
        return _identity(now) != _identity(self._stat)

    def close(self) -> None:
        """Let the file go; reading afterwards gives empty lines."""
        fd, self._fd = self._fd, None
        if fd is not None:
            self._read = lambda offset, length: b""
            self._windows.clear()
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _window_lines(self, base: int, first: int, last: int, width: int | None) -> list[str]:
        """Lines first..last of the window that starts at `base`."""
        cached = self._windows.get(base)
        if cached is None:
            end = min(base + _WINDOW_LINES - 1, self.line_count)
            if self._span(base, end) > _WINDOW_BYTES:
                if width is None:
                    return self._load(first, last)
                return [self._load_head(number, width) for number in range(first, last + 1)]
            cached = self._load(base, end)
            self._windows[base] = cached
            while len(self._windows) > _WINDOWS_KEPT:
                self._windows.popitem(last=False)
        return cached[first - base : last - base + 1]

    def _span(self, first: int, last: int) -> int:
        return int(self._starts[last] - self._starts[first - 1])

    def _load(self, first: int, last: int) -> list[str]:
        data = self._read(int(self._starts[first - 1]), self._span(first, last))
        lines = split_lines(_clean(data.decode(self._codec, "replace")))
        wanted = last - first + 1
        # A file that was cut short since it was opened still gives every line asked for.
        return lines[:wanted] + [""] * (wanted - len(lines))

    def _load_head(self, number: int, width: int) -> str:
        length = min(self._span(number, number), 4 * width + 8)
        data = self._read(int(self._starts[number - 1]), length)
        lines = split_lines(_clean(data.decode(self._codec, "replace")))
        return lines[0][:width] if lines else ""


def _encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding that the first bytes tell, and how many of them are its mark."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise Undecodable("not decodable: UTF-32", remedy="Save it as UTF-8.")
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig", 3
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", 2
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    return "utf-8", 0


def _judge(head: bytes, encoding: str) -> None:
    """Refuse what is no text: many NULs (UTF-16 without its mark, binary data) or mostly invalid bytes."""
    if encoding.startswith("utf-16"):
        return
    nuls = head.count(0)
    if nuls > 1 and nuls * 10 > len(head):
        raise Undecodable("not decodable: NUL bytes as in UTF-16 without a byte order mark, or binary data")
    try:
        head.decode()
    except UnicodeDecodeError:
        bad = head.decode(errors="replace").count(REPLACEMENT) - head.count(REPLACEMENT.encode())
        if bad >= 8 and bad * 10 > len(head) * 3:
            raise Undecodable("not decodable: neither UTF-8 nor UTF-16 text", remedy="Save it as UTF-8.") from None


def _codec(encoding: str) -> str:
    # The mark is cut off by hand, so that a U+FEFF further on stays what it is.
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\0", REPLACEMENT)


def _line_starts(
    read: Callable[[int, int], bytes], skip: int, size: int, codec: str
) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]:
    """Byte offsets of the lines' starts, and of the end; in half the room where they fit."""
    import numpy as np

    wide = codec.startswith("utf-16")
    unit = 2 if wide else 1
    dtype = np.dtype("<u2" if codec == "utf-16-le" else ">u2") if wide else np.dtype(np.uint8)
    kind = np.uint32 if size < 1 << 32 else np.uint64
    blocks = [np.array([skip], dtype=kind)]
    offset, last = skip, skip
    while offset < size:
        data = read(offset, min(_BLOCK_BYTES, size - offset))
        if not data:
            break
        units = np.frombuffer(data, dtype=dtype, count=len(data) // unit)
        starts = offset + (np.flatnonzero(units == 10) + 1) * unit
        blocks.append(starts.astype(kind))
        last = int(starts[-1]) if len(starts) else last
        offset += len(data)
    end = max(offset, skip)
    if last != end:
        blocks.append(np.array([end], dtype=kind))
    return np.concatenate(blocks)


def _pread(fd: int, offset: int, length: int) -> bytes:
    data = os.pread(fd, length, offset)
    if not data or len(data) == length:
        return data
    parts = [data]
    got = len(data)
    while got < length and (more := os.pread(fd, length - got, offset + got)):
        parts.append(more)
        got += len(more)
    return b"".join(parts)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
