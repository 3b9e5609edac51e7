"""What narrows and orders the hits: dates, sources, and documents as groups that fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core import Memory
from tui.dates import ANY_TIME, SPANS, DateFilter, next_span, typed_dates
from tui.screens.search import SearchScreen

FILES = {
    "memory/2019-05-01.md": "# Old\n\nThe harbour crane was painted.\n",
    "memory/2021-06-01.md": "# Newer\n\nThe harbour crane was sold.\n",
    "memory/machines.md": "# Machines\n\n## Hook\n\nThe crane has a hook.\n\n"
    + "Filler about other things.\n" * 400
    + "\n## Motor\n\nThe crane motor is loud.\n",
    "memory/[x] boat.md": "# Boat\n\nThe boat passes the crane.\n",
}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


async def searching(running: Any, query: str) -> SearchScreen:
    await running.type(query)
    screen = running.app.screen
    await running.until(lambda: screen.result is not None and not screen.result.partial and screen.hits.items)
    return screen


def paths(screen: SearchScreen) -> set[str]:
    return {hit.path for hit in screen.hits.items}


# Dates


@pytest.mark.parametrize(
    ("typed", "filters"),
    [
        ("2026-01", "after:2026-01"),
        (" 2w ", "after:2w"),
        ("before:2026-02-01 after:2025", "before:2026-02-01 after:2025"),
        ("", ""),
    ],
)
def test_dates_are_typed_as_in_a_query_or_as_a_beginning(typed: str, filters: str) -> None:
    read = typed_dates(typed)
    assert read is not None
    assert read.filters == filters


@pytest.mark.parametrize("typed", ["soon", "2026-13", "after:2026-01 crane", "path:x", "after:"])
def test_what_is_no_date_is_refused(typed: str) -> None:
    assert typed_dates(typed) is None


def test_one_key_walks_through_the_spans_and_ends_at_typing() -> None:
    walked = [ANY_TIME]
    while (span := next_span(walked[-1])) is not None:
        walked.append(span)
    assert tuple(walked) == SPANS
    assert next_span(DateFilter("after:2020", "after:2020")) is ANY_TIME


async def test_the_date_filter_narrows_the_hits_and_says_so(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "harbour crane")
        assert "memory/2019-05-01.md" in paths(screen)
        await running.press("f8")
        await running.until(lambda: "memory/2019-05-01.md" not in paths(screen))
        assert any("since yesterday" in row for row in running.lines()[1:3])
        assert "memory/machines.md" in paths(screen)


async def test_it_is_laid_over_the_filters_of_the_query(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane before:2022")
        assert paths(screen) == {"memory/2019-05-01.md", "memory/2021-06-01.md"}
        await running.press("tab", *"ttttt")
        await running.until(lambda: screen.prompt.is_open)
        await running.type("2020")
        await running.press("enter")
        await running.until(lambda: paths(screen) == {"memory/2021-06-01.md"})
        assert screen.hits.has_focus
        assert screen.input.value == "crane before:2022"


async def test_wrong_dates_are_named_and_change_nothing(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane")
        await running.press("tab", *"ttttt")
        await running.type("[/x]")
        await running.press("enter")
        await running.until(lambda: any("[/x] is no date" in toast for toast in running.toasts))
        assert screen.dates is ANY_TIME


async def test_no_hits_tells_of_the_dates_and_the_key_that_widens_them(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "painted")
        await running.press("f8")
        await running.until(lambda: screen.result is not None and not screen.result.hits)
        text = "\n".join(running.lines())
        assert "dates: since yesterday" in text
        assert "f8 searches other dates" in text


# Groups


async def test_grouped_hits_stand_below_their_document(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane")
        await running.press("tab", "d")
        heads = [row for row in running.lines() if row.startswith(" ▾ ")]
        assert len(heads) == len({hit.path for hit in screen.result.hits})
        machines = next(row for row in heads if "memory/machines.md" in row)
        assert "2 hits" in machines
        assert any("[x] boat.md" in row for row in heads)


async def test_the_cursor_goes_from_hit_to_hit_over_the_heads(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(80, 40)) as running:
        screen = await searching(running, "crane")
        await running.press("tab", "d")
        count = len(screen.hits.hits)
        seen = set()
        for _ in range(count):
            assert sum(row.startswith("▌  ") for row in running.lines()[2:16]) == 1
            assert not any(row.startswith("▌ ▾") for row in running.lines())
            seen.add(screen.hits.current.chunk_id)
            await running.press("j")
        assert len(seen) == count == len(screen.result.hits)


async def test_the_hit_in_force_stays_when_grouping_changes(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane")
        await running.press("tab", "G")
        chosen = screen.hits.current
        await running.press("d")
        assert screen.hits.current == chosen
        await running.press("d")
        assert screen.hits.current == chosen


async def test_a_folded_document_is_one_row_and_keeps_its_marks(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane")
        await running.press("tab", "d")
        inside = [hit for hit in screen.hits.hits if hit.path == "memory/machines.md"]
        while screen.hits.current != inside[1]:
            await running.press("j")
        screen.hits.mark()
        screen.hits.highlighted = screen.hits.place_of(str(inside[0].chunk_id))
        await running.press("h")
        folded = [row for row in running.lines() if "▸" in row[:3]]
        assert len(folded) == 1
        assert "memory/machines.md" in folded[0]
        assert "2 hits" in folded[0]
        assert screen.hits.marked_items == [inside[1]]
        await running.press("l")
        assert not any("▸" in row[:3] for row in running.lines())
        assert all(hit in screen.hits.items for hit in inside)


async def test_groups_stay_through_a_new_search(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await searching(running, "crane")
        await running.press("tab", "d", "slash")
        before = screen.result
        await running.type(" hook")
        await running.until(lambda: screen.result is not before and not screen.result.partial)
        assert any(row.startswith(" ▾ ") for row in running.lines())


async def test_wide_screens_group_too(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(160, 50)) as running:
        await searching(running, "crane")
        await running.press("tab", "d")
        text = "\n".join(running.lines())
        assert " ▾ memory/machines.md" in text
        assert "The crane motor is loud" in text
