"""Shared by all tests: an environment without surprises, real workspaces, and snapshots in the top folder."""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_textual_snapshot
from hypothesis import settings
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion
from textual.events import Event, Key

from tests.logs import stop_log
from tests.snapshot_files import SvgSnapshots, TextSnapshots

if TYPE_CHECKING:
    from textual.message import Message
    from textual.pilot import Pilot

    from core import Memory
    from tests.pictures import Album
    from tui.app import MemdeckApp

# No test asserts an absolute time, and the first example pays for imports. What passes here passes everywhere; others
# than these examples are tried by hand: pytest --hypothesis-profile=explore.
settings.register_profile("memdeck", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("memdeck")

KEPT = ("MEMDECK_OPS", "MEMDECK_KILLS", "MEMDECK_SEED")
for _name in [name for name in os.environ if name.startswith("MEMDECK_")] + ["NO_COLOR", "TEXTUAL_THEME", "TMUX"]:
    if _name not in KEPT:
        os.environ.pop(_name, None)


@pytest.fixture
def svg_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares an SVG screenshot with snapshots/<module>/<test>.svg."""
    return snapshot.use_extension(SvgSnapshots)


@pytest.fixture
def text_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares text with snapshots/<module>/<test>.txt."""
    return snapshot.use_extension(TextSnapshots)


@pytest.fixture
def album(text_snapshot: SnapshotAssertion, svg_snapshot: SnapshotAssertion) -> Album:
    """Compares the running app with text and SVG snapshots at several sizes or in several themes."""
    from tests.pictures import Album

    return Album(text_snapshot, svg_snapshot)


@pytest.fixture(autouse=True)
def _snapshots_in_the_top_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_textual_snapshot, "SVGImageExtension", SvgSnapshots)


@pytest.fixture(autouse=True)
def _no_log_is_left() -> Iterator[None]:
    """A command that runs inside the test process starts the log of its home; the next test has another home."""
    yield
    stop_log()


MakeMemory = Callable[..., "Memory"]


@contextmanager
def _memories() -> Iterator[MakeMemory]:
    from core import open_memory

    opened: list[Memory] = []

    def make(root: Path, files: Mapping[str, str | bytes], **flags: object) -> Memory:
        workspace = root / "ws"
        workspace.mkdir(exist_ok=True)
        for name, text in files.items():
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        memory = open_memory(
            workspace=workspace,
            store=root / "index.sqlite",
            environ={},
            home=root / "home",
            flags={"provider": "none", **flags},
            resident=True,
        )
        opened.append(memory)
        memory.sync()
        return memory

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def memory_of(tmp_path: Path) -> Iterator[MakeMemory]:
    """Writes files into a workspace, opens its memory and brings the index in step; by default without vectors."""
    with _memories() as make:
        yield partial(make, tmp_path)


@pytest.fixture(scope="module")
def shared_memory_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeMemory]:
    """The same for a whole module, whose tests leave its files alone."""
    with _memories() as make:
        yield partial(make, tmp_path_factory.mktemp("deck"))


class Deck:
    """The app, running without a terminal, and what a test does with it."""

    def __init__(self, app: MemdeckApp, pilot: Pilot[None], messages: list[Message]) -> None:
        self.app, self.pilot, self.messages = app, pilot, messages

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def together(self, *keys: str | Event) -> None:
        """All at once, then let them have their effect."""
        order = self.app._order
        for key in keys:
            self.app.post_message(key if isinstance(key, Event) else Key(key, key if len(key) == 1 else None))
        await self.pilot.pause(0.05)
        await self.until(lambda: order._late is None and not order._waiting)
        await self.rest()

    async def type(self, text: str) -> None:
        await self.pilot.press(*(key if key != " " else "space" for key in text))

    async def until(self, condition: Callable[[], object], seconds: float = 20) -> None:
        """Let the app run until something holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "\n".join(["never came true; the screen:", *self.lines()])
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def rest(self, seconds: float = 0.2) -> None:
        """Let workers and timers of less than so many seconds finish."""
        await self.pilot.pause(seconds)
        await self.until(lambda: all(w.is_finished or w.group == "trace" for w in self.app.workers))

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.pilot.pause()

    def lines(self) -> list[str]:
        """What is on the screen, row by row, blanks at the end cut off."""
        rows: dict[int, str] = {}
        svg = self.app.export_screenshot(simplify=False)
        for x, row, text in re.findall(r'<text class="[^"]*" x="([\d.]+)"[^>]*-line-(\d+)\)">(.*?)</text>', svg):
            before = rows.get(int(row), "")
            gap = round(float(x) / 12.2) - cell_len(before)
            rows[int(row)] = before + " " * gap + html.unescape(text).replace("\xa0", " ")
        return [rows.get(number, "").rstrip() for number in range(self.app.size.height)]

    @property
    def toasts(self) -> list[str]:
        return [message.notification.message for message in self.messages if hasattr(message, "notification")]


@pytest.fixture
def deck() -> Callable[..., Any]:
    """Runs the app: `async with deck(memory, size=(80, 24)) as running:`."""
    from tui.app import AppOptions, MemdeckApp

    @asynccontextmanager
    async def run(memory: Memory | None, *, size: tuple[int, int] = (80, 24), **options: Any) -> AsyncIterator[Deck]:
        messages: list[Message] = []
        app = MemdeckApp(memory, AppOptions(**{"environ": {}, "start": False, **options}))
        async with app.run_test(size=size, notifications=True, message_hook=messages.append) as pilot:
            running = Deck(app, pilot, messages)
            await running.rest()
            yield running

    return run
