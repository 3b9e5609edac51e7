"""What a sync works with, and its tally."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import field

from core.courtesy import Courtesy
from core.events import EventBus
from core.records import record
from core.store.database import Database
from core.store.documents import Documents
from core.sync.intake import Intake


@record(slots=True)
class JobCounts:
    """The tally of a sync; documents unless named otherwise, seconds by stage. `vectors_cached` counts chunks."""

    scanned: int = 0
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    sources_gone: int = 0
    failed: int = 0
    skipped: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    vectors_cached: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: {"scan": 0.0, "read": 0.0, "keyword": 0.0, "embed": 0.0})


@record(frozen=True, slots=True)
class JobTools:
    """What a job works with; all of it belongs to the worker. It waits for `courtesy` between two documents."""

    database: Database
    documents: Documents
    intakes: Sequence[Intake]
    executor: Executor
    bus: EventBus
    clock: Callable[[], float]
    courtesy: Courtesy = field(default_factory=Courtesy)

    def now_ms(self) -> int:
        return int(self.clock() * 1000)
