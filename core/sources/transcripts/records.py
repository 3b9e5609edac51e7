"""Lines of a transcript file and the JSON objects on them; neither huge lines nor broken ones stop the reading."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson
import zstandard

from core.sources.transcripts.model import Record

BASE64_MARK = "[base64]"
"""What stands in place of a long run of base64."""
LONGEST_LINE = 16 << 20
"""Bytes of one line that are held at most, its base64 cut out; what is longer is named and left out."""

_BLOCK = 1 << 20
_LONG = 64 << 10
_HEAD = 4096
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_MASK = bytes(b"a"[0] if byte in _BASE64 else b" "[0] for byte in range(256))
_RUN = b"a" * 2048
_BOM = b"\xef\xbb\xbf"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Read = Callable[[int], bytes]


class Line(NamedTuple):
    """A physical line: its number (1-based), the byte after its end, its bytes with long base64 cut out.

    `ended` is False for a last line without a line end, `whole` False when it was too long to be held.
    """

    number: int
    end: int
    data: bytes
    ended: bool = True
    whole: bool = True


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a regular file for reading, following no symlink; raises OSError."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        file = os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


@contextmanager
def unpacked(path: str) -> Iterator[Read]:
    """A reader of a file's bytes, decompressed where its name says `.zst`; raises OSError, for a damaged one too."""
    with opened(path) as file:
        if not path.endswith(".zst"):
            yield file.read
            return
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)

        def read(size: int) -> bytes:
            try:
                return reader.read(size)
            except zstandard.ZstdError as error:
                raise OSError(errno.EIO, f"not a whole zstd file ({error})", path) from error

        yield read


def lines_of(read: Read, *, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """The lines that `read` gives, the first of them being line `number` + 1 at byte `offset`."""
    pending: list[bytes] = []
    held = 0
    whole = True
    base = offset
    while block := read(_BLOCK):
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            data = block[start:end]
            number += 1
            if pending:
                pending.append(cut_base64(data))
                data = b"".join(pending)
                whole = whole and len(data) <= LONGEST_LINE
                pending.clear()
                held = 0
            elif len(data) > _LONG:
                data = cut_base64(data)
            if number == 1 and data.startswith(_BOM):
                data = data[3:]
            yield Line(number, base + end + 1, data if whole else data[:_HEAD], True, whole)
            whole = True
            start = end + 1
        rest = block[start:] if start else block
        if rest:
            kept = cut_base64(rest) if whole else b""
            held += len(kept)
            pending.append(kept)
            if held > LONGEST_LINE and whole:
                whole = False
                pending = [b"".join(pending)[:_HEAD]]
        base += len(block)
    if pending or not whole:
        data = b"".join(pending)
        if number == 0 and data.startswith(_BOM):
            data = data[3:]
        yield Line(number + 1, base, data, False, whole)


def cut_base64(data: bytes) -> bytes:
    """`data` with runs of 2,048 or more base64 characters as one mark; costs linear time, about 1 ms for a MiB."""
    if len(data) < len(_RUN):
        return data
    mask = data.translate(_MASK)
    start = mask.find(_RUN)
    if start < 0:
        return data
    pieces = []
    done = 0
    while start >= 0:
        end = mask.find(b" ", start + len(_RUN))
        end = len(data) if end < 0 else end
        pieces += [data[done:start], BASE64_MARK.encode()]
        done = end
        start = mask.find(_RUN, end)
    return b"".join([*pieces, data[done:]])


def parse_record(data: bytes) -> Record | str:
    """The object on a line, or why there is none. NaN and half surrogate pairs inside an object are forgiven."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        value = _forgiving(data, str(error))
        if isinstance(value, _Broken):
            return value.why
    return value if isinstance(value, dict) else f"not a JSON object but {_kind(value)}"


class _Broken(NamedTuple):
    why: str


def _forgiving(data: bytes, why: str) -> object:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        return _Broken("nested too deeply")
    except ValueError as error:
        return _Broken(f"not JSON: {str(error).partition(':')[0] or why}")


def _kind(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "a constant"
    names: dict[type, str] = {list: "a list", str: "a text"}
    return names.get(type(value), "a number")


def first_records(path: str, most: int = 20, size: int = 256 << 10) -> list[Record]:
    """The first objects of a JSONL file, for telling what it is; raises OSError."""
    found: list[Record] = []
    with unpacked(path) as read:
        data = read(size)
    for line in data.split(b"\n")[:-1] or [data]:
        parsed = parse_record(line)
        if isinstance(parsed, dict):
            found.append(parsed)
            if len(found) >= most:
                break
    return found


def read_json(path: Path, size: int = 4 << 20) -> object:
    """A small JSON file beside a transcript; None when it is absent, too large or broken."""
    try:
        with opened(str(path)) as file:
            data = file.read(size + 1)
    except OSError:
        return None
    if not data or len(data) > size:
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
