"""A transcript of more than 110 MiB: on the screen at once, never whole in memory, never read while drawing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from core.sources.transcripts import parser
from core.sources.transcripts.said import READ_AT_ONCE as READ_AT_ONCE_OF_A_LINE
from tests.transcript_home import PI, pi_file
from tui.screens.sessions import SessionsScreen
from tui.widgets.message_view import READ_AT_ONCE

MEBIBYTE = 1 << 20
TURNS = 2600


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory]) -> Memory:
    """Mostly results of tools, so that indexing them costs little; one line of 12 MiB in the middle."""
    memory = shared_memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"]})
    file = pi_file(memory.store_path.parent / "home")
    file.parent.mkdir(parents=True)
    output = "a line of output from some tool\n" * 1200
    with file.open("w") as out:
        for turn in range(TURNS):
            said = "needle in the hay" if turn == TURNS - 100 else "well"
            size = 12 * MEBIBYTE if turn == TURNS // 2 else len(output)
            for role, text in (("user", f"turn {turn} {said}"), ("toolResult", (output * 400)[:size])):
                message = {"role": role, "content": [{"type": "text", "text": text}], "toolCallId": "c"}
                out.write(json.dumps({"type": "message", "message": message}) + "\n")
    assert file.stat().st_size > 110 * MEBIBYTE
    memory.sync()
    return memory


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The bytes of each record that is parsed, and whether the app's own thread does it."""
    records: list[tuple[int, bool]] = []
    parse = parser.parse_record

    def noting(data: bytes) -> object:
        records.append((len(data), threading.current_thread() is threading.main_thread()))
        return parse(data)

    monkeypatch.setattr(parser, "parse_record", noting)
    return records


@pytest.fixture
def gate(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets a whole transcript be read only when it is set."""
    assert memory._sessions is not None
    memory._sessions.reader._views.clear()
    opened = threading.Event()
    session = memory.session

    def waiting(path: str, **how: Any) -> Any:
        if how.get("near") is None:
            assert opened.wait(60)
        return session(path, **how)

    monkeypatch.setattr(memory, "session", waiting)
    yield opened
    opened.set()


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def test_it_is_on_the_screen_before_it_is_read(
    deck: Any, memory: Memory, parsed: list[tuple[int, bool]], gate: threading.Event
) -> None:
    async with deck(memory) as running:
        await running.press("f3")
        screen = running.app.screen
        assert isinstance(screen, SessionsScreen)
        await running.until(lambda: any("turn 0 well" in row for row in running.lines()))
        assert screen.view is not None
        assert screen.view.is_part
        assert sum(size for size, _ in parsed) < 3 * MEBIBYTE
        await running.press("enter", "G")
        await running.until(lambda: any(f"turn {TURNS - 1} well" in row for row in running.lines()))
        await running.press("number_sign", *str(TURNS + 1), "enter")
        await running.until(lambda: any(f"turn {TURNS // 2} well" in row for row in running.lines()))
        assert sum(size for size, _ in parsed) < 9 * MEBIBYTE + 13 * MEBIBYTE
        gate.set()
        await running.until(lambda: screen.view is not None and not screen.view.is_part, seconds=120)
        assert len(screen.view) == 2 * TURNS
        assert any(f"turn {TURNS // 2} well" in row for row in running.lines())


async def test_little_of_it_is_in_memory_and_nothing_is_read_while_drawing(
    deck: Any, memory: Memory, parsed: list[tuple[int, bool]]
) -> None:
    async with deck(memory) as running:
        before = resident()
        await running.press("f3")
        screen = running.app.screen
        await running.until(lambda: screen.view is not None and not screen.view.is_part, seconds=120)
        await running.press("enter", "G")
        for key in ("ctrl+u", "K", "K", "k", "g", "J", "r", "J", "G", "r"):
            await running.press(key)
            await running.rest()
        await running.press("number_sign", *str(TURNS + 2), "enter")
        await running.until(
            lambda: any(f" {TURNS + 2} " in row and "a line of output" in row for row in running.lines())
        )
        await running.press("a")
        await running.rest()
        assert max(size for size, drawing in [*parsed, (0, True)] if drawing) <= READ_AT_ONCE
        assert resident() - before < 100 * MEBIBYTE


async def test_a_hit_far_down_opens_at_once(deck: Any, memory: Memory, gate: threading.Event) -> None:
    async with deck(memory, query="needle hay") as running:
        search = running.app.screen
        await running.until(lambda: search.result is not None and search.result.hits)
        await running.press("tab", "m")
        await running.until(lambda: running.app.current_mode == "sessions")
        screen = running.app.screen
        await running.until(
            lambda: screen.view is not None and any("needle in the hay" in row for row in running.lines())
        )
        assert screen.view.is_part
        assert screen._place()[0] == 2 * (TURNS - 100) + 1
        assert screen.path == PI
        gate.set()


async def test_the_preview_of_a_hit_reads_what_it_shows(
    deck: Any, memory: Memory, parsed: list[tuple[int, bool]]
) -> None:
    async with deck(memory, query="needle hay") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.source.line_count > TURNS)
        assert any("needle in the hay" in row for row in running.lines()[10:])
        assert sum(size for size, _ in parsed) < 16 * MEBIBYTE
        await running.press("tab", "enter", "number_sign", *str(TURNS + 2), "enter")
        await running.until(lambda: any(f"turn {TURNS // 2} well" in row for row in running.lines()))
        await running.until(lambda: not any("…" in row[6:9] for row in running.lines()[10:]))
    assert max(size for size, by_the_app in parsed if by_the_app) <= READ_AT_ONCE_OF_A_LINE
    assert sum(size for size, _ in parsed) < 40 * MEBIBYTE
