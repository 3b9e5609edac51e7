"""The list of rows: drawn only where it is seen, and in its place when the rows change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot

from tui.theme import DARK
from tui.widgets.row_list import RowList


class Numbers(RowList[int]):
    drawn: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.widths: dict[int, int] = {}

    def row(self, item: int, width: int) -> Content:
        self.drawn += 1
        self.widths[item] = width
        return Content(f" row {item}")

    def key(self, item: int) -> str:
        return str(item)


class Listing(App[None]):
    CSS_PATH = "../tui/styles/app.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[object] = []
        self.register_theme(DARK)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield Numbers()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        self.chosen.append(event.item)


@asynccontextmanager
async def listing(count: int = 10_000) -> AsyncIterator[tuple[Numbers, Pilot[None]]]:
    app = Listing()
    async with app.run_test(size=(40, 10)) as pilot:
        rows = app.query_one(Numbers)
        rows.show(range(count))
        await pilot.pause()
        yield rows, pilot


def seen(rows: Numbers) -> list[str]:
    return [rows.render_line(y).text.strip() for y in range(rows.size.height)]


async def test_of_ten_thousand_rows_only_those_in_view_are_drawn() -> None:
    async with listing() as (rows, pilot):
        rows.move("last")
        await pilot.pause()
        assert seen(rows)[-1] == "▌row 9999"
        assert rows.drawn < 100


async def test_rows_have_the_width_that_is_there_also_where_no_resize_is_told() -> None:
    async with listing() as (rows, pilot):
        widths = set()
        for padding in (0, 3, 0):
            rows.styles.padding = (0, padding, 0, 0)
            rows._fitted = rows.scrollable_content_region.size
            await pilot.pause()
            seen(rows)
            assert {rows.widths[item] for item in range(5)} == {rows.scrollable_content_region.width}
            widths.add(rows.scrollable_content_region.width)
        assert widths == {40, 37}


@pytest.mark.parametrize(
    ("moves", "at"),
    [
        (["down", "down", "up"], 1),
        (["page_down"], 9),
        (["page_down", "page_up", "up"], 0),
        (["last", "down"], 99),
        (["last", "page_up", "first"], 0),
    ],
)
async def test_the_ends_do_not_wrap_around(moves: list[str], at: int) -> None:
    async with listing(100) as (rows, pilot):
        for move in moves:
            rows.move(move)
        await pilot.pause()
        assert rows.current == at
        assert f"▌row {at}" in seen(rows)


async def test_the_row_in_force_stays_where_it_stands_when_rows_come_above_it() -> None:
    async with listing(100) as (rows, pilot):
        for _ in range(30):
            rows.move("down")
        before = seen(rows)
        rows.show([*range(1000, 1020), *range(100)], keep="30")
        await pilot.pause()
        assert seen(rows) == before


@pytest.mark.parametrize(
    ("left", "current"),
    [
        ([*range(29), *range(31, 100)], 31),
        ([*range(20), 99], 99),
        ([*range(20), 200], 19),
        ([200, 201, 29, 28], 29),
        ([200, 201], 200),
    ],
)
async def test_the_row_beside_one_that_is_gone_is_in_force(left: list[int], current: int) -> None:
    async with listing(100) as (rows, pilot):
        for _ in range(30):
            rows.move("down")
        line = next(number for number, text in enumerate(seen(rows)) if "▌row 30" in text)
        rows.show(left, keep="30")
        await pilot.pause()
        assert rows.current == current
        if len(left) > 50:
            assert f"▌row {current}" in seen(rows)[line]


async def test_a_list_that_looks_the_same_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listing(100) as (rows, pilot):
        drawn: list[Any] = []
        monkeypatch.setattr(rows, "refresh", lambda *regions, **_: drawn.append(regions))
        rows.show([*range(50), *range(2000, 2050)], keep="0")
        await pilot.pause()
        assert drawn == []


async def test_a_click_puts_a_row_in_force_and_chooses_it() -> None:
    async with listing(100) as (rows, pilot):
        await pilot.click(rows, offset=(5, 4))
        assert rows.current == 4
        assert pilot.app.chosen == [4]  # type: ignore[attr-defined]


async def test_an_empty_list_has_no_row_and_moves_nowhere() -> None:
    async with listing(0) as (rows, pilot):
        rows.move("down")
        rows.mark()
        await pilot.pause()
        assert rows.current is None


async def test_marks_of_rows_that_are_gone_are_gone() -> None:
    async with listing(10) as (rows, _):
        rows.mark()
        rows.mark()
        assert rows.marked_items == [0, 1]
        rows.show(range(1, 5))
        assert rows.marked_items == [1]
