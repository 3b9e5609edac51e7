"""Reading a document on the screen: going to lines, finding words, selecting, copying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core import Memory
from tui.finding import line_range

FILES = {
    "memory/long.md": "# Long\n\n" + "".join(f"line {n} [/x] {'Café' if n % 50 == 0 else ''}\n" for n in range(3, 401)),
    "memory/other.md": "# Other\n\nneedle and café\n",
}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


@pytest.fixture
def reading(deck: Any, memory: Memory) -> Callable[..., Any]:
    """Opens memory/long.md on the files screen with the preview in focus."""

    async def begin(running: Any) -> Any:
        await running.press("f5")
        screen = running.app.screen
        await running.until(lambda: screen.rows.current is not None)
        await running.press("l", "j")
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.path == "memory/long.md")
        await running.press("enter")
        return screen

    return begin


def gutter(running: Any, mark: str) -> list[str]:
    """The lines of the preview that have a mark around their number."""
    return [row.strip() for row in running.lines() if mark in row[:7]]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("123", (123, 123)), ("120-140", (120, 140)), (" #L9-L4 ", (4, 9)), ("0", (1, 1)), ("x", None), ("", None)],
)
def test_a_line_or_a_range_is_read(text: str, lines: tuple[int, int] | None) -> None:
    assert line_range(text) == lines


async def test_a_line_number_goes_to_that_line(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        await reading(running)
        await running.press("number_sign", "2", "4", "5", "enter")
        await running.until(lambda: any(row.startswith("245>") for row in gutter(running, ">")))


async def test_a_range_is_selected(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("ctrl+g")
        await running.type("120-140")
        await running.press("enter")
        await running.until(lambda: screen.preview.selection == (120, 140))
        assert gutter(running, "V")[0].startswith("V120>")
        await running.press("escape")
        assert screen.preview.selection is None
        assert screen.preview.has_focus


async def test_a_number_beyond_the_end_goes_to_the_last_line(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("number_sign", "9", "9", "9", "9", "enter")
        await running.until(lambda: screen.preview.pointed == 400)
        assert any("the last line is 400" in toast for toast in running.toasts)


async def test_finding_marks_counts_and_steps(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("f")
        await running.type("CAFE")
        await running.press("enter")
        await running.until(lambda: any("1/8 found" in row for row in running.lines()))
        assert screen.preview.pointed == 50
        await running.press("n")
        assert screen.preview.pointed == 100
        await running.press("N", "N")
        assert screen.preview.pointed == 400
        await running.press("escape")
        assert screen.preview.needle == ""
        assert not any("found" in row for row in running.lines())


async def test_words_are_found_again_in_the_next_document(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("f", *"café", "enter")
        await running.until(lambda: screen.preview.pointed == 50)
        await running.press("right_square_bracket")
        await running.until(lambda: screen.preview.page.path == "memory/other.md")
        await running.press("n")
        await running.until(lambda: screen.preview.pointed == 3)


async def test_what_is_not_there_is_told_as_text(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        await reading(running)
        await running.press("f")
        await running.type("[b]")
        await running.press("enter")
        await running.until(lambda: any("not in this file: [b]" in toast for toast in running.toasts))


async def test_escape_leaves_the_prompt_and_nothing_else(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("f", "x", "escape")
        assert not screen.prompt.is_open
        assert screen.preview.has_focus
        assert screen.preview.needle == ""


async def test_the_prompt_does_not_touch_the_filter(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("f", "z", "z")
        await running.rest()
        assert screen.input.value == ""
        assert len(screen.rows.items) == 3


async def test_selected_lines_are_cited_and_copied(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        copied: list[str] = []
        running.app.copy = lambda text, size=0: copied.append(text)
        await running.press("number_sign", "1", "0", "enter", "v", "j", "j", "k")
        assert screen.preview.selection == (10, 11)
        assert any("10-11 (2 lines)" in row for row in running.lines())
        await running.press("y", "Y")
        await running.until(lambda: len(copied) == 2)
        assert copied == ["memory/long.md#L10-L11", "line 10 [/x] \nline 11 [/x] "]
        await running.press("v")
        assert screen.preview.selection is None


async def test_a_selection_grows_upwards_and_to_the_ends(deck: Any, memory: Memory, reading: Any) -> None:
    async with deck(memory) as running:
        screen = await reading(running)
        await running.press("number_sign", "9", "enter", "v", "k")
        assert screen.preview.selection == (8, 9)
        await running.press("G")
        assert screen.preview.selection == (9, 400)
        await running.press("g")
        assert screen.preview.selection == (1, 9)


async def test_marked_rows_are_cited_together(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="café") as running:
        screen = running.app.screen
        await running.until(lambda: len(screen.hits.items) >= 2)
        copied: list[str] = []
        running.app.copy = copied.append
        await running.press("tab", "space", "space")
        assert [row[0] for row in running.lines()[2:4]] == ["*", "*"]
        await running.press("y")
        assert copied == ["\n".join(str(hit.citation) for hit in screen.hits.items[:2])]
        await running.press("g", "space")
        assert screen.hits.marked_items == [screen.hits.items[1]]


async def test_marks_go_with_the_rows_that_have_them(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="café") as running:
        screen = running.app.screen
        await running.until(lambda: len(screen.hits.items) >= 2)
        await running.press("tab", "space", "slash", "ctrl+u", *"zxqwv")
        await running.until(lambda: not screen.hits.items)
        assert not screen.hits.marked
