"""Writing into memory, only where the user asks: notes, excerpts, the flush before compaction, and what agents load."""

from __future__ import annotations

import errno
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from pathlib import Path

from core.errors import MemdeckError, NotAllowed, Undecodable
from core.records import record
from core.settings.model import Flush
from core.sources.rules import MEMORY_FOLDER, MEMORY_NAMES
from core.text.lines import decode, split_lines
from core.types import Citation, GetResult

SLUG_CHARACTERS = 30


class WriteFailed(MemdeckError):
    """A note could not be written; nothing of it was."""


@record(frozen=True, slots=True)
class Written:
    """What was written, and where it stands: 1-based lines, inclusive; `warning` says why it is not indexed yet."""

    path: str
    absolute: Path
    citation: Citation
    warning: str = ""


@record(frozen=True, slots=True)
class Excerpt:
    """Messages of a session to keep: (role, text) each, and the citation of the transcript that they come from."""

    title: str
    source: str
    session_id: str
    messages: Sequence[tuple[str, str]]


@record(frozen=True, slots=True)
class FlushDue:
    """Whether an agent should flush now, and why (or why not)."""

    due: bool
    reason: str


def append_note(workspace: Path, text: str, *, now: datetime) -> Written:
    """Append `text` to the note of `now`'s local day; the file and its folder are made where missing.

    The text goes out in one write at the end of the file, in the file's encoding, so that what others append meanwhile
    is never lost. Raises WriteFailed for blank text, a symlink in the way, a file that is no text, or a disk that
    refuses; the file is then as it was.
    """
    body = text.replace("\r\n", "\n").replace("\0", "\ufffd").strip("\n")
    if not body.strip():
        raise WriteFailed("the note is empty")
    day = now.date().isoformat()
    folder = _memory_folder(workspace)
    file = folder / f"{day}.md"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with _told(file):
        descriptor = os.open(file, flags, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            before, codec = _text_before(file, descriptor, size)
            lead = f"# {day}\n\n" if not before else "" if before.endswith("\n") else "\n"
            start = _append(descriptor, f"{lead}{body}\n".encode(codec, "replace"))
            if start != size:  # others appended meanwhile
                before, _ = _text_before(file, descriptor, start)
        finally:
            os.close(descriptor)
    first = before.count("\n") + lead.count("\n") + 1
    path = f"{MEMORY_FOLDER}/{file.name}"
    return Written(path, file, Citation(path, first, first + body.count("\n")))


def save_excerpt(workspace: Path, excerpt: Excerpt, *, now: datetime, slug: str | None = None) -> Written:
    """Write messages as `memory/YYYY-MM-DD-<slug>.md`, a new file always (`-2`, `-3`… when the name is taken).

    The slug comes from `slug` or the title, else from the local time (HHMM). Raises WriteFailed.
    """
    if not excerpt.messages:
        raise WriteFailed("there is no message to save")
    name = slugify(slug or excerpt.title) or now.strftime("%H%M")
    text = "\n".join(
        [
            f"# Session: {now.strftime('%Y-%m-%d %H:%M %Z').strip()}",
            "",
            f"- **Title**: {_one_line(excerpt.title) or '(none)'}",
            f"- **Session ID**: {_one_line(excerpt.session_id)}",
            f"- **Source**: {_one_line(excerpt.source)}",
            "",
            "## Conversation",
            "",
            *(f"{role}: {_one_line(text)}" for role, text in excerpt.messages),
            "",
        ]
    )
    folder = _memory_folder(workspace)
    for number in range(1, 1000):
        suffix = "" if number == 1 else f"-{number}"
        file = folder / f"{now.date().isoformat()}-{name}{suffix}.md"
        try:
            with _told(file):
                _create(file, text)
        except FileExistsError:
            continue
        path = f"{MEMORY_FOLDER}/{file.name}"
        return Written(path, file, Citation(path, 1, len(split_lines(text))))
    raise WriteFailed(f"there are too many files named {name} today")


def slugify(text: str) -> str:
    """Lower-case `[a-z0-9-]`, 30 characters at most, accents dropped; "" when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_CHARACTERS].strip("-")


def context(read: Callable[[str], GetResult], *, today: date) -> list[GetResult]:
    """What an agent loads at its start: the memory file, then today's and yesterday's notes; those that have text.

    `read` gives lines of a document; each part is bounded by what it returns.
    """
    wanted = [[*MEMORY_NAMES]]
    for age in (0, 1):
        wanted.append([f"{MEMORY_FOLDER}/{(today - timedelta(days=age)).isoformat()}.md"])
    parts = []
    for names in wanted:
        found = next((result for name in names if (result := read(name)).status == "ok"), None)
        if found is not None:
            parts.append(found)
    return parts


def flush_due(
    settings: Flush,
    *,
    tokens: int | None = None,
    context_window: int | None = None,
    transcript: Path | None = None,
    session_key: str = "",
    cycle: int = 0,
    state: Mapping[str, int],
) -> FlushDue:
    """Whether the flush before compaction is due: `tokens` in use against the window, or the transcript's size.

    Due at contextWindow − reserveTokensFloor − softThresholdTokens; once for each compaction `cycle` of a session, as
    `state` (session key → last cycle flushed) remembers.
    """
    if not settings.enabled:
        return FlushDue(False, "switched off in the settings")
    if state.get(session_key) == cycle and session_key in state:
        return FlushDue(False, f"done already in compaction cycle {cycle}")
    if transcript is not None:
        try:
            size = transcript.stat().st_size
        except OSError as error:
            return FlushDue(False, f"the transcript cannot be looked at: {error.strerror}")
        if size >= settings.force_flush_transcript_bytes:
            return FlushDue(
                True, f"the transcript has {size} bytes, {settings.force_flush_transcript_bytes} are the bound"
            )
    window = context_window or settings.context_window
    threshold = max(1, window - settings.reserve_tokens_floor - settings.soft_threshold_tokens)
    if tokens is None:
        return FlushDue(False, f"no token count was given; it is due at {threshold}")
    if tokens >= threshold:
        return FlushDue(True, f"{tokens} tokens are in use, {threshold} are the bound")
    return FlushDue(False, f"{tokens} tokens are in use; it is due at {threshold}")


def read_flush_state(file: Path) -> dict[str, int]:
    """Session key → compaction cycle that was flushed last; {} where there is none or it cannot be read."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {str(key): value for key, value in values.items() if isinstance(value, int)}


def note_flush(file: Path, session_key: str, cycle: int) -> None:
    """Remember that `session_key` was flushed in `cycle`. Raises WriteFailed."""
    state = {**read_flush_state(file), session_key: cycle}
    with _told(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        swap = file.with_name(f".{file.name}.{os.getpid()}")
        swap.write_text(json.dumps(state), encoding="utf-8")
        swap.replace(file)


def _memory_folder(workspace: Path) -> Path:
    folder = workspace / MEMORY_FOLDER
    with _told(folder):
        with suppress(FileExistsError):
            folder.mkdir()
        if folder.is_symlink() or not folder.is_dir():
            raise NotAllowed(f"{folder} is no folder of the workspace")
    return folder


def _text_before(file: Path, descriptor: int, size: int) -> tuple[str, str]:
    """The text of the first `size` bytes, and the codec of what may follow them. Raises WriteFailed."""
    try:
        decoded = decode(os.pread(descriptor, size, 0))
    except Undecodable as error:
        raise WriteFailed(f"{file}: {error}", remedy=error.remedy or "Save it as UTF-8.") from error
    codec = "utf-8" if decoded.encoding == "utf-8-sig" else decoded.encoding
    if codec.startswith("utf-16") and size % 2:
        raise WriteFailed(f"{file} ends in the middle of a character", remedy="Save it anew, best as UTF-8.")
    return decoded.text, codec


def _append(descriptor: int, data: bytes) -> int:
    """Write at the end of the file, to the disk; the byte where it begins. Of what fails nothing stays."""
    start = None
    try:
        written = os.write(descriptor, data)
        start = os.lseek(descriptor, 0, os.SEEK_CUR) - written
        _write_whole(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError:
        if start is not None and os.fstat(descriptor).st_size == os.lseek(descriptor, 0, os.SEEK_CUR):
            os.ftruncate(descriptor, start)  # nobody has appended behind it
        raise
    return start


def _write_whole(descriptor: int, data: bytes) -> None:
    while data:  # a disk that fills up: what is missing is written, or the error is told
        data = data[os.write(descriptor, data) :]


def _create(file: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o666)
    try:
        _write_whole(descriptor, text.encode("utf-8", "replace"))
        os.fsync(descriptor)
    except OSError:
        file.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _one_line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Errors of the file system as WriteFailed; a name that is taken passes."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise WriteFailed(f"{file} is a symlink, which memory never follows") from error
        raise WriteFailed(f"{file} cannot be written: {error.strerror}") from error
