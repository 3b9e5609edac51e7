"""Background work makes room for the user's keys, but never for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core import Memory
from core.courtesy import LONGEST_SECONDS, PAUSE_SECONDS, TURN_SECONDS, Courtesy
from core.embedding.select import Selection
from core.embedding.threads import BatchThreads
from tests.workbench import Bench


class Time:
    """A clock that sleeping moves; `typing` sends a key every 0.1 s meanwhile."""

    def __init__(self) -> None:
        self.now = 100.0
        self.courtesy = Courtesy(lambda: self.now, self.sleep)
        self.typing = False

    def sleep(self, seconds: float) -> None:
        before, self.now = self.now, self.now + seconds
        if self.typing and int(before * 10) != int(self.now * 10):
            self.courtesy.give_way()

    def waited(self) -> float:
        before = self.now
        self.courtesy.wait()
        return self.now - before


def test_nobody_waits_while_no_key_comes() -> None:
    assert Time().waited() == 0.0


def test_a_key_holds_work_up_for_a_moment() -> None:
    time = Time()
    time.courtesy.give_way()
    assert PAUSE_SECONDS <= time.waited() < PAUSE_SECONDS + 0.05
    assert time.waited() == 0.0


def test_who_types_without_a_pause_lets_work_have_its_turns() -> None:
    time = Time()
    time.typing = True
    time.courtesy.give_way()
    worked = 0.0
    for _ in range(100):
        assert time.waited() <= LONGEST_SECONDS + 0.05
        time.sleep(0.02)
        worked += 0.02
    assert worked >= (time.now - 100.0) * TURN_SECONDS / (TURN_SECONDS + LONGEST_SECONDS) * 0.9


class Counting(Courtesy):
    def __init__(self) -> None:
        super().__init__()
        self.waits = 0

    def wait(self) -> None:
        self.waits += 1


def test_the_worker_waits_before_each_document(tmp_path: Path) -> None:
    courtesy = Counting()
    bench = Bench(tmp_path, selection=Selection(None, "none", "none", "", courtesy=courtesy))
    for number in range(5):
        bench.write(f"memory/n{number}.md", f"# Note {number}\n")
    bench.sync()
    bench.worker.stop()
    assert courtesy.waits >= 5


def test_the_threads_of_the_model_wait_before_each_batch() -> None:
    courtesy = Counting()
    threads = BatchThreads(2, courtesy)
    assert threads.map(lambda number: number + 1, range(7), None) == list(range(1, 8))
    threads.close()
    assert courtesy.waits == 7


async def test_each_key_of_the_app_asks_for_room(deck: Any, memory_of: Any, monkeypatch: Any) -> None:
    memory: Memory = memory_of({"MEMORY.md": "# Who we are\n"})
    asked: list[int] = []
    monkeypatch.setattr(memory.selection.courtesy, "give_way", lambda: asked.append(1))
    async with deck(memory) as running:
        await running.type("who")
    assert len(asked) == 3
