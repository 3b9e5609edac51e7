"""Settings files on disk: read with care, parsed, and the line of every key."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from core.records import record
from core.regexes import late_regex

KeyPath = tuple[str | int, ...]
MAX_BYTES = 1 << 20

_BARE = r'(?:"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+)'
_DOTTED = rf"{_BARE}(?:[ \t]*\.[ \t]*{_BARE})*"
_HEADER = late_regex(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]")
_KEY = late_regex(rf"[ \t]*({_DOTTED})[ \t]*=")
_STRINGS = late_regex(r'""".*?"""|\'\'\'.*?\'\'\'|"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*')


class Unreadable(Exception):
    """A settings file that cannot be used; `line` is where, if known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@record(frozen=True, slots=True)
class SettingsFile:
    """A parsed file: `values` as nested dicts, `lines` 1-based by the path of keys and list positions."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """`file:line` of a key, or of the nearest table around it; the file alone where no line is known."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return f"{self.path}:{self.lines[path[:length]]}"
        return str(self.path)


def read_bytes(path: Path, *, follow: bool = True) -> bytes | None:
    """The bytes of a settings file, None if there is none.

    Raises Unreadable for whatever is not a regular file of at most 1 MiB, and without `follow` for a symlink.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if not follow and error.errno == errno.ELOOP:
            raise Unreadable("is a symlink, which is not followed here") from error
        raise Unreadable(f"cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise Unreadable("is no path") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror})") from error
    finally:
        os.close(descriptor)
    if len(data) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES >> 20} MiB")
    return data


def decode(data: bytes) -> str:
    """UTF-8 text, with or without BOM. Raises Unreadable with the line of the first bad byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("is not UTF-8 text", data[: error.start].count(b"\n") + 1) from error


def shallow(values: object) -> None:
    """Raises Unreadable for what is nested more than 64 deep, which no setting is."""
    level = [values]
    for _ in range(65):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise Unreadable("is nested too deeply")


def parse_toml(path: Path, data: bytes) -> SettingsFile:
    """Raises Unreadable with the parser's reason and its line."""
    import tomllib

    text = decode(data)
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        line = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        last = text.rstrip().count("\n") + 1
        raise Unreadable(
            f"is not TOML: {str(error)[: line.start()] if line else str(error)}", int(line[1]) if line else last
        ) from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    shallow(values)
    return SettingsFile(path, values, toml_lines(text) if values else {})


def toml_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key that begins one, and of every table; keys inside inline tables have none."""
    lines: dict[KeyPath, int] = {}
    positions: dict[KeyPath, int] = {}
    table: KeyPath = ()
    open_string, open_brackets = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if open_string:
            end = line.find(open_string)
            if end < 0:
                continue
            line, open_string = line[end + 3 :], ""
        elif open_brackets == 0:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header is not None:
                table = _located(_names(header[2]), positions, new=header[1] == "[[")
                lines.setdefault(table, number)
                continue
            if key is not None:
                path = (*table, *_names(key[1]))
                for length in range(len(table) + 1, len(path) + 1):
                    lines.setdefault(path[:length], number)
        bare, at = "", 0
        for token in _STRINGS.finditer(line):
            bare += line[at : token.start()]
            at = token.end()
            if token[0] in ('"""', "'''"):
                open_string, at = token[0], len(line)
                break
        bare += line[at:]
        open_brackets += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return lines


def _names(dotted: str) -> KeyPath:
    names: list[str] = []
    for part in re.findall(_BARE, dotted):
        if part.startswith('"'):
            try:
                names.append(json.loads(part))
            except ValueError:
                names.append(part[1:-1])
        else:
            names.append(part.strip("'"))
    return tuple(names)


def _located(names: KeyPath, positions: dict[KeyPath, int], *, new: bool) -> KeyPath:
    """A table's path with the positions of the arrays of tables on its way."""
    path: KeyPath = ()
    for depth, name in enumerate(names):
        path = (*path, name)
        last = depth == len(names) - 1
        if last and new:
            positions[path] = positions.get(path, -1) + 1
        if path in positions and (new or not last):
            path = (*path, positions[path])
    return path
