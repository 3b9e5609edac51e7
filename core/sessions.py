"""The transcripts of one memory: their intake, their text by physical line, and when their growth is worth a sync."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from core.settings.model import Settings
from core.sources.rules import is_within
from core.sources.transcripts.ranges import render_stored
from core.sources.transcripts.reader import SessionReader
from core.sources.transcripts.view import SessionView
from core.sync.growth import KeptSession, StoredSessions
from core.sync.kept_sessions import kept_by_line, kept_view
from core.sync.session_deltas import SessionDeltas
from core.sync.session_intake import SessionIntake
from core.text.lines import LineSource
from core.text.tokens import TokenCounter
from core.types import GetResult


class Sessions:
    """Everything that a memory does with transcripts; nothing of another agent is looked at before it is asked for.

    `deliver` gets the absolute paths of transcripts that have grown enough, on a thread that must not be blocked.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: Path,
        workspace: Path,
        agent: str,
        home: Path,
        environ: Mapping[str, str],
        counter: TokenCounter,
        deliver: Callable[[tuple[str, ...]], None],
    ) -> None:
        self._index = StoredSessions(store)
        self._keeps_deleted = settings.sessions.keep_deleted
        self._deltas = SessionDeltas(settings.sync.sessions, self._index, deliver)
        self.intake = SessionIntake(
            settings,
            home=home,
            environ=environ,
            counter=counter,
            agent=agent,
            workspace=workspace,
            index=self._index,
        )

    @cached_property
    def reader(self) -> SessionReader:
        """Reads sessions by their document path."""
        return SessionReader(self.intake.finder, self.intake.redact, self.intake.roles)

    def get(self, path: str, from_line: int | None, lines: int | None) -> GetResult:
        """Messages whose physical line lies in the range, rendered and masked. Raises OSError, Undecodable.

        Of a transcript that is gone they come from the index, where they were kept.
        """
        kept = self._index.kept(path, marked=True)
        if kept is None:
            try:
                return self.reader.render_range(path, from_line, lines)
            except FileNotFoundError as error:
                kept = self._just_gone(path, error)
        return replace(render_stored(path, kept.chunks, from_line, lines), source_gone=True)

    def view(self, path: str, near: int | None, cancel: threading.Event | None) -> SessionView:
        """A session for showing, whole or at once near a line; of one whose transcript is gone what was kept.

        Raises OSError, Undecodable, SyncCancelled.
        """
        kept = self._index.kept(path, marked=True)
        if kept is None:
            try:
                if near is not None:
                    return self.reader.read_near(path, near, cancel)
                return self.reader.read_session(path, cancel)
            except FileNotFoundError as error:
                kept = self._just_gone(path, error)
        return kept_view(kept, self.intake.redact)

    def _just_gone(self, path: str, error: FileNotFoundError) -> KeptSession:
        """What the index has of a transcript that no sync has missed yet, where it is to be kept; else raises."""
        kept = self._index.kept(path, marked=False) if self._keeps_deleted else None
        if kept is None:
            raise error
        return kept

    def lines(self, path: str) -> LineSource:
        """A session by its physical lines: what was said on each, masked, in one line; "" where nothing was.

        Raises OSError.
        """
        kept = self._index.kept(path, marked=True)
        if kept is None:
            try:
                return self.reader.said_lines(path)
            except FileNotFoundError as error:
                kept = self._just_gone(path, error)
        return _source_of(kept_by_line(kept, self.intake.redact, self.intake.roles))

    def documents_in(self, absolute: str) -> list[str]:
        """The document paths of the sessions in a transcript's file; of one that is gone those that were kept."""
        found, _ = self.intake.finder.look(near=(absolute,))
        there = [one.path for one in found if one.absolute == absolute]
        return there or [one.path for one in self._index.known_sizes(absolute)]

    def take_changes(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Keep the transcripts among changed `paths` until they have grown enough; the other paths come back."""
        roots = [root.path for root in self.intake.watch_roots()]
        own = [path for path in paths if any(is_within(path, root) for root in roots)]
        if own:
            self._deltas.changed(own)
        return tuple(path for path in paths if path not in own)

    def close(self) -> None:
        self._deltas.close()
        self._index.close()


def _source_of(said: Sequence[str]) -> LineSource:
    return LineSource.from_text("".join(f"{words}\n" for words in said))
