"""Sessions while a setting that says whose transcripts are read does not count: what is indexed of them stays.

Files can be read again when the setting counts again, but text that was kept of transcripts that are gone cannot.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.types import Document, Scan, ScannedFile, Source

if TYPE_CHECKING:
    from core.sync.intake import Intake, Prepared
    from core.sync.watching import WatchRoot


def with_held_back(intakes: Sequence[Intake], held: Iterable[str]) -> list[Intake]:
    """The intakes, that of sessions taking nothing for deleted when settings about them are `held` back (dotted)."""
    if not any(key == "sources" or key.startswith(("sessions.", "experimental.")) for key in held):
        return list(intakes)
    sessions = next((intake for intake in intakes if intake.source == "sessions"), None)
    return [*(intake for intake in intakes if intake is not sessions), HeldBackSessions(sessions)]


class HeldBackSessions:
    """The intake of sessions, or none, with all that it does not find uncertain."""

    source: Source = "sessions"

    def __init__(self, inner: Intake | None) -> None:
        self._inner = inner

    @property
    def build(self) -> str:
        return self._inner.build if self._inner is not None else ""

    @property
    def scope(self) -> str:
        return self._inner.scope if self._inner is not None else ""

    def watch_roots(self) -> list[WatchRoot]:
        return self._inner.watch_roots() if self._inner is not None else []

    def scan(self, cancel: threading.Event | None = None) -> Scan:
        return _unsure(self._inner.scan(cancel) if self._inner is not None else Scan(()))

    def scan_paths(self, paths: Iterable[str]) -> Scan:
        return _unsure(self._inner.scan_paths(paths) if self._inner is not None else Scan(()))

    def read(self, file: ScannedFile, fresh: bool = False) -> Document:
        assert self._inner is not None
        return self._inner.read(file, fresh)

    def prepare(self, document: Document) -> Prepared:
        assert self._inner is not None
        return self._inner.prepare(document)

    def warm_up(self) -> None:
        if self._inner is not None:
            self._inner.warm_up()

    def kept_places(self) -> tuple[str, ...]:
        return ()


def _unsure(scan: Scan) -> Scan:
    words = "settings about sessions are held back until their file is trusted: what is indexed of sessions stays"
    return replace(scan, uncertain=(*scan.uncertain, "sessions"), problems=(*scan.problems, words))
