"""The search screen on a real memory: typing, hits, the preview on the cited lines, copying, editing."""

from __future__ import annotations

import asyncio
import contextlib
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import Memory, SearchRequest, SearchResult, events
from tui.screens.search import ResultsCame, SearchScreen

FILES = {
    "MEMORY.md": "# Who we are\n\nThe deck keeps what agents remember.\n",
    "memory/2026-03-11.md": "# Wednesday\n\nDecided: when sqlite-vec is missing, fall back to words.\n",
    "memory/storage.md": "# Storage\n\n"
    + "Filler line.\n" * 60
    + "The vec extension may fail to load.\n"
    + "More.\n" * 60,
    "memory/coffee.md": "# Coffee\n\nThe machine wants descaling every month.\n",
}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


@pytest.fixture
def own_memory(memory_of: Callable[..., Memory]) -> Memory:
    """For tests that change the files."""
    return memory_of(FILES)


def screen_of(running: Any) -> SearchScreen:
    assert isinstance(running.app.screen, SearchScreen)
    return running.app.screen


async def test_typing_finds_and_the_preview_lands_on_the_cited_lines(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.type("extension fail to load")
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        page = screen.preview.page
        assert page is not None
        assert page.path == "memory/storage.md"
        assert page.source.line(page.best) == "The vec extension may fail to load."
        assert any("▌" in row and "may fail to load" in row for row in running.lines())


async def test_the_citation_in_the_row_is_the_one_of_the_hit(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="descaling") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.result is not None and not screen.result.partial)
        assert screen.result is not None
        assert str(screen.result.hits[0].citation) in running.lines()[2]


