"""An index of the sample transcripts, for tests of their intake."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core.events import EventBus
from core.settings import settings_of
from core.store.database import Database
from core.store.documents import Documents
from core.sync.growth import StoredSessions
from core.sync.job_tools import JobTools
from core.sync.keyword_job import KeywordJob
from core.sync.session_intake import SessionIntake
from core.sync.session_list import SessionInfo, list_sessions
from core.text.tokens import TokenCounter

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
COUNTER = TokenCounter()
AGENTS = ["openclaw", "claude-code", "codex", "pi", "gemini", "opencode"]


class Bench:
    """A home with transcripts and an index that real syncs bring in step."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.index = home / "index.sqlite"
        self.database = Database.open(self.index, vector_extension=False)
        self.documents = Documents(self.database)
        self.agents = AGENTS
        self.options: dict[str, object] = {}

    def intake(self) -> SessionIntake:
        settings = settings_of({"sessions": {"agents": self.agents, **self.options}})
        return SessionIntake(settings, home=self.home, environ={}, counter=COUNTER, index=StoredSessions(self.index))

    def sync(self, *paths: Path) -> KeywordJob:
        with ThreadPoolExecutor(1) as executor:
            job = KeywordJob(
                JobTools(self.database, self.documents, [self.intake()], executor, EventBus(), time.time),
                "manual",
                force=False,
                paths=tuple(map(str, paths)) or None,
                cancelled=lambda: False,
                on_progress=lambda _: None,
            )
            for _ in job.steps():
                pass
        assert [error.error for error in self.documents.errors()] == []
        return job

    @property
    def paths(self) -> list[str]:
        return [document.path for document in self.documents.list()]

    def lines(self, path: str) -> list[str]:
        document = self.documents.get_document("sessions", path)
        assert document is not None
        return [chunk.chunk.text for chunk in self.documents.chunks_of(document.id)]

    def info(self, path: str) -> SessionInfo:
        return next(info for info in list_sessions(self.database) if info.path == path)
