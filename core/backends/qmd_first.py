"""qmd in front of the built-in index, put together as the settings say, and how the two stand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from core.backends.base import PartialListener, Standing
from core.backends.builtin import BuiltinBackend
from core.backends.choice import Whose
from core.backends.fallback import FallbackBackend, Secondary
from core.backends.qmd import QmdBackend
from core.embedding.select import Selection
from core.errors import StoreMissing
from core.settings.model import Settings
from core.store.forgetting import forgotten
from core.text.words import counted
from core.types import Finding, SearchRequest, SearchResult, Source, SyncReason, SyncReport

if TYPE_CHECKING:
    from core.backends.qmd_sessions import MaskedSessions
    from core.events import EventBus
    from core.sync.intake import Intake
    from core.sync.messages import ProgressListener


class QmdFirst(BuiltinBackend):
    """The built-in backend with qmd before it: qmd answers, the own index does while qmd cannot."""

    def __init__(
        self,
        store: Path,
        settings: Settings,
        selection: Selection,
        intakes: Callable[[], list[Intake]],
        bus: EventBus,
        whose: Whose,
    ) -> None:
        super().__init__(store, settings, selection, intakes, bus, resident=whose.resident)
        self.qmd = QmdBackend(
            store,
            settings,
            bus,
            agent=whose.agent,
            workspace=whose.workspace,
            environ=whose.environ,
            home=whose.home,
            sessions=_sessions(settings, whose),
            forgotten=self._forgotten,
        )
        self._both = FallbackBackend(
            self.qmd,
            cast("Secondary", super()),  # what this class is without qmd
            limit_seconds=settings.qmd.limits.timeout_ms / 1000,
            cooldown_seconds=settings.qmd.cooldown_seconds,
            deadline_ms=settings.query.deadline_ms,
        )

    @property
    def name(self) -> str:
        """Who answers at the moment: qmd or builtin."""
        return self._both.name

    def search(
        self,
        request: SearchRequest,
        *,
        on_partial: PartialListener | None = None,
        cancel: threading.Event | None = None,
    ) -> SearchResult:
        return self._both.search(request, on_partial=on_partial, cancel=cancel)

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
        return self._both.sync(
            reason, force=force, vectors=vectors, paths=paths, on_progress=on_progress, cancel=cancel
        )

    def forget(self, paths: tuple[str, ...], *, back: bool = False) -> SyncReport:
        return self._both.forget(paths, back=back)

    def start(self) -> None:
        super().start()
        self._both.start()

    def close(self) -> None:
        self._both.close()

    def _forgotten(self) -> frozenset[tuple[Source, str]]:
        try:
            with self.readers.lease() as reader:
                return forgotten(reader.database)
        except StoreMissing:
            return frozenset()

    def standing(self) -> Standing:
        """How qmd stands now: the program is asked for its version, at most once a minute."""
        available, facts, fallback = self.qmd.check(), self.qmd.facts(), self._both.fallback
        if fallback is None and available.error is not None:
            reason = f"{available.error}: {available.remedy}" if available.remedy else available.error
            fallback = {"from": self.qmd.name, "reason": reason}
        reasons = []
        if fallback is not None:
            reasons.append(f"the built-in index answers instead of qmd: {fallback['reason']}")
        for key, words in (("updateError", "qmd's last update failed"), ("embedError", "qmd's vectors failed")):
            error = facts.get(key)
            if error is not None and (fallback is None or error != fallback["reason"]):
                reasons.append(f"{words}: {error}")
        return Standing("builtin" if fallback is not None else self.qmd.name, fallback, facts, tuple(reasons))

    def findings(self) -> Iterator[Finding]:
        """What doctor finds of qmd, with a remedy for each."""
        available = self.qmd.check(max_age=0)
        if available.error is not None:
            yield Finding("qmd", False, available.error, available.remedy)
        else:
            yield Finding("qmd", True, f"version {available.version}")
        facts = self.qmd.facts()
        documents = facts.get("documents")
        yield Finding(
            "qmd index",
            bool(documents),
            f"{counted(documents, 'document')} in {self.qmd.root}"
            if isinstance(documents, int) and documents
            else "qmd has not indexed this memory yet",
            "" if documents else "run `memdeck index`",
        )
        for path in self.qmd.folders_away():
            yield Finding("qmd folder", False, f"{path} is not there", "what is indexed of it is kept until it is back")
        missing = self.qmd.missing_model()
        if missing is not None:
            yield Finding("qmd model", False, f"{missing} is not on this disk", "run `qmd pull`")
        for key in ("updateError", "embedError"):
            if key in facts:
                yield Finding("qmd update", False, str(facts[key]), "it is tried again")


def _sessions(settings: Settings, whose: Whose) -> MaskedSessions | None:
    """The transcripts to export; None unless the settings say whose may be read."""
    read = "sessions" in settings.sources and (settings.sessions.agents or settings.sessions.paths)
    if not (settings.qmd.sessions.enabled and read):
        return None
    from core.backends.qmd_transcripts import IntakeSessions
    from core.sync.session_intake import SessionIntake
    from core.text.tokens import TokenCounter

    intake = SessionIntake(
        settings,
        home=whose.home,
        environ=whose.environ,
        counter=TokenCounter(),
        agent=whose.agent,
        workspace=whose.workspace,
    )
    return IntakeSessions(intake)
