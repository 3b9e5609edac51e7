"""One agent's memory, opened: search, get, sync, status, events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from core.backends.choice import Whose, choose_backend
from core.bus import EventBus
from core.embedding.select import select_embedder
from core.errors import StoreError, StoreMissing
from core.settings import LoadedSettings
from core.types import (
    Finding,
    GetResult,
    IndexedDocument,
    SearchRequest,
    SearchResult,
    Status,
    SyncReason,
    SyncReport,
)

# A search pays for no more than it uses: what writes, watches and examines is imported where it begins.
if TYPE_CHECKING:
    from core.backends.base import PartialListener
    from core.by_path import ByPath
    from core.capture import Excerpt, FlushDue, Written
    from core.sessions import Sessions
    from core.sources.transcripts.view import SessionView
    from core.sync.intake import Intake
    from core.sync.messages import ProgressListener
    from core.sync.session_list import SessionInfo
    from core.sync.watcher import Watcher
    from core.sync.watching import WatchRoot, WatchState
    from core.text.lines import LineSource
    from core.text.tokens import TokenCounter


class Memory:
    """The memory of one agent in one workspace. Open it with `open_memory`, close it with `close`.

    Calls block and may come from any thread; `start` keeps the index in step in the background.
    """

    def __init__(
        self,
        *,
        agent: str,
        workspace: Path,
        store: Path,
        settings: LoadedSettings,
        home: Path,
        cache_dir: Path,
        state_dir: Path,
        environ: Mapping[str, str],
        resident: bool,
    ) -> None:
        self.agent = agent
        self.workspace = workspace
        self.store_path = store
        self.settings = settings
        self.events = EventBus()
        self._home = home
        self._environ = environ
        self._flush_state = state_dir / "flushes.json"
        self.selection = select_embedder(settings.settings, environ=environ, cache_dir=cache_dir)
        whose = Whose(agent, workspace, home, environ, resident)
        self.backend = choose_backend(store, settings.settings, self.selection, self._intakes, self.events, whose)
        self._started_sessions: set[str] = set()
        self._on_close: list[Callable[[], None]] = []
        self._background = False
        self._watcher: Watcher | None = None

    @cached_property
    def _counter(self) -> TokenCounter:
        from core.text.tokens import TokenCounter

        return TokenCounter()

    @cached_property
    def _sessions(self) -> Sessions | None:
        """The transcripts; None unless the settings say whose may be read."""
        values = self.settings.settings
        if "sessions" not in values.sources or not (values.sessions.agents or values.sessions.paths):
            return None
        from core.sessions import Sessions

        return Sessions(
            values,
            store=self.store_path,
            workspace=self.workspace,
            agent=self.agent,
            home=self._home,
            environ=self._environ,
            counter=self._counter,
            deliver=self._transcripts_grew,
        )

    def _intakes(self) -> list[Intake]:
        from core.sync.held_back import with_held_back
        from core.sync.intake import MemoryIntake

        values = self.settings.settings
        intakes: list[Intake] = [self._sessions.intake] if self._sessions is not None else []
        if "memory" in values.sources:
            intakes.insert(0, MemoryIntake(self.workspace, values, home=self._home, counter=self._counter))
        return with_held_back(intakes, self.settings.held)

    # -- finding

    @property
    def embeds_while_typing(self) -> bool:
        """Whether a query may be embedded at each keystroke: only where that costs no request."""
        embedders = (self.selection.embedder, self.selection.standby)
        return all(embedder is None or embedder.identity.endpoint == "" for embedder in embedders)

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Answer a query; blank queries do no work. Raises SearchCancelled, StoreError.

        Never waits for a sync: in a process that keeps the index in step a search starts one and goes on.
        """
        sync = self.settings.settings.sync
        if self._background and request.query.strip():
            key = request.session_key
            if key is not None and sync.on_session_start and key not in self._started_sessions:
                self._started_sessions.add(key)
                self.backend.worker.request("session-start")
            elif sync.on_search and self.backend.worker.state.dirty and not self.backend.worker.state.busy:
                self.backend.worker.request("search")
        return self.backend.search(request, on_partial=on_partial, cancel=cancel)

    @cached_property
    def _by_path(self) -> ByPath:
        from core.by_path import ByPath

        return ByPath(
            self.settings.settings,
            self.backend.readers,
            lambda: self._sessions,
            workspace=self.workspace,
            home=self._home,
        )

    def get(self, path: str, from_line: int | None = None, lines: int | None = None) -> GetResult:
        """Lines of a document that may be read, by 1-based `from_line`; never raises for a bad path or range.

        `path` is that of a hit, or where the file lies.
        """
        return self._by_path.get(path, from_line, lines)

    def absolute(self, path: str) -> Path:
        """Where a document's path lies on disk. Raises NotAllowed, FileNotFoundError (transcripts)."""
        return self._by_path.absolute(path)

    def lines(self, path: str) -> LineSource:
        """The document's lines, for a viewer. Raises NotAllowed, OSError, Undecodable.

        Of an image or a recording one line that names it; of a transcript what was said on each physical line, masked.
        """
        return self._by_path.lines(path)

    # -- keeping in step

    def start(self) -> None:
        """Keep the index in step in the background: a first sync now, vectors after it, then as files change."""
        self._background = True
        sync = self.settings.settings.sync
        if sync.watch and self._watcher is None:
            from core.sync.watcher import Watcher

            self._watcher = Watcher(
                self._watch_roots, self._files_changed, self.events, debounce_ms=sync.watch_debounce_ms
            )
            self._watcher.start()
        self.backend.start()

    def _watch_roots(self) -> list[WatchRoot]:
        return [root for intake in self._intakes() for root in intake.watch_roots()]

    def _files_changed(self, paths: tuple[str, ...] | None) -> None:
        if paths is not None and self._sessions is not None:
            paths = self._sessions.take_changes(paths)
            if not paths:
                return
        self.backend.worker.request("watch", paths=paths)

    def _transcripts_grew(self, paths: tuple[str, ...]) -> None:
        self.backend.worker.request("session-delta", paths=paths)

    @property
    def is_in_step(self) -> bool:
        """Whether, in a memory that was started, no file and no vector is known to wait."""
        state = self.backend.worker.state
        return state.last_report is not None and not state.busy and state.waiting == 0

    @property
    def watch_state(self) -> WatchState:
        """How changes of files are noticed at the moment."""
        from core.sync.watching import WatchState

        return self._watcher.state if self._watcher is not None else WatchState()

    def sync(
        self,
        reason: SyncReason = "manual",
        *,
        force: bool = False,
        vectors: bool = True,
        paths: tuple[Path, ...] | None = None,
        on_progress: ProgressListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SyncReport:
        """Bring the index in step and wait: for keywords, with `vectors` for all vectors too.

        Errors of single files stand in the report. Raises StoreError, SyncCancelled.
        """
        absolute = tuple(str(path.absolute()) for path in paths) if paths is not None else None
        return self.backend.sync(
            reason, force=force, vectors=vectors, paths=absolute, on_progress=on_progress, cancel=cancel
        )

    def changed_files(self) -> int:
        """How many files differ from the index by their stat keys: new, changed or gone. Reads no file."""
        from core.backends.changes import changed_files

        return changed_files(self.backend.readers, self._intakes())

    # -- writing

    def note(self, text: str) -> Written:
        """Append to today's note and make it searchable at once. Raises WriteFailed, NotAllowed."""
        from core.capture import append_note

        return self._index_now(append_note(self.workspace, text, now=self._now()))

    def save_excerpt(self, excerpt: Excerpt, *, slug: str | None = None) -> Written:
        """Keep messages of a session as a new memory file. Raises WriteFailed, NotAllowed."""
        from core.capture import save_excerpt

        return self._index_now(save_excerpt(self.workspace, excerpt, now=self._now(), slug=slug))

    def context(self) -> tuple[GetResult, ...]:
        """What an agent loads at its start: MEMORY.md, today's and yesterday's notes, each bounded."""
        from core.capture import context

        return tuple(context(self.get, today=self._now().date()))

    def flush_due(
        self, *, tokens: int | None, context_window: int | None, transcript: Path | None, session_key: str, cycle: int
    ) -> FlushDue:
        """Whether an agent should write to memory before its compaction."""
        from core.capture import flush_due, read_flush_state

        return flush_due(
            self.settings.settings.flush,
            tokens=tokens,
            context_window=context_window,
            transcript=transcript,
            session_key=session_key,
            cycle=cycle,
            state=read_flush_state(self._flush_state),
        )

    def flush(self, text: str, *, session_key: str = "", cycle: int = 0) -> Written:
        """The write before compaction: append to today's note, sync it, remember the cycle. Raises WriteFailed."""
        from core.capture import note_flush

        written = self.note(text)
        note_flush(self._flush_state, session_key, cycle)
        return written

    def forget(self, *paths: str) -> SyncReport:
        """Have documents leave the index for good: their text, their vectors, and every byte of them in the file.

        A tombstone keeps one from coming back while its file is still there; `remember` lets it. `paths` may be spelled
        as `get` takes them. Raises NotIndexed and NotAllowed, and then nothing was forgotten, or StoreError.
        """
        return self.backend.forget(tuple(dict.fromkeys(map(self._by_path.indexed, paths))))

    def remember(self, *paths: str) -> SyncReport:
        """Let forgotten documents come back. Raises NotIndexed where one was not forgotten, StoreError."""
        return self.backend.forget(tuple(dict.fromkeys(map(self._by_path.forgotten, paths))), back=True)

    def _index_now(self, written: Written) -> Written:
        try:
            self.sync("manual", vectors=False, paths=(written.absolute,))
            return written
        except StoreError as error:  # The text stands in its file all the same: told, not raised.
            remedy = f". {error.remedy}" if error.remedy else ""
            return replace(written, warning=f"written, but not indexed yet: {error}{remedy}")

    def _now(self) -> datetime:
        return datetime.now().astimezone()

    # -- knowing

    def status(self, deep: bool = False) -> Status:
        """The state of this memory; `deep` probes the vector table, the embedder and the writer with real work."""
        from core.status import collect

        return collect(
            self.backend,
            self.settings.settings,
            workspace=self.workspace,
            intakes=self._intakes(),
            watch=self.watch_state,
            deep=deep,
        )

    def doctor(self, repair: bool = False) -> tuple[Finding, ...]:
        """Check the parts one by one; with `repair`, set right what can be set right from the files."""
        from core.doctor import examine

        return examine(self.backend, self.settings, workspace=self.workspace, intakes=self._intakes(), mend=repair)

    def documents(self) -> tuple[IndexedDocument, ...]:
        """All indexed documents, by path."""
        try:
            with self.backend.readers.lease() as reader:
                return tuple(reader.documents.list())
        except StoreMissing:
            return ()

    def sessions(self) -> tuple[SessionInfo, ...]:
        """All indexed sessions, the latest first."""
        from core.sync.session_list import list_sessions

        try:
            with self.backend.readers.lease() as reader:
                return tuple(list_sessions(reader.database))
        except StoreMissing:
            return ()

    def session(self, path: str, *, near: int | None = None, cancel: threading.Event | None = None) -> SessionView:
        """A transcript, masked; with `near` of a large one at once the part around that line. Raises like `lines`."""
        return self._by_path.session(path, near, cancel)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when this memory is closed."""
        self._on_close.append(callback)

    def close(self) -> None:
        """Stop the worker after its transaction and give everything back. Idempotent."""
        self._background = False
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self.backend.close()
        if "_sessions" in self.__dict__ and self._sessions is not None:
            self._sessions.close()
        for callback in self._on_close:
            callback()
        self._on_close.clear()