async def test_fast_typing_asks_once(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    search = memory.search

    def counting(request: SearchRequest, **options: Any) -> SearchResult:
        asked.append(request.query)
        return search(request, **options)

    monkeypatch.setattr(memory, "search", counting)
    async with deck(memory) as running:
        await running.type("coffee")
        await running.until(lambda: screen_of(running).result is not None)
        await running.rest()
    assert asked == ["coffee"]


async def test_a_newer_query_cancels_the_older_one(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    search = memory.search

    def slow(request: SearchRequest, *, cancel: threading.Event, **options: Any) -> SearchResult:
        if request.query == "c":
            if cancel.wait(10):
                cancelled.set()
            return SearchResult(request.query)
        return search(request, cancel=cancel, **options)

    monkeypatch.setattr(memory, "search", slow)
    async with deck(memory) as running:
        await running.type("c")
        await running.pilot.pause(0.3)
        await running.type("offee")
        await running.until(lambda: screen_of(running).result is not None)
        assert cancelled.is_set()
        assert screen_of(running).hits.current.path == "memory/coffee.md"


async def test_keyword_hits_show_at_once_and_the_chosen_row_stays_when_they_are_ranked_anew(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    search = memory.search

    def in_two_steps(request: SearchRequest, *, on_partial: Any, **options: Any) -> SearchResult:
        result = search(request, on_partial=None, **options)
        on_partial(replace(result, partial=True))
        go_on.wait(10)
        return replace(result, hits=tuple(reversed(result.hits)))

    monkeypatch.setattr(memory, "search", in_two_steps)
    async with deck(memory) as running:
        await running.type("the")
        screen = screen_of(running)
        await running.until(lambda: screen.result is not None and screen.result.partial)
        assert any("ranking" in row for row in running.lines())
        await running.press("down")
        chosen = screen.hits.current
        go_on.set()
        await running.until(lambda: screen.result is not None and not screen.result.partial)
        assert screen.hits.current == chosen


async def test_old_hits_stay_until_new_ones_come(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    search = memory.search
    go_on = threading.Event()

    def slow_second(request: SearchRequest, **options: Any) -> SearchResult:
        if request.query != "coffee":
            go_on.wait(10)
        return search(request, **options)

    monkeypatch.setattr(memory, "search", slow_second)
    async with deck(memory, query="coffee") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.hits.current is not None)
        await running.type(" machine")
        await running.pilot.pause(0.3)
        assert screen.hits.current is not None
        go_on.set()


async def test_no_hits_says_what_was_searched_and_which_keys_widen_it(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="zxqwv") as running:
        await running.until(lambda: any("No hits for zxqwv" in row for row in running.lines()))
        text = " ".join(running.lines())
        assert "hybrid search in all sources" in text
        assert "^r" in text


async def test_the_mode_cycles_and_searches_again(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="coffee") as running:
        await running.until(lambda: screen_of(running).result is not None)
        running.messages.clear()
        await running.press("ctrl+r")
        await running.until(lambda: any(isinstance(message, ResultsCame) for message in running.messages))
        assert screen_of(running).mode == "keyword"
        assert "keyword" in running.lines()[1]


async def test_enter_goes_into_the_preview_and_escape_comes_back_level_by_level(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="coffee") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        await running.press("enter")
        assert screen.preview.has_focus
        await running.press("escape")
        assert screen.hits.has_focus
        await running.press("escape")
        assert screen.input.has_focus
        await running.press("escape")
        assert screen.input.value == "coffee"
        assert running.app.is_running


async def test_the_preview_size_cycles_split_full_off(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="coffee") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        shown = []
        for _ in range(4):
            shown.append((screen.hits.display and screen.hits.size.height > 0, screen.preview.size.height > 0))
            await running.press("ctrl+o")
            await running.pilot.pause()
    assert shown[0] == shown[3] == (True, True)
    assert shown[1][1]
    assert not shown[2][1]


async def test_brackets_step_through_the_hits_from_inside_the_preview(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="the") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None and len(screen.hits.items) > 1)
        await running.press("enter", "right_square_bracket")
        await running.until(lambda: screen.preview.page.path == screen.hits.items[1].path)
        assert screen.preview.has_focus


async def test_the_copied_citation_is_that_of_the_current_hit(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="descaling") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        await running.press("ctrl+y")
        await running.until(lambda: running.app.clipboard)
        assert running.app.clipboard == str(screen.hits.current.citation)
        assert any("clipboard (OSC 52)" in toast for toast in running.toasts)


async def test_the_copied_text_is_what_the_file_says_on_the_cited_lines(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="descaling") as running:
        await running.until(lambda: screen_of(running).preview.page is not None)
        await running.press("tab", "Y")
        await running.until(lambda: running.app.clipboard)
        hit = screen_of(running).hits.current
        lines = (memory.workspace / hit.path).read_text().splitlines()
        assert running.app.clipboard == "\n".join(lines[hit.start_line - 1 : hit.end_line])


async def test_without_an_editor_the_app_says_what_to_set_and_lives_on(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="coffee") as running:
        await running.until(lambda: screen_of(running).preview.page is not None)
        await running.press("f6")
        assert any("set $VISUAL or $EDITOR" in toast for toast in running.toasts)
        assert running.app.is_running


async def test_lines_added_above_move_the_citation_with_its_text(deck: Any, own_memory: Memory) -> None:
    path = own_memory.workspace / "memory/storage.md"
    path.write_text("New.\n" * 7 + FILES["memory/storage.md"])
    async with deck(own_memory, query="extension fail load") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        page = screen.preview.page
        assert page.source.line(page.best) == "The vec extension may fail to load."
        assert any("moved from" in row for row in running.lines())


async def test_a_file_that_is_gone_is_named_in_the_preview_with_what_the_index_has(
    deck: Any, own_memory: Memory
) -> None:
    coffee = own_memory.workspace / "memory/coffee.md"
    text = coffee.read_text()
    coffee.unlink()
    async with deck(own_memory, query="descaling") as running:
        await running.until(lambda: any("memory/coffee.md: No such file" in row for row in running.lines()))
        hit, page = screen_of(running).hits.current, screen_of(running).preview.page
        kept = [page.source.line(number) for number in range(page.first, page.last + 1)]
        assert kept == hit.snippet.strip("\n").split("\n")
        assert page.source.line(page.source.line_count).startswith("3, then r brings the index in step")
        await running.press("tab", "Y")
        await running.until(lambda: "not copied: No such file or directory" in running.toasts)
        await running.press("tab", "v", "j", "y")
        await running.until(lambda: running.app.clipboard)
        assert running.app.clipboard == str(hit.citation)  # not lines of what is said of it
        coffee.write_text(text)
        await running.press("escape", "escape", "tab", "enter")
        await running.until(lambda: screen_of(running).preview.page.source.line(1) == text.split("\n")[0])


async def test_a_change_on_disk_that_was_indexed_shows_without_losing_the_place(deck: Any, own_memory: Memory) -> None:
    async with deck(own_memory, query="the") as running:
        screen = screen_of(running)
        await running.until(lambda: len(screen.hits.items) > 1)
        await running.press("down")
        chosen = screen.hits.current.path
        (own_memory.workspace / "memory/new.md").write_text("# New\n\nThe newest note of the deck.\n")
        await asyncio.to_thread(own_memory.sync)
        await running.until(lambda: any(hit.path == "memory/new.md" for hit in screen.hits.items))
        assert screen.hits.current.path == chosen


@pytest.mark.parametrize("keys", [[], ["d"]])
async def test_when_the_document_in_force_is_deleted_the_next_hit_is(
    deck: Any, own_memory: Memory, keys: list[str]
) -> None:
    async with deck(own_memory, query="the") as running:
        screen = screen_of(running)
        await running.until(lambda: len(screen.hits.items) > 2)
        await running.press("tab", *keys)
        first, second = list(dict.fromkeys(hit.path for hit in screen.hits.items))[:2]
        assert screen.hits.current.path == first
        (own_memory.workspace / first).unlink()
        await asyncio.to_thread(own_memory.sync)
        await running.until(lambda: all(hit.path != first for hit in screen.hits.items))
        assert screen.hits.current.path == second


async def test_an_empty_workspace_says_what_memdeck_reads(deck: Any, memory_of: Callable[..., Memory]) -> None:
    async with deck(memory_of({"notes.txt": "x"})) as running:
        await running.until(lambda: any("Nothing to search yet" in row for row in running.lines()))
        assert any("MEMORY.md" in row and "memory/**/*.md" in row for row in running.lines())


async def test_a_failing_search_says_so_and_typing_goes_on(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core import StoreError

    def broken(request: SearchRequest, **options: Any) -> SearchResult:
        raise StoreError("disk I/O [/x] error", remedy="Check the disk.")

    monkeypatch.setattr(memory, "search", broken)
    async with deck(memory, query="coffee") as running:
        await running.until(lambda: any("disk I/O [/x] error" in row for row in running.lines()))
        assert any("Check the disk." in row for row in running.lines())
        await running.type("x")
        assert screen_of(running).input.value == "coffeex"


@pytest.mark.parametrize(("key", "variable"), [("e", "EDITOR"), ("vertical_line", "PAGER")])
async def test_where_a_file_lies_is_looked_up_beside_the_app(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch, key: str, variable: str
) -> None:
    threads: list[threading.Thread] = []
    absolute = memory.absolute
    monkeypatch.setattr(memory, "absolute", lambda path: threads.append(threading.current_thread()) or absolute(path))
    async with deck(memory, query="extension fail load", environ={variable: "no-such-program"}) as running:
        running.app.suspend = contextlib.nullcontext
        await running.until(lambda: running.app.screen.hits.items)
        await running.press("tab")
        threads.clear()
        await running.press(key)
        await running.until(lambda: any("no-such-program cannot be started" in toast for toast in running.toasts))
    assert threads
    assert threading.main_thread() not in threads


async def test_the_editor_gets_the_line_that_matches(deck: Any, memory: Memory, tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    from tui.editor import editor_command

    async with deck(memory, query="extension fail load", environ={"EDITOR": str(script)}) as running:
        screen = screen_of(running)
        await running.until(lambda: screen.preview.page is not None)
        best = screen.preview.page.best
        command = editor_command(
            running.app.options.environ, memory.absolute(screen.cited.path), screen.preview.current_line
        )
        assert command == [str(script), f"+{best}", str(memory.workspace / "memory/storage.md")]


async def test_vectors_that_were_finished_are_searched_without_losing_the_place(deck: Any, own_memory: Memory) -> None:
    async with deck(own_memory, query="the") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.result is not None and len(screen.hits.items) > 1)
        await running.press("down")
        chosen = screen.hits.current
        running.messages.clear()
        own_memory.events.publish(events.EmbeddingFinished(at_ms=1, vectors=3, seconds=0.1))
        await running.until(lambda: any(isinstance(message, ResultsCame) for message in running.messages))
        await running.rest()
        assert screen.hits.current.chunk_id == chosen.chunk_id


async def test_a_hit_whose_text_changed_keeps_its_place(deck: Any, own_memory: Memory) -> None:
    async with deck(own_memory, query="machine deck") as running:
        screen = screen_of(running)
        await running.until(lambda: screen.result is not None and len(screen.hits.items) > 1)
        await running.press("down")
        chosen = screen.hits.current
        file = own_memory.workspace / chosen.path
        file.write_text(file.read_text() + "\nThe machine and the deck, again.\n")
        await asyncio.to_thread(own_memory.sync)
        await running.until(
            lambda: chosen.chunk_id not in {hit.chunk_id for hit in screen.hits.items} and screen.hits.items
        )
        assert screen.hits.current.path == chosen.path
