"""Writes sessions, masked, as Markdown for qmd, and leads its finds back to the lines of the transcripts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Protocol

from core.backends.qmd_hits import FoundDocument
from core.errors import MemdeckError
from core.records import record
from core.sources.rules import is_within
from core.text.lines import scrub, split_lines
from core.types import FileFailure

HEAD_LINES = 2
"""Lines of an exported file before the session's first: its title and a blank one."""

_MANIFEST = ".memdeck-export.json"
_MAPS = ".memdeck-lines"
_DAY_MS = 86_400_000
_FORMAT = "2"
"""Of what is written for a session; an export of another format is written anew."""


@record(frozen=True, slots=True)
class SessionRef:
    """A session that can be exported. `path` is its document's path, `last_ms` its last activity (epoch ms).

    `key` differs whenever the masked text may differ: it covers the transcript's state and the masking.
    """

    path: str
    key: str
    last_ms: int


@record(frozen=True, slots=True)
class MaskedSession:
    """A session as text, one message a line, secrets masked in title and text alike.

    `line_map` has for each line of `text` the physical line of the transcript, `line_times` when it was said
    (epoch ms), if that is known.
    """

    text: str
    line_map: Sequence[int]
    line_times: Sequence[int | None] = ()
    title: str = ""
    dialect: str | None = None
    date_ms: int | None = None


@record(frozen=True, slots=True)
class SessionList:
    """All sessions, but for those below the path prefixes `uncertain`: these could not be looked at."""

    refs: tuple[SessionRef, ...]
    uncertain: tuple[str, ...] = ()


class MaskedSessions(Protocol):
    """Where sessions come from."""

    def list(self) -> SessionList:
        """Raises OSError."""
        ...

    def render(self, path: str) -> MaskedSession:
        """The text of one session. Raises OSError, MemdeckError."""
        ...


@record(frozen=True, slots=True)
class ExportReport:
    """What an export did; `failed` sessions keep their last export and are tried again."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: tuple[FileFailure, ...] = ()


@record(slots=True)
class _Entry:
    path: str
    key: str
    last_ms: int
    title: str = ""
    dialect: str | None = None
    date_ms: int | None = None


@record(slots=True)
class _Counts:
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: list[FileFailure] = field(default_factory=list)


class SessionExport:
    """A folder of exported sessions. It may hold other files: only what the manifest names is replaced or removed."""

    def __init__(
        self, folder: Path, *, retention_days: int | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.folder = folder
        self._retention_days = retention_days
        self._now = now

    def export(
        self,
        source: MaskedSessions,
        cancelled: Callable[[], bool] = lambda: False,
        *,
        forgotten: Set[str] = frozenset(),
    ) -> ExportReport:
        """Write what changed, remove what is too old, gone or `forgotten` (paths).

        Raises OSError where the folder cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / _MAPS).mkdir(mode=0o700, exist_ok=True)
        kept = self._manifest()
        listed = source.list()
        counts = _Counts()
        wanted: set[str] = set()
        try:
            for ref in listed.refs:
                if cancelled():
                    return ExportReport(counts.written, counts.unchanged, counts.removed, tuple(counts.failed))
                name = _file_name(ref.path)
                if not self._is_recent(ref.last_ms) or ref.path in forgotten:
                    continue
                wanted.add(name)
                self._export_one(name, ref, source, kept, counts)
            for name, entry in list(kept.items()):
                lost = any(is_within(entry.path, prefix) for prefix in listed.uncertain)
                keep = lost and self._is_recent(entry.last_ms) and entry.path not in forgotten
                if name not in wanted and not keep:
                    self._remove(name)
                    del kept[name]
                    counts.removed += 1
        finally:
            rows = {name: asdict(entry) for name, entry in sorted(kept.items())}
            _write(self.folder / _MANIFEST, json.dumps(rows, ensure_ascii=False))
        return ExportReport(counts.written, counts.unchanged, counts.removed, tuple(counts.failed))

    def _export_one(
        self, name: str, ref: SessionRef, source: MaskedSessions, kept: dict[str, _Entry], counts: _Counts
    ) -> None:
        known, key = kept.get(name), f"{_FORMAT} {ref.key}"
        if known is not None and known.key == key and (self.folder / name).exists():
            known.last_ms = ref.last_ms
            counts.unchanged += 1
            return
        try:
            session = source.render(ref.path)
        except (OSError, MemdeckError) as error:
            counts.failed.append(FileFailure("sessions", ref.path, str(error), 1, int(self._now() * 1000)))
            return
        lines = split_lines(scrub(session.text))
        title = " ".join(scrub(session.title).split())
        head = f"# Session {Path(ref.path).stem}{f': {title}' if title else ''}"
        maps = {"lines": session.line_map[: len(lines)], "times": session.line_times[: len(lines)]}
        _write(self.folder / _MAPS / f"{name}.json", json.dumps(maps))
        _write(self.folder / name, "\n".join([head, "", *lines, ""]))
        kept[name] = _Entry(ref.path, key, ref.last_ms, title, session.dialect, session.date_ms)
        counts.written += 1

    def document(self, name: str) -> FoundDocument:
        """The session that an exported file holds, cited by the lines of its transcript. Raises OSError."""
        entry = self._manifest().get(name)
        if entry is None:
            raise FileNotFoundError(f"{name} is no exported session")
        lines = split_lines((self.folder / name).read_text("utf-8", "replace"))[HEAD_LINES:]
        try:
            maps = json.loads((self.folder / _MAPS / f"{name}.json").read_text())
            physical = [int(line) for line in maps["lines"]]
            times = [None if time is None else int(time) for time in maps["times"]]
        except (ValueError, TypeError, KeyError) as error:
            raise OSError(f"the line map of {name} cannot be read") from error
        if len(physical) != len(lines) or (times and len(times) != len(lines)):
            raise OSError(f"the line map of {name} does not fit it")
        return FoundDocument(
            source="sessions",
            path=entry.path,
            lines=lines,
            physical=physical,
            times=times,
            date_ms=entry.date_ms,
            mtime_ms=entry.last_ms,
            dialect=entry.dialect,
            title=entry.title,
        )

    def count(self) -> int:
        """How many sessions are exported."""
        return len(self._manifest())

    def clear(self) -> None:
        """Remove all that was exported. Raises OSError."""
        for name in self._manifest():
            self._remove(name)
        (self.folder / _MANIFEST).unlink(missing_ok=True)

    def _is_recent(self, last_ms: int) -> bool:
        days = self._retention_days
        return days is None or last_ms >= self._now() * 1000 - days * _DAY_MS

    def _manifest(self) -> dict[str, _Entry]:
        try:
            rows = json.loads((self.folder / _MANIFEST).read_text("utf-8"))
            return {str(name): _Entry(**row) for name, row in rows.items() if Path(name).name == name}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _remove(self, name: str) -> None:
        for file in (self.folder / name, self.folder / _MAPS / f"{name}.json"):
            with suppress(FileNotFoundError):
                file.unlink()


def _file_name(path: str) -> str:
    """A file name for a session's path: readable, and different for different paths."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", path.removeprefix("sessions/").removesuffix(".jsonl")).strip("-.")
    return f"{readable[:80]}-{hashlib.sha256(path.encode('utf-8', 'replace')).hexdigest()[:8]}.md"


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all, for this user alone."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as out:  # noqa: PTH123
            out.write(text)
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
