"""What reaches standard output and standard error: plain text made safe, JSON, styles, and errors with their remedy."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Final

from core import counted, late_regex

OK: Final = 0
NOTHING: Final = 1
FAILURE: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_STYLES: Final[Mapping[str, str]] = {
    "path": "1",
    "dim": "2",
    "heading": "36",
    "good": "32",
    "warn": "33",
    "bad": "31",
    "mark": "1;33",
}
# JSON allows these bare, terminals act on some of them and line-based tools split at others.
_JSON_UNSAFE: Final = late_regex(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)


class OutputLost(Exception):
    """Standard output cannot be written: closed, or its disk is full."""


class _ClosedStream(io.TextIOBase):
    """Stands in for a standard output that was closed before the program began."""

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, "it is closed")

    def isatty(self) -> bool:
        return False


def prepare_streams() -> None:
    """Make the standard streams safe to write any text to, whatever the locale and whatever the caller closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # A free descriptor below 3 would go to the next file opened, and prints would end up in it.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _ClosedStream()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """`text` as it is to standard output. Raises OutputLost, or BrokenPipeError when the reader has gone."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error.strerror) from error


def flush() -> None:
    """Write out what is still buffered. Raises OutputLost, or BrokenPipeError when the reader has gone."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error.strerror) from error


def discard_output() -> None:
    """Let the interpreter's own flush at exit go nowhere, after a write has failed."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 1)


def visible(text: str, *, keep_newlines: bool = False, keep_tabs: bool = False) -> str:
    """`text` with every control, escape and direction character as a visible mark."""
    from core import visible as marked

    if keep_tabs and "\t" in text:
        return "\t".join(marked(part, keep_newlines=keep_newlines) for part in text.split("\t"))
    return marked(text, keep_newlines=keep_newlines)


def line(text: str = "") -> None:
    """One line on standard output; the caller has made it visible."""
    write(text + "\n")


def note(text: str) -> None:
    """Lines for people on standard error, beside the output proper; control characters become marks."""
    flush()
    sys.stderr.write(visible(text, keep_newlines=True) + "\n")
    sys.stderr.flush()


def json_text(value: object, *, indent: int | None = None) -> str:
    """`value` as JSON in which no character acts on a terminal; parsing gives the raw text back."""
    separators = None if indent is not None else (",", ":")
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    ascii_only = encoding.lower().replace("-", "").replace("_", "") != "utf8"
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return _JSON_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: object) -> None:
    """`value` as JSON: indented on a terminal, else on one line."""
    line(json_text(value, indent=2 if sys.stdout.isatty() else None))


def has_colour(stream: IO[str]) -> bool:
    """Whether `stream` is a terminal that wants colour (NO_COLOR, TERM=dumb)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """`text` in a style (path, dim, heading, good, warn, bad, mark) where standard output shows colour."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text and has_colour(sys.stdout) else text


count = counted


def size(number: int) -> str:
    """Bytes for people: `512 B`, `3.4 kB`, `22 MB` (powers of 1000)."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 99.5 else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("the loop ends at GB")


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def table(rows: list[tuple[str, ...]], *, indent: str = "", gap: str = "  ") -> list[str]:
    """Left-aligned columns, the last one ragged; widths count terminal cells."""
    if not rows:
        return []
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        padded = [cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=False)]
        lines.append((indent + gap.join([*padded, row[-1]])).rstrip())
    return lines


def cells(text: str) -> int:
    """How many terminal cells `text` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def report(message: str, remedy: str = "") -> None:
    """An error: one line `memdeck: …` for each line of it, and a line that says what to do."""
    lines = [f"memdeck: {part}" for part in message.split("\n") if part.strip()] or ["memdeck: failed"]
    if remedy:
        lines.append(f"  {remedy}")
    try:
        flush()
    except (OutputLost, BrokenPipeError):
        discard_output()
    try:
        colour = has_colour(sys.stderr)
        for index, text in enumerate(lines):
            shown = visible(text)
            sys.stderr.write(f"\x1b[31m{shown}\x1b[0m\n" if colour and index == 0 else f"{shown}\n")
        sys.stderr.flush()
    except OSError:
        pass
