"""The status screen while work runs, and what it says of cache, identity and recovery."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core import Memory, Progress, Status, events
from tui.pace import KEPT_SECONDS, Pace, spark
from tui.state import DeckState
from tui.widgets.status_panel import LABEL_CELLS, status_rows
from tui.widgets.text_pane import laid_out


def written(second: float, amount: int) -> events.Event:
    progress = Progress(amount, 100, "vectors")
    return events.EmbeddingProgressed(at_ms=round(second * 1000), written=amount, waiting=9, progress=progress)


def paced(*steps: tuple[float, int]) -> Pace:
    pace = Pace()
    for second, amount in steps:
        pace = pace.after(written(second, amount))
    return pace


def test_chunks_of_one_second_are_one_count_and_short_gaps_are_still_seconds() -> None:
    assert paced((10, 3), (10.9, 4), (13, 1)).counts == (7, 0, 0, 1)


def test_a_pause_leaves_no_gap_and_a_clock_set_back_no_hole() -> None:
    assert paced((10, 3), (500, 4), (400, 1)).counts == (3, 5)


def test_events_that_write_nothing_do_not_move_it() -> None:
    pace = paced((10, 3))
    assert pace.after(written(11, 0)) is pace
    assert pace.after(events.FileRemoved(at_ms=12_000, source="memory", path="x")) is pace


def test_the_pace_is_bounded() -> None:
    pace = paced(*((second, second) for second in range(1, KEPT_SECONDS + 50)))
    assert len(pace.counts) == KEPT_SECONDS
    assert pace.says().endswith(f"max {KEPT_SECONDS + 49} chunks/s")


@pytest.mark.parametrize(
    ("counts", "cells", "shown"),
    [((0, 1, 4, 8), 9, "▁▂▅█"), ((9, 0, 0), 2, "▁▁"), ((), 5, ""), ((1,), 0, ""), ((1000, 1), 4, "█▂")],
)
def test_counts_are_drawn_as_blocks_and_only_nothing_is_flat(counts: tuple[int, ...], cells: int, shown: str) -> None:
    assert spark(counts, cells) == shown


@pytest.fixture
def memory(memory_of: Callable[..., Memory]) -> Memory:
    return memory_of({"MEMORY.md": "# Who\n\nneedle\n"})


async def test_blocks_come_with_work_and_stand_still_without(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f4")
        await running.until(lambda: any(row.startswith(" health") for row in running.lines()))
        assert not any("chunks/s" in row for row in running.lines())
        memory.events.publish(written(time.time(), 12))
        await running.until(lambda: any("█" in row and "mean 12 · max 12 chunks/s" in row for row in running.lines()))
        before = [row for row in running.lines() if "chunks/s" in row]
        await running.pilot.pause(1.2)
        assert [row for row in running.lines() if "chunks/s" in row] == before


def shown_status(memory: Memory, change: Callable[[Status], Status]) -> str:
    return laid_out(status_rows(DeckState().with_status(change(memory.status()))), LABEL_CELLS, 1000).plain


def test_status_tells_the_cache_hit_rate(memory: Memory) -> None:
    text = shown_status(memory, lambda s: replace(s, cache={"entries": 1200, "maxEntries": 50_000, "hitRate": 0.914}))
    assert "1,200 vectors of 50,000 · 91% found there" in text


def test_status_tells_what_came_of_recoveries(memory: Memory) -> None:
    counts = {"attempts": 3, "successes": 2, "failures": 1, "lastError": "disk [/] full\x1b"}
    text = shown_status(memory, lambda s: replace(s, custom={**s.custom, "readonlyRecovery": counts}))
    assert "recovery  3 tried, 2 done, 1 failed · last: disk [/] full␛" in text


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        ({"status": "matches", "stored": "local/potion 256"}, "identity  local/potion 256"),
        ({"status": "differs", "reason": "another model", "stored": "x"}, "identity  differs: another model"),
    ],
)
def test_status_tells_what_the_index_was_built_with(memory: Memory, identity: dict[str, str], words: str) -> None:
    assert words in shown_status(memory, lambda s: replace(s, custom={**s.custom, "indexIdentity": identity}))
