"""Earlier queries, and why a hit stands where it stands."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from core.search.fusion import Candidate
from core.types import Hit, ScoreParts
from tui.history import KEPT, QueryHistory
from tui.screens.explain import Explanation, explanation
from tui.screens.palette import Palette


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of({"MEMORY.md": "# [/x] head\n\nThe needle is here.\n"})


def test_queries_are_kept_newest_first_and_once(tmp_path: Path) -> None:
    file = tmp_path / "state/queries"
    history = QueryHistory(file)
    for query in ("one", "two", " one ", "one", "  "):
        history.add(query)
    assert QueryHistory(file).queries == ("one", "two")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_the_history_is_bounded(tmp_path: Path) -> None:
    history = QueryHistory(tmp_path / "queries")
    for number in range(KEPT + 5):
        history.add(f"query {number}")
    assert len(QueryHistory(tmp_path / "queries").queries) == KEPT
    assert history.queries[0] == f"query {KEPT + 4}"


def test_two_apps_share_a_history(tmp_path: Path) -> None:
    one, two = (QueryHistory(tmp_path / "queries") for _ in range(2))
    one.add("from one")
    two.add("from two")
    assert QueryHistory(tmp_path / "queries").queries == ("from two", "from one")


def test_a_history_that_cannot_be_written_lives_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = QueryHistory(tmp_path / "file" / "queries")
    history.add("one")
    assert history.queries == ("one",)


async def test_up_at_an_empty_query_offers_earlier_ones(deck: Any, memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("older [/x]\nneedle\n")
    async with deck(memory, history=tmp_path / "queries") as running:
        await running.press("up")
        await running.until(lambda: isinstance(running.app.screen, Palette))
        await running.until(lambda: any("older [/x]" in row for row in running.lines()))
        await running.press("down", "enter")
        await running.until(lambda: len(running.app.screen.hits.items) == 1)
        assert running.app.screen.input.value == "needle"
        assert running.app.screen.input.has_focus


async def test_a_query_is_kept_when_its_hit_is_opened(deck: Any, memory: Memory, tmp_path: Path) -> None:
    async with deck(memory, history=tmp_path / "queries", query="needle") as running:
        await running.until(lambda: running.app.screen.hits.items)
        assert not (tmp_path / "queries").exists()
        await running.press("enter")
        await running.until(lambda: (tmp_path / "queries").exists())
        assert (tmp_path / "queries").read_text() == "needle"


async def test_up_without_earlier_queries_says_when_they_are_kept(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("up")
        assert any("no earlier queries" in toast for toast in running.toasts)


EVIDENCE = Candidate(
    chunk_id=1, words=1.5, parts=1.5, pairs=1.5, identifiers=1.5, complete=True, distinct=12, cosine=-0.25,
    text_z=1.5, vector_z=-12.5, fused=2.0,
).evidence()  # fmt: skip


def test_every_number_of_the_evidence_is_said_to_be_something() -> None:
    parts = ScoreParts(0.5, evidence={**EVIDENCE, "qmd": 0.25})
    hit = Hit(1, "memory", "MEMORY.md", 1, 2, 1, 0.5, parts, "")

    wide = explanation(hit, 70).plain.split("what was measured\n")[1].split("\n")
    narrow = explanation(hit, 36).plain.split("what was measured\n")[1].split("\n")

    assert len(EVIDENCE) == 10
    assert [row.split()[0] for row in wide] == [*EVIDENCE, "qmd"]
    assert all(len(row.split("  ")[-1]) > 10 for row in wide)
    assert [row.split()[1] for row in narrow] == ["1.500"] * 4 + ["12", "1", "-0.250", "1.500", "-12.500", "2", "0.250"]
    assert max(map(len, wide)) <= 70
    assert max(map(len, narrow)) <= 36


@pytest.mark.parametrize("keys", [["x"], ["d", "x"]])
async def test_the_score_of_a_hit_is_explained_with_its_evidence(deck: Any, memory: Memory, keys: list[str]) -> None:
    async with deck(memory, query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.hits.items)
        await running.press("tab", *keys)
        await running.until(lambda: isinstance(running.app.screen, Explanation))
        hit, text = screen.hits.items[0], "\n".join(running.lines())
        assert "─ hit 1 · why ─" in text
        assert f"score {hit.score:.3f}" in text
        assert "under [/x] head" in text
        assert all(name in text for name in hit.parts.evidence)
        await running.press("x")
        assert running.app.screen is screen
