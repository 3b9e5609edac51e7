"""The windows over the screens: their keys are the table's, and nothing of them is kept once they are closed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._toast import Toast

from core import Memory
from tui.notices import Notice
from tui.screens.explain import Explanation
from tui.screens.help import Help
from tui.screens.palette import Palette

FILES = {"MEMORY.md": "# Who\n\nneedle\n"}
OPENED = {Help: ("f1",), Palette: ("ctrl+p",), Explanation: ("tab", "x")}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


@pytest.mark.parametrize(
    ("window", "keys"),
    [
        (Help, ("escape", "q", "question_mark", "f1", "enter")),
        (Palette, ("escape", "ctrl+p")),
        (Explanation, ("escape", "q", "x", "enter")),
    ],
)
async def test_a_window_is_closed_by_what_opened_it_and_by_what_leaves(
    deck: Any, memory: Memory, window: type, keys: tuple[str, ...]
) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        for key in keys:
            running.app.screen.input.focus()
            await running.press(*OPENED[window])
            assert isinstance(running.app.screen, window)
            await running.press(key)
            assert not isinstance(running.app.screen, window), key


@pytest.mark.parametrize("window", OPENED)
async def test_two_keys_in_a_burst_close_a_window_once(deck: Any, memory: Memory, window: type) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.press(*OPENED[window])
        opened = running.app.screen
        assert isinstance(opened, window)
        for _ in range(3):  # what a key does, with nothing else between
            opened.dismiss(None)
        await running.press("escape")
        assert len(running.app.screen_stack) == 1
        assert running.app.is_running


async def test_enter_held_down_in_the_palette_acts_once(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+p", *"theme: mono")
        palette = running.app.screen
        await running.until(lambda: any("theme: mono" in row for row in running.lines()))
        for _ in range(3):
            palette.action_choose()
        await running.rest()
        assert running.app.theme == "monokai"
        assert len(running.app.screen_stack) == 1


async def test_windows_follow_the_keys_of_the_user(deck: Any, memory_of: Callable[..., Memory]) -> None:
    memory = memory_of(FILES, keymap={"list.down": "f12", "app.back": "ctrl+b", "app.help": "f1"})
    async with deck(memory) as running:
        await running.press("f1")
        assert any("^b closes" in row for row in running.lines())
        pane = running.app.screen.query_one("#help-text")
        await running.press("f12", "f12")
        assert pane.scroll_y == 2
        await running.press("ctrl+b")
        assert not isinstance(running.app.screen, Help)


async def test_closed_windows_leave_nothing_behind(deck: Any, memory: Memory) -> None:
    def drawn() -> int:
        running.messages.clear()
        gc.collect()
        return sum(isinstance(thing, Strip) for thing in gc.get_objects())

    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        before = 0
        for count in range(12):
            for keys in OPENED.values():
                running.app.screen.input.focus()
                await running.press(*keys)
                await running.pilot.pause(0.05)
                await running.press("escape")
            before = before or (drawn() if count == 1 else 0)
        assert drawn() < before + 200


async def test_no_widget_of_a_closed_window_is_kept(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:

        async def kept() -> tuple[int, int]:
            """Open and close every window; the widgets and styles of widgets that there are then."""
            for keys in (*OPENED.values(), ("ctrl+n", "x", "backspace")):
                running.app.screen.input.focus()
                await running.press(*keys)
                await running.pilot.pause(0.05)
                await running.press("escape")
            await running.rest()
            running.messages.clear()
            gc.collect()
            here = gc.get_objects()
            return sum(isinstance(thing, Widget) for thing in here), sum(
                isinstance(thing, StylesCache) for thing in here
            )

        await running.until(lambda: running.app.screen.preview.page is not None)
        await kept()
        assert await kept() == await kept()


async def test_a_notice_that_runs_out_as_it_is_shown_does_not_stop_the_app(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with deck(memory, query="needle") as running:
        monkeypatch.setattr(Notice, "has_expired", False)  # when the screen asked, it had not
        running.app.notify("too late", timeout=-1)
        await running.until(lambda: running.app.screen.query("Toast"))
        await running.until(lambda: not running.app.screen.query("Toast"))


async def test_news_takes_the_place_of_the_news_before_it_and_of_no_warning(deck: Any, memory: Memory) -> None:
    def toasts() -> list[str]:
        return [toast._notification.message for toast in running.app.screen.query(Toast)]

    async with deck(memory, query="needle") as running:
        running.app.clear_notifications()
        running.app.say("this went wrong", "warning")
        for words in ("one", "two", "three"):
            running.app.say(words)
            await running.until(lambda words=words: toasts() == ["this went wrong", words])
        running.app.say("this too", "error")
        await running.until(lambda: toasts() == ["this went wrong", "three", "this too"])
