"""Keys that come in one piece: each goes to what the keys before it have opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.events import Event, Key, Paste
from textual.widget import Widget
from textual.widgets import Input, TextArea

from core import Memory
from tui import key_order
from tui.key_order import KeyOrder
from tui.screens.help import Help

FILES = {"MEMORY.md": "# Who\n\nneedle quest\n" + "line\n" * 40, "memory/other.md": "# Other\n\nquartz\n"}


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    return shared_memory_of(FILES)


def typed_in(running: Any) -> str:
    focused = running.app.focused
    assert isinstance(focused, Input | TextArea), focused
    return focused.value if isinstance(focused, Input) else focused.text


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("tab", "f", *"quest"), "quest"),
        (("tab", "tab", "f", *"quest"), "quest"),
        (("tab", "number_sign", *"12"), "12"),
        (("tab", "slash", "ctrl+u", *"quartz"), "quartz"),
        (("f3", "slash", *"quartz"), "quartz"),
        (("f5", "slash", *"quartz"), "quartz"),
        (("f4", "f5", "f3", "f2", "tab", "slash", "ctrl+u", *"quartz"), "quartz"),
        (("ctrl+p", *"quit"), "quit"),
        (("ctrl+n", *"quiet jam"), "quiet jam"),
        (("f1", "escape", "tab", "f", *"quest"), "quest"),
        (("tab", "slash", "ctrl+u", Paste("quit now"), "q"), "quit nowq"),
    ],
)
async def test_letters_go_where_the_key_before_them_leads(
    deck: Any, memory: Memory, keys: tuple[str | Event, ...], value: str
) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together(*keys)
        assert running.app.is_running
        assert typed_in(running) == value


@pytest.mark.parametrize("window", ["ctrl+n", "ctrl+p"])
async def test_escape_and_a_letter_in_the_same_bytes_are_two_keys(deck: Any, memory: Memory, window: str) -> None:
    async with deck(memory) as running:
        await running.together(window, Key("alt+a", "a"), Key("alt+ü", "ü"), "b")
        assert len(running.app.screen_stack) == 1
        assert typed_in(running) == "aüb"


async def test_alt_is_alt_where_the_user_has_bound_it(deck: Any, memory_of: Callable[..., Memory]) -> None:
    async with deck(memory_of(FILES, keymap={"app.help": "alt+a"})) as running:
        await running.together("ctrl+n", "x", Key("alt+b", "b"), Key("alt+a", "a"))
        assert isinstance(running.app.screen, Help)


async def test_a_command_is_run_from_keys_in_one_piece(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.together("ctrl+p", *"go to files", "enter", "slash", *"oth")
        assert running.app.current_mode == "files"
        assert typed_in(running) == "oth"


async def test_one_escape_for_each_window(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together("f1", "q", "f1", "q", "f1")
        assert isinstance(running.app.screen, Help)
        assert len(running.app.screen_stack) == 2


class Slow(Widget, can_focus=True):
    """Takes its time for `s`; writes down all it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.got = ""
        self.free = asyncio.Event()

    async def on_key(self, event: Key) -> None:
        self.got += event.key
        if event.key == "s":
            await self.free.wait()


class Ordered(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.order = KeyOrder(self, super().on_event)

    def compose(self) -> ComposeResult:
        yield Slow()

    async def on_event(self, event: Event) -> None:
        await (self.order.come if self.order.is_typed(event) else super().on_event)(event)


async def test_keys_wait_for_one_that_takes_time_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Ordered()
    async with app.run_test() as pilot:
        slow = app.query_one(Slow)
        for key in "asbc":
            app.post_message(Key(key, key))
        await asyncio.sleep(0.2)
        assert slow.got == "as"
        assert len(app.order._waiting) == 2
        slow.free.set()
        await pilot.pause()
        await pilot.pause(0.1)
        assert slow.got == "asbc"

        slow.free.clear()
        monkeypatch.setattr(key_order, "LONGEST_SECONDS", 0.1)
        for key in "sdefgh":
            app.post_message(Key(key, key))
        await asyncio.sleep(0.05)
        assert len(app.order._waiting) == 5
        await asyncio.sleep(0.15)  # not as often as there are keys
        assert not app.order._waiting
        slow.free.set()
        await pilot.pause(0.1)
        assert slow.got == "asbcsdefgh"


async def test_a_widget_that_goes_with_its_key_holds_nothing_up() -> None:
    class Going(Slow):
        async def on_key(self, event: Key) -> None:
            self.got += event.key
            if event.key == "g":
                await self.app.mount(Slow())
                self.remove()
                self.app.query(Slow).last().focus()

    class Leaving(Ordered):
        def compose(self) -> ComposeResult:
            yield Going()

    app = Leaving()
    async with app.run_test() as pilot:
        for key in "agxy":
            app.post_message(Key(key, key))
        await pilot.pause(0.3)
        assert not app.order._waiting
        assert app.query_one(Slow).got == "xy"
