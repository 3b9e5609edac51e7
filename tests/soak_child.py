"""The process that a soak kills: it follows a workspace until its input ends. Run as `python -m tests.soak_child ROOT`.

A line on its input asks for a full sync with vectors; the answer is one JSON line.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from core.events import EventBus
from core.settings import settings_of
from core.sync.growth import StoredSessions
from core.sync.intake import Intake
from core.sync.session_intake import SessionIntake
from core.sync.watcher import Watcher
from tests.workbench import COUNTER, Bench, WordEmbedder

SESSIONS = "home/.openclaw/agents/main/sessions"
"""Where the transcripts of a soak lie, below its root."""


class SoakBench(Bench):
    """A workspace with notes, and transcripts beside it."""

    def __init__(self, root: Path) -> None:
        settings = settings_of({"sessions": {"agents": ["openclaw"]}})
        self._index = StoredSessions(root / "index.sqlite")
        super().__init__(root, WordEmbedder(), settings=settings)

    def intakes(self) -> list[Intake]:
        home = self.workspace.parent / "home"
        sessions = SessionIntake(self.settings, home=home, environ={}, counter=COUNTER, index=self._index)
        return [*super().intakes(), sessions]


def main() -> None:
    bench = SoakBench(Path(sys.argv[1]))
    bench.worker.request("session-start")
    watcher = Watcher(
        lambda: [root for intake in bench.intakes() for root in intake.watch_roots()],
        lambda paths: bench.worker.request("watch", paths=paths),
        EventBus(),
        debounce_ms=20,
    )
    watcher.start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(asdict(bench.sync())), flush=True)
    watcher.stop()
    bench.worker.stop(10)


if __name__ == "__main__":
    main()
