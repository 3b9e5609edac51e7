"""The other screens on a real memory: files, sessions, status, help, palette, first run; sizes and hostile content."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from tests.transcript_home import write_pi
from tui.bindings import SCREENS, TABLE
from tui.commands import commands_of, matching
from tui.screens.help import Help
from tui.screens.palette import Palette

SIZES = ((40, 10), (20, 5), (5, 3), (1, 1), (80, 24), (300, 100), (120, 30), (59, 24), (80, 15), (80, 24))
HOSTILE_LINES = (
    "[/", "[/]", "- [x] done", "- [ ] todo", "[link](http://a.b)", "a [b=c] d", "array[0] = x[y]", "[red]boo[/red]",
    "[@click=app.quit]x[/]",
)  # fmt: skip


FILES = {
    "MEMORY.md": "# Who\n\nneedle in memory\n",
    "memory/a.md": "# A\n\nneedle a\n",
    "memory/deep/b.md": "# B\n\nneedle b\n",
}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


@pytest.fixture
def own_memory(memory_of: Callable[..., Memory]) -> Memory:
    """For tests that change the files."""
    return memory_of(FILES)


@pytest.fixture
def talking(memory_of: Callable[..., Memory], tmp_path: Path) -> Memory:
    """With a transcript."""
    write_pi(tmp_path / "home", [("user", f"question {number} " * 40) for number in range(12)])
    return memory_of(FILES, **{"sessions.agents": ["pi"]})


async def test_filters_without_a_word_say_what_is_missing(deck: Any, memory: Memory) -> None:
    async with deck(memory, query='path:"memory/a" after:2020') as running:
        await running.until(lambda: any("Filters alone find nothing" in row for row in running.lines()))
        assert any("Add a word to search for" in row for row in running.lines())


async def test_digits_go_from_screen_to_screen(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f5")
        for key, mode in (("2", "sessions"), ("3", "status"), ("4", "files")):
            await running.press(key)
            await running.until(lambda mode=mode: running.app.current_mode == mode)


async def test_sessions_say_how_to_switch_them_on(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f3")
        await running.until(lambda: any("Sessions are off" in row for row in running.lines()))
        assert any('agents = ["openclaw"' in row for row in running.lines())


async def test_status_tells_counts_provider_and_health(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f4")
        await running.until(lambda: any(row.startswith(" health") for row in running.lines()))
        text = "\n".join(running.lines())
        assert "files     3" in text
        assert "provider  none" in text


async def test_what_happens_to_the_index_comes_into_the_log_in_one_batch(deck: Any, own_memory: Memory) -> None:
    async with deck(own_memory) as running:
        await running.press("f4")
        await running.until(lambda: any(row.startswith(" health") for row in running.lines()))
        (own_memory.workspace / "memory/new.md").write_text("# New\n\nnote\n")
        await asyncio.to_thread(own_memory.sync)
        await running.until(lambda: any("indexed" in row and "memory/new.md" in row for row in running.lines()))
        assert [line.verb for line in running.app.log_lines if line.subject == "memory/new.md"] == ["indexed"]


async def test_a_paused_log_counts_what_it_holds_back(deck: Any, own_memory: Memory) -> None:
    async with deck(own_memory) as running:
        await running.press("f4", "p")
        (own_memory.workspace / "memory/new.md").write_text("# New\n\nnote\n")
        await asyncio.to_thread(own_memory.sync)
        await running.until(lambda: any("PAUSED, +" in row for row in running.lines()))
        assert not any("memory/new.md" in row for row in running.lines())
        await running.press("p")
        await running.until(lambda: any("memory/new.md" in row for row in running.lines()))


async def test_the_screens_are_one_key_apart_and_keep_what_was_typed(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        seen = []
        for _ in range(4):
            await running.press("ctrl+t")
            await running.pilot.pause()
            seen.append(running.app.current_mode)
        assert seen == ["sessions", "status", "files", "search"]
        assert running.app.screen.input.value == "needle"


@pytest.mark.parametrize("mode", ["search", "sessions", "status", "files"])
async def test_help_names_every_key_of_the_screen(deck: Any, memory: Memory, mode: str) -> None:
    async with deck(memory, size=(100, 70)) as running:
        running.app.action_show(mode)
        await running.pilot.pause()
        await running.press("f1")
        await running.until(lambda: isinstance(running.app.screen, Help))
        text = "\n".join(running.lines())
        for binding in (row for row in TABLE if row.scope in ("app", "deck", mode)):
            assert binding.says in text
        await running.press("escape")
        assert not isinstance(running.app.screen, Help)


async def test_every_action_of_the_table_exists_where_it_is_bound(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        for mode, scopes in SCREENS.items():
            running.app.action_show(mode)
            await running.pilot.pause()
            for name in {row.action.split("(")[0] for row in TABLE if row.scope in scopes}:
                owner = running.app if name.startswith("app.") else running.app.screen
                assert hasattr(owner, f"action_{name.removeprefix('app.')}"), name


async def test_the_palette_does_what_is_chosen(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+p")
        await running.until(lambda: isinstance(running.app.screen, Palette))
        await running.type("go to files")
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "files")


def test_the_palette_finds_parts_of_words_best_first() -> None:
    from tui.bindings import load_keymap

    commands = commands_of("search", load_keymap({}), ["memdeck"])
    assert matching(commands, "copy cit")[0].action == "copy_citation"
    assert matching(commands, "qqqq") == []
    titles = [command.title for command in commands]
    assert "preview: split, full, off" in titles
    assert not [title for title in titles if title.split(": ")[0] == title.split(": ")[1].split(" ")[0]]
    assert len(commands) < 100


async def test_a_moved_key_works_and_its_old_one_does_not(deck: Any, memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": "# A\n\nneedle\n"}, keymap={"app.screen_next": "f12"})
    async with deck(memory) as running:
        await running.press("ctrl+t")
        await running.pilot.pause()
        assert running.app.current_mode == "search"
        await running.press("f12")
        await running.pilot.pause()
        assert running.app.current_mode == "sessions"
        assert "f12 screen" in running.lines()[-1]


@pytest.mark.parametrize(
    ("mode", "modal"),
    [("search", ""), ("search", "f1"), ("search", "ctrl+p"), ("sessions", ""), ("status", ""), ("files", "")],
)
async def test_every_size_is_survived_and_keeps_query_and_row(deck: Any, memory: Memory, mode: str, modal: str) -> None:
    async with deck(memory, query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: len(screen.hits.items) == 3)
        await running.press("down")
        chosen = screen.hits.current
        running.app.action_show(mode)
        await running.pilot.pause()
        if modal:
            await running.press(modal)
        for size in SIZES:
            await running.resize(*size)
            running.app.export_screenshot()
        assert (screen.input.value, screen.hits.current) == ("needle", chosen)


@pytest.mark.parametrize(("size", "fits"), [((39, 24), False), ((80, 9), False), ((40, 10), True)])
async def test_below_40x10_one_line_says_so(deck: Any, memory: Memory, size: tuple[int, int], fits: bool) -> None:
    async with deck(memory, size=size) as running:
        assert ("memdeck needs 40x10" in running.lines()[0]) is not fits


async def test_wide_terminals_show_list_and_preview_side_by_side(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(120, 30), query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None)
        assert screen.hits.region.y == screen.query_one("#reader").region.y
        await running.resize(119, 30)
        assert screen.hits.region.bottom == screen.query_one("#reader").region.y


async def test_narrow_terminals_show_the_list_and_enter_opens_the_preview(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(50, 20), query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: len(screen.hits.items) == 3)
        assert not screen.query_one("#reader").display
        await running.press("enter")
        await running.until(lambda: screen.preview.page is not None and screen.preview.size.height > 10)
        await running.press("escape")
        await running.pilot.pause()
        assert screen.hits.size.height > 10


async def test_markup_and_control_characters_are_text_everywhere(deck: Any, memory_of: Callable[..., Memory]) -> None:
    name = "memory/[/] [@click=app.quit]n[/].md"
    memory = memory_of({name: "# [/x] head\n\nneedle " + "\n".join(HOSTILE_LINES) + "\n\x1b[2J\x07\u202e\n"})
    broken = os.fsencode(memory.workspace / "memory") + b"/bad[x]\xff\x1b.md"
    Path(os.fsdecode(broken)).write_text("x")
    await asyncio.to_thread(memory.sync)
    async with deck(memory, size=(120, 40), query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None)
        text = "\n".join(running.lines())
        assert name in text
        for line in HOSTILE_LINES[1:]:
            assert line in text
        await running.press("ctrl+y")
        await running.until(lambda: any(name in toast for toast in running.toasts))
        await running.press("f5")
        await running.until(lambda: any("[/] [@click=app.quit]n[/" in row for row in running.lines()))
        await running.press("f4")
        running.app.say("[/x] \x1b[2J")
        await running.until(lambda: any("[/x] ␛[2J" in row for row in running.lines()))
        assert not any(ord(character) < 32 for row in running.lines() for character in row)


async def test_ctrl_c_once_warns_and_twice_quits(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+c")
        assert running.app.is_running
        assert any("again to quit" in toast for toast in running.toasts)
        await running.press("ctrl+c")
        await running.pilot.pause()
        assert running.app.return_code == 0


async def test_a_worker_that_fails_is_told_and_ends_nothing(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "documents", lambda: 1 / 0)
    async with deck(memory) as running:
        await running.press("f5")
        await running.until(lambda: any("ZeroDivisionError" in toast for toast in running.toasts))
        assert running.app.is_running


async def test_themes_change_by_key_and_a_wrong_one_is_named(deck: Any, memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": "# A\n"}, **{"appearance.theme": "no-such"})
    async with deck(memory) as running:
        assert any("no theme is called 'no-such'" in toast for toast in running.toasts)
        await running.press("f9")
        assert running.app.theme == "memdeck-light"


@pytest.mark.parametrize("pane", ["input", "rows", "preview"])
async def test_the_focus_comes_back_with_the_size(deck: Any, memory: Memory, pane: str) -> None:
    async with deck(memory, query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None)
        getattr(screen, pane).focus()
        for size in ((40, 10), (5, 3), (1, 1), (80, 24)):
            await running.resize(*size)
        await running.until(lambda: getattr(screen, pane).has_focus, 3)


@pytest.mark.parametrize("key", ["f2", "f3"])
async def test_the_split_comes_back_with_the_size(deck: Any, talking: Memory, key: str) -> None:
    async with deck(talking, query="needle") as running:
        await running.press(key, "tab")
        screen = running.app.screen
        await running.until(lambda: screen.is_in_step)
        await running.press("enter")
        for small in ((40, 10), (5, 3), (40, 10)):
            await running.resize(*small)
        assert screen.reader_size == "full"
        await running.resize(80, 24)
        assert screen.reader_size == "split"
        await running.press("ctrl+o")
        assert screen.reader_size == "full"
        for other in ((40, 10), (80, 24)):
            await running.resize(*other)
        assert screen.reader_size == "full"


@pytest.mark.parametrize("key", ["f2", "f3", "f5"])
async def test_the_field_stays_where_nothing_is_listed(deck: Any, memory: Memory, key: str) -> None:
    async with deck(memory, query="zxkwv") as running:
        await running.press(key)
        screen = running.app.screen
        await running.press("slash", *"zxkwv")
        await running.until(lambda: screen.has_class("-empty") and screen.is_in_step)
        await running.press("escape", "ctrl+o", "ctrl+o")
        assert screen.reader_size == "split"
        screen.reader_size = "full"  # as when the last hit goes while it is read
        await running.pilot.pause()
        assert screen.input.region.height > 0


async def test_the_record_keeps_the_focus_at_every_size(deck: Any, talking: Memory) -> None:
    async with deck(talking) as running:
        await running.press("f3")
        screen = running.app.screen
        await running.until(lambda: screen.is_in_step and screen.view is not None)
        await running.press("enter", "ctrl+o", "r")
        for size in ((40, 10), (20, 5), (5, 3), (1, 1), (80, 24)):
            await running.resize(*size)
        await running.until(lambda: screen.focused is not None, 3)
        assert screen.focused in (screen.talk, screen.records)


async def test_a_provider_that_cannot_work_is_named_on_every_screen(
    deck: Any, memory_of: Callable[..., Memory]
) -> None:
    memory = memory_of(FILES, provider="openai")
    async with deck(memory) as running:
        for key in ("f2", "f4", "f5"):
            await running.press(key)
            await running.until(lambda: "! words only: openai needs an API key" in running.lines()[1])
