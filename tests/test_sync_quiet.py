"""What the worker does in quiet moments, so that the user never has to wait for it."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from core.settings.model import Settings
from core.sync.intake import Intake, MemoryIntake
from core.sync.writer import SETTLE_DOCUMENTS
from core.text.tokens import TokenCounter
from tests.workbench import Bench


class SeenCounter(TokenCounter):
    """Remembers that its ranks were asked for before there was anything to count."""

    loads = 0

    def load(self) -> None:
        self.loads += 1
        super().load()


class QuietBench(Bench):
    """A workspace whose worker lives long."""

    def __init__(self, root: Path, *, resident: bool) -> None:
        self.counter = SeenCounter()
        super().__init__(root, resident=resident)

    def intakes(self) -> list[Intake]:
        return [MemoryIntake(self.workspace, Settings(), home=self.workspace.parent, counter=self.counter)]


def test_what_the_first_change_needs_is_loaded_before_it_comes(tmp_path: Path) -> None:
    here = QuietBench(tmp_path, resident=True)
    here.sync()
    here.until(lambda: here.counter.loads)
    here.sync()
    time.sleep(0.5)
    here.worker.stop()
    assert here.counter.loads == 1


def test_a_command_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    here = QuietBench(tmp_path, resident=False)
    here.sync()
    time.sleep(0.5)
    here.worker.stop()
    assert here.counter.loads == 0


def test_what_much_writing_left_in_memory_is_let_go(tmp_path: Path) -> None:
    here = QuietBench(tmp_path, resident=True)
    for number in range(SETTLE_DOCUMENTS):
        here.write(
            f"memory/{number}.md", "\n\n".join(f"Paragraph {n} of note {number}: {n * number}." for n in range(80))
        )
    before = apsw.memory_used()
    here.sync()
    here.until(lambda: apsw.memory_used() - before < 2_000_000)
    here.worker.stop()
