"""The qmd backend: searches by the `qmd` program over the files that memdeck indexes too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from core.backends.base import PartialListener
from core.backends.qmd_collections import Collection, may_search, wanted_collections
from core.backends.qmd_hits import FoundDocument, HitMaker, open_memory_file
from core.backends.qmd_output import RawHit
from core.backends.qmd_page import fill_page
from core.backends.qmd_process import ProgramCancelled, ProgramTimeout
from core.backends.qmd_program import QmdProgram, UnknownCollection
from core.backends.qmd_query import all_words, any_words
from core.backends.qmd_sessions import ExportReport, MaskedSessions, SessionExport
from core.backends.qmd_upkeep import QmdUpkeep
from core.errors import BackendError, SearchCancelled, SyncCancelled
from core.events import Event, EventBus, FileIndexed, FileRemoved, FileRenamed
from core.records import record
from core.search.query import Query, parse_query
from core.settings.model import Settings
from core.settings.paths import expand_user
from core.sync.messages import ProgressListener
from core.types import SearchMode, SearchRequest, SearchResult, Source, SyncReason, SyncReport

UPDATE_WAIT_SECONDS = 0.5
MOST_RAW = 200
CHECK_SECONDS = 60.0
_MODES: Mapping[str, SearchMode] = {"search": "keyword", "lex": "keyword", "vsearch": "semantic", "query": "hybrid"}


Forgotten = Callable[[], frozenset[tuple[Source, str]]]


def _nothing() -> frozenset[tuple[Source, str]]:
    return frozenset()


class NotReady(BackendError):
    """qmd has not indexed this memory yet: no failure of the program."""


@record(frozen=True, slots=True)
class Availability:
    """Whether the program answers; `version` where it does, else `error` and `remedy`."""

    version: str | None
    error: str | None = None
    remedy: str = ""


class QmdBackend:
    """One memory's qmd index, in a folder beside the built-in one. Calls block and may come from any thread."""

    name = "qmd"

    def __init__(
        self,
        store: Path,
        settings: Settings,
        bus: EventBus,
        *,
        agent: str,
        workspace: Path,
        environ: Mapping[str, str],
        home: Path,
        sessions: MaskedSessions | None = None,
        forgotten: Forgotten = _nothing,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`forgotten` tells (source, path) of the documents that must not come back. Raises StoreError."""
        self._settings = settings
        self._workspace = workspace
        self._home = home
        self.root = store.absolute().with_name(f"{store.stem}.qmd")
        self._program = QmdProgram(settings.qmd, root=self.root, environ=environ, home=home)
        self._agent = agent
        self._sessions = sessions if settings.qmd.sessions.enabled else None
        self._forgotten = forgotten
        given = settings.qmd.sessions.export_dir
        folder = expand_user(given, home) if given is not None else self.root / "sessions"
        self._export = SessionExport(home / folder, retention_days=settings.qmd.sessions.retention_days, now=now)
        self.exported = ExportReport()
        self._upkeep = QmdUpkeep(
            self._program,
            settings.qmd,
            self._wanted,
            export=self._export_sessions if self._sessions is not None else None,
        )
        self._closing = threading.Event()
        self._checked: tuple[float, Availability] | None = None
        self._unsubscribe = bus.subscribe(self._happened)

    def _wanted(self) -> tuple[Collection, ...]:
        return wanted_collections(
            self._workspace,
            self._settings,
            agent=self._agent,
            home=self._home,
            exported=self._export.folder if self._sessions is not None else None,
            forgotten=[path for source, path in self._forgotten() if source == "memory"],
        )

    # -- searching

    def refused(self, request: SearchRequest) -> str | None:
        """Why this session may not search at all; None if it may."""
        if may_search(self._settings.qmd.scope, request.session_key):
            return None
        return "qmd.scope does not let this session search"

    def unfit(self, request: SearchRequest) -> str | None:
        """Why qmd as it is set up cannot answer a request that another backend can; None if it can."""
        if request.mode == "semantic" and self._settings.qmd.search_mode == "search":
            return 'qmd searches words alone while qmd.search_mode is "search"'
        return None

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        """Ask qmd, then read the files that it found. Raises SearchCancelled, BackendError."""
        started = time.monotonic()
        refusal = self.refused(request)
        if refusal is not None:
            return SearchResult(request.query, warning=refusal, provider="qmd", model=self._settings.qmd.search_mode)
        query = parse_query(request.query)
        if query.blank:
            return SearchResult(request.query, mode=request.mode, filters=query.typed_filters)
        unfit = self.unfit(request)
        if unfit is not None:
            raise BackendError(unfit)

        def cancelled() -> bool:
            return self._closing.is_set() or (cancel is not None and cancel.is_set())

        idle = self._upkeep.wait_idle(UPDATE_WAIT_SECONDS)
        deadline = started + self._settings.qmd.limits.timeout_ms / 1000
        try:
            command, raws = self._ask(request, query, deadline, cancelled)
        except ProgramCancelled:
            raise SearchCancelled("the search was cancelled") from None
        asked = time.monotonic()
        maker = HitMaker(query, mode=command, max_chars=self._settings.qmd.limits.max_snippet_chars)
        try:
            page = fill_page(
                raws,
                most=self._most(request),
                collections=self._upkeep.registered,
                forgotten=self._forgotten(),
                read=self._open,
                maker=maker,
                cancelled=cancelled,
            )
            terms = maker.terms
        finally:
            maker.close()
        if page.stale:
            self._upkeep.files_changed()
        ended = time.monotonic()
        return SearchResult(
            request.query,
            hits=page.hits,
            mode=_MODES[command],
            warning=page.warning,
            provider="qmd",
            model=command if command != "lex" else "search",
            catching_up=bool(page.stale) or not idle,
            terms=terms,
            filters=query.typed_filters,
            candidates=len(raws),
            milliseconds={
                "qmd": (asked - started) * 1000,
                "snippet": (ended - asked) * 1000,
                "total": (ended - started) * 1000,
            },
        )

    def _ask(
        self, request: SearchRequest, query: Query, deadline: float, cancelled: Callable[[], bool]
    ) -> tuple[str, list[RawHit]]:
        """What qmd finds, and by which command; words that are not all in one file are searched for one by one."""
        sources = self._sources(request, query)
        command = "search" if request.mode == "keyword" else self._settings.qmd.search_mode
        text = all_words(query) if command == "search" else query.semantic_text
        if not sources or not text:
            return command, []
        if command != "search":
            self._check_models(command)
        raws = self._run(command, text, request, query, sources, deadline, cancelled)
        if not raws and command == "search":
            lines = any_words(query)
            if lines:
                return "lex", self._run("lex", lines, request, query, sources, deadline, cancelled)
        return command, raws

    def _run(
        self,
        command: str,
        text: str,
        request: SearchRequest,
        query: Query,
        sources: Sequence[Source],
        deadline: float,
        cancelled: Callable[[], bool],
    ) -> list[RawHit]:
        most = MOST_RAW if query.filters else min(MOST_RAW, max(20, 2 * self._most(request)))
        for last in (False, True):
            registered = self._upkeep.registered
            if not registered or not self._program.index_file.exists():
                raise NotReady("qmd has not indexed this memory yet", remedy="run `memdeck index`")
            names = [one.name for one in registered.values() if one.source in sources]
            if not names:
                return []
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                raise ProgramTimeout(f"qmd did not answer within {self._settings.qmd.limits.timeout_ms} ms")
            try:
                return self._program.search(
                    command,
                    text,
                    collections=names,
                    most=most,
                    seconds=seconds,
                    min_score=request.min_score if command == "vsearch" else None,
                    cancelled=cancelled,
                )
            except UnknownCollection:
                if last:
                    raise
                self._upkeep.repair()
        raise AssertionError("the loop returns or raises")

    def _check_models(self, command: str) -> None:
        """Raises BackendError where a command would have to download a model, or has no vectors to compare with."""
        missing = self._program.missing_model(command)
        if missing is not None:
            raise BackendError(
                f"qmd {command} needs the model {missing}, which is not on this disk",
                remedy='run `qmd pull`, or set qmd.search_mode to "search"',
            )
        if not self._program.counts().get("vectors"):
            raise NotReady(f"qmd {command} has no vectors yet", remedy="run `memdeck index`")

    def _sources(self, request: SearchRequest, query: Query) -> list[Source]:
        every: tuple[Source, ...] = ("memory", "sessions")
        wanted = request.sources if request.sources is not None else every
        return [source for source in wanted if not query.filters.sources or source in query.filters.sources]

    def _most(self, request: SearchRequest) -> int:
        return request.max_results if request.max_results is not None else self._settings.qmd.limits.max_results

    def _open(self, collection: Collection, path: str) -> FoundDocument:
        if collection.source == "sessions":
            return self._export.document(path)
        return open_memory_file(
            collection, path, workspace=self._workspace, extra_paths=self._settings.extra_paths, home=self._home
        )

    # -- keeping in step

    def start(self) -> None:
        """Update in the background, by the clock and after changes; waits for the first where the settings say so."""
        self._upkeep.start()

    def sync(
        self,
        reason: SyncReason,
        *,
        force: bool = False,
        vectors: bool = True,
        paths: tuple[str, ...] | None = None,
        on_progress: ProgressListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SyncReport:
        """Export, update and, with `vectors`, embed, and wait for it; qmd always looks at all files.

        Counts are documents. Raises BackendError, SyncCancelled.
        """
        started = time.monotonic()
        try:
            counts = self._upkeep.sync(
                force=force, vectors=vectors, cancelled=lambda: cancel is not None and cancel.is_set()
            )
        except ProgramCancelled:
            raise SyncCancelled("the sync was cancelled") from None
        return SyncReport(
            reason,
            scanned=counts.new + counts.updated + counts.unchanged,
            indexed=counts.new + counts.updated,
            unchanged=counts.unchanged,
            removed=counts.removed,
            failed=len(self.exported.failed),
            skipped=len(counts.unreadable),
            seconds={"qmd": time.monotonic() - started},
        )

    def purge(self, cancel: threading.Event | None = None) -> None:
        """Leave nothing in qmd's index of files and sessions that are gone. Raises BackendError, SyncCancelled."""
        if not self.root.exists():
            return
        try:
            self._upkeep.purge(lambda: cancel is not None and cancel.is_set())
        except ProgramCancelled:
            raise SyncCancelled("the sync was cancelled") from None

    def files_changed(self) -> None:
        """Have the background look at the files soon."""
        self._upkeep.files_changed()

    def _happened(self, event: Event) -> None:
        if isinstance(event, FileIndexed | FileRemoved | FileRenamed):
            self._upkeep.files_changed()

    def _export_sessions(self, cancelled: Callable[[], bool]) -> None:
        if self._sessions is not None:
            forgotten = frozenset(path for source, path in self._forgotten() if source == "sessions")
            self.exported = self._export.export(self._sessions, cancelled, forgotten=forgotten)

    # -- knowing

    def check(self, max_age: float = CHECK_SECONDS) -> Availability:
        """Whether the program can be run; asked again after `max_age` seconds."""
        now = time.monotonic()
        if self._checked is None or now - self._checked[0] >= max_age:
            try:
                found = Availability(self._program.check(self._closing.is_set))
            except ProgramCancelled:
                return Availability(None, "the memory is being closed")
            except BackendError as error:
                found = Availability(None, str(error), error.remedy)
            self._checked = (now, found)
        return self._checked[1]

    def facts(self) -> dict[str, object]:
        """What status says of qmd under `custom.qmd`, JSON-ready."""
        state, available = self._upkeep.state, self.check()
        facts: dict[str, object] = {
            "command": self._settings.qmd.command,
            "searchMode": self._settings.qmd.search_mode,
            "folder": os.fspath(self.root),
            "collections": [
                {**asdict(collection), "there": collection.is_there} for collection in self._upkeep.registered.values()
            ],
            **self._program.counts(),
            "updating": state.busy,
        }
        optional = {
            "version": available.version,
            "error": available.error,
            "updatedMs": state.updated_ms,
            "updateError": state.update_error,
            "embeddedMs": state.embedded_ms,
            "embedError": state.embed_error,
        }
        facts.update({key: value for key, value in optional.items() if value is not None})
        if self._settings.qmd.sessions.enabled:
            facts["sessions"] = {
                "exported": self._export.count(),
                "failed": [{"path": failure.path, "error": failure.error} for failure in self.exported.failed],
            }
        notes = []
        if self._settings.qmd.sessions.enabled and self._sessions is None:
            notes.append("qmd.sessions exports nothing: name the agents in sessions.agents")
        if self._settings.qmd.mcporter.enabled:
            notes.append("qmd.mcporter has no effect: qmd is run directly")
        return {**facts, **({"notes": notes} if notes else {})}

    def folders_away(self) -> tuple[str, ...]:
        """Folders of the settings that are not there now."""
        return tuple(dict.fromkeys(one.root for one in self._wanted() if not one.is_there and one.source == "memory"))

    def missing_model(self) -> str | None:
        """The model that the search mode needs and that is not on this disk; None if nothing is missing."""
        return self._program.missing_model(self._settings.qmd.search_mode)

    def close(self) -> None:
        """End every program that runs. Idempotent."""
        self._unsubscribe()
        self._closing.set()
        self._upkeep.close()
