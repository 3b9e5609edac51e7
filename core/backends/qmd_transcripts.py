"""The sessions that the index reads, offered for export: the same transcripts, the same masking."""

from __future__ import annotations

import errno
import os
import threading
from typing import Protocol, runtime_checkable

from core.backends.qmd_sessions import MaskedSession, SessionList, SessionRef
from core.types import Document, Scan, ScannedFile


class TranscriptIntake(Protocol):
    """The intake of transcripts, as far as an export needs it."""

    @property
    def build(self) -> str: ...

    def scan(self, cancel: threading.Event | None = None) -> Scan: ...

    def read(self, file: ScannedFile, fresh: bool = False) -> Document: ...


@runtime_checkable
class LineMapped(Protocol):
    """A document whose lines stand elsewhere: `line_map` has the physical line of each, `line_times` its epoch ms."""

    @property
    def line_map(self) -> tuple[int, ...]: ...

    @property
    def line_times(self) -> tuple[int | None, ...]: ...


class IntakeSessions:
    """Sessions of an intake that belongs to this object alone, for one thread at a time."""

    def __init__(self, intake: TranscriptIntake) -> None:
        self._intake = intake
        self._files: dict[str, ScannedFile] = {}

    def list(self) -> SessionList:
        """Raises OSError, SyncCancelled."""
        scan, build = self._intake.scan(), self._intake.build
        self._files = {file.path: file for file in scan.files}
        refs = [SessionRef(file.path, f"{build} {file.stat}", file.stat.mtime_ns // 1_000_000) for file in scan.files]
        return SessionList(tuple(refs), scan.uncertain)

    def render(self, path: str) -> MaskedSession:
        """The whole text of a session. Raises OSError, MemdeckError."""
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        document = self._intake.read(file, fresh=True)
        return MaskedSession(
            text=document.text,
            line_map=document.line_map if isinstance(document, LineMapped) else (),
            line_times=document.line_times if isinstance(document, LineMapped) else (),
            title=document.title or "",
            dialect=document.dialect,
            date_ms=document.date_ms,
        )
