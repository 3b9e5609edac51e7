"""The title over a preview: the headings of the line one looks at, right at every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core import Memory
from tui.text import cells_of
from tui.titles import breadcrumb, preview_title

TRAIL = ("Storage", "Fallback of the index", "When vectors are missing", "Probe")
WIDE = ("保存の仕組み", "索引がない場合の動作", "確認")


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (80, "Storage › Fallback of the index › When vectors are missing › Probe"),
        (50, "Storage › … › When vectors are missing › Probe"),
        (22, "Storage › … › Probe"),
        (12, "… › Probe"),
        (6, "Probe"),
        (4, ""),
        (0, ""),
    ],
)
def test_the_middle_of_the_headings_goes_first(cells: int, text: str) -> None:
    assert breadcrumb(TRAIL, cells) == text


@pytest.mark.parametrize("trail", [TRAIL, WIDE, ("x" * 300,), ("日" * 150, "本" * 99)])
@pytest.mark.parametrize("cells", range(1, 90))
def test_headings_take_at_most_their_cells(trail: tuple[str, ...], cells: int) -> None:
    assert cells_of(breadcrumb(trail, cells)) <= cells


def test_headings_of_anyone_are_text() -> None:
    assert breadcrumb(("a\x1b[2Jb", "", "[/x]", "\u202ec"), 80) == "a␛[2Jb › [/x] › ⟦U+202E⟧c"


@pytest.mark.parametrize("trail", [(), TRAIL, WIDE])
@pytest.mark.parametrize(
    "path", ["a.md", "memory/" + "folder/" * 9 + "note.md", "memory/日本語のとても長い名前のノート.md"]
)
@pytest.mark.parametrize(("lines", "state"), [("", ""), ("#L1204-L1260", " ~ moved from 1100")])
def test_a_title_fits_and_keeps_the_lines(trail: tuple[str, ...], path: str, lines: str, state: str) -> None:
    for cells in range(60, 161):
        left, right = preview_title(
            cells, path=path, lines=lines, state=state, trail=trail, doing="", count="400 lines", percent=7
        )
        assert left.cell_length + cells_of(right) <= cells
        assert lines in left.plain
        assert right.endswith(" 7% ─")


def test_at_forty_columns_headings_are_still_told() -> None:
    left, right = preview_title(
        40, path="memory/storage.md", lines="#L12", state="", trail=TRAIL, doing="", count="400 lines", percent=29
    )
    assert left.cell_length + cells_of(right) <= 40
    assert "Probe · 29% ─" in right


FILES = {
    "memory/deep.md": "# Title\n\n"
    + "".join(f"## Section {n}\n\n### Sub {n}\n\n```sh\n# no heading {n}\n```\n" + "text\n" * 30 for n in range(1, 9))
}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (160, 50)])
async def test_the_headings_follow_the_line_that_is_looked_at(deck: Any, memory: Memory, size: tuple[int, int]) -> None:
    async with deck(memory, size=size) as running:
        await running.press("f5")
        screen = running.app.screen
        await running.until(lambda: screen.rows.current is not None)
        await running.press("l", "j", "enter")
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.path == "memory/deep.md")
        await running.press("number_sign", "8", "2", "enter")  # the comment in the third fence
        await running.until(lambda: any("Sub 3" in row and "─" in row for row in running.lines()))
        await running.press("G")
        await running.until(lambda: screen.preview.percent == 100)
        top = f"Sub {1 + (screen.preview.top_line - 5) // 37}"
        await running.until(lambda: any(top in row and "─" in row for row in running.lines()))
        assert not any("no heading" in row and "›" in row for row in running.lines())


async def test_the_outline_of_a_large_document_follows_its_text(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.pages.OUTLINED_AT_ONCE", 10)
    async with deck(memory, query="heading") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.outline is not None)
        assert any("Title › Section" in row for row in running.lines())
