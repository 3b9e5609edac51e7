"""What one takes from a transcript and how one moves in it: citations, resume commands, excerpts, hits, growth."""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events

from core import Memory, visible
from tests.transcript_home import AGENTS, PI, copy_samples, pi_file, write_pi
from tui.screens.saved import Saved
from tui.screens.sessions import SessionsScreen

TALK = [("user" if number % 2 == 0 else "assistant", f"turn {number} about the kiln") for number in range(30)]
TALK[6] = ("user", "the zebra needle")
TALK[21] = ("assistant", "zebra again, no needle but zebra")


@pytest.fixture
def memory(memory_of: Callable[..., Memory], tmp_path: Path) -> Memory:
    write_pi(tmp_path / "home", TALK, title="Kiln [talk]")
    return memory_of({"MEMORY.md": "# Zebra\n\nnothing else\n"}, **{"sessions.agents": ["pi"]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def opened(running: Any, path: str = PI) -> SessionsScreen:
    await running.press("f3")
    screen = running.app.screen
    assert isinstance(screen, SessionsScreen)
    await running.until(lambda: screen.rows.items)
    screen.opened.update(family.row.path for family in screen.families)
    screen.fill(keep=path)
    await running.until(lambda: screen.view is not None and screen.view.path == path)
    return screen


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app was asked to copy."""
    from tui.app import MemdeckApp

    texts: list[str] = []
    monkeypatch.setattr(MemdeckApp, "copy", lambda self, text: texts.append(text))
    return texts


def row_with(running: Any, *words: str) -> str:
    return next((row for row in running.lines() if all(word in row for word in words)), "")


# -- taking


async def test_the_citation_is_that_of_the_message_or_of_the_selection(
    deck: Any, memory: Memory, copied: list[str]
) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "J", "y", "v", "J", "J", "y", "escape", "y")
        assert copied == [f"{PI}#L3", f"{PI}#L3-L5", f"{PI}#L5"]


async def test_texts_are_copied_masked_and_with_their_roles(deck: Any, memory: Memory, copied: list[str]) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "Y")
        await running.until(lambda: copied)
        await running.press("v", "J", "Y")
        await running.until(lambda: len(copied) == 2)
        assert copied == [
            "turn 0 about the kiln", "User: turn 0 about the kiln\n\nAssistant: turn 1 about the kiln",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "command"),
    [
        (
            "sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl",
            "cd /home/ana/src/kiln && claude --resume 3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77",
        ),
        (
            "sessions/codex/019a4c01-2222-7333-8444-555566667777.jsonl",
            "cd /home/ana/src/kiln && codex resume 019a4c01-2222-7333-8444-555566667777",
        ),
        (
            "sessions/opencode/ses_5c2f01a7cffeKilnDemo0000001.jsonl",
            "cd /home/ana/src/kiln && opencode --session ses_5c2f01a7cffeKilnDemo0000001",
        ),
        (
            "sessions/gemini/5d2f7c1a-9b3e-4c6d-8a10-2f4e6b8d0c1f.jsonl",
            "cd /home/ana/src/kiln && gemini --resume 5d2f7c1a-9b3e-4c6d-8a10-2f4e6b8d0c1f",
        ),
        ("sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl", ""),
        ("sessions/claude-code/agent-a1b2c3.jsonl", ""),
    ],
)
async def test_the_command_that_resumes_is_that_of_the_agent(
    deck: Any, memory_of: Callable[..., Memory], home: Path, copied: list[str], path: str, command: str
) -> None:
    copy_samples(home, "claude-code", "codex", "openclaw-jsonl", "gemini", "opencode")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": AGENTS})
    async with deck(memory) as running:
        await opened(running, path)
        await running.press("R")
        if command:
            assert copied == [command]
        else:
            assert copied == []
            told = "openclaw has no command" if "openclaw" in path else "a subagent is not resumed by itself"
            await running.until(lambda: any(told in toast for toast in running.toasts))


async def test_pi_resumes_by_file_and_a_folder_of_control_characters_is_refused(
    deck: Any, memory_of: Callable[..., Memory], home: Path, copied: list[str]
) -> None:
    file = write_pi(home, TALK[:2])
    write_pi(home, TALK[:2], name="odd", cwd="/src/\x1b[2J\nrm -rf")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"]})
    async with deck(memory) as running:
        await opened(running)
        await running.press("R")
        assert copied == [f"cd /src/kiln && pi --session {file}"]
        await opened(running, "sessions/pi/odd.jsonl")
        await running.press("R")
        await running.until(lambda: any("control characters" in toast for toast in running.toasts))
        assert len(copied) == 1


async def test_the_last_fifteen_messages_are_saved_with_their_citation(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "s")
        await running.until(lambda: row_with(running, "save the last 15 messages as memory, titled: Kiln [talk]"))
        await running.press("enter")
        await running.until(lambda: isinstance(running.app.screen, Saved))
        (file,) = memory.workspace.glob("memory/*-kiln-talk.md")
        text = file.read_text()
        assert f"- **Source**: {PI}#L17-L31" in text
        assert text.count("turn ") == 14
        assert "User: turn 28 about the kiln" in text
        await running.until(lambda: row_with(running, f"memory/{file.name}#L1-L"))
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "files")
        await running.until(lambda: row_with(running, file.name) and row_with(running, "# Session:"))


async def test_selected_messages_are_saved_under_a_title_of_ones_own(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "J", "v", "J", "s")
        await running.until(lambda: row_with(running, "save 2 messages as memory"))
        await running.press("ctrl+u")
        await running.type("Overshoot")
        await running.press("enter")
        await running.until(lambda: isinstance(running.app.screen, Saved))
        (file,) = memory.workspace.glob("memory/*-overshoot.md")
        assert f"{PI}#L3-L4" in file.read_text()
        await running.press("escape")
        await running.until(lambda: isinstance(running.app.screen, SessionsScreen))


async def test_escape_saves_nothing(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "s", "escape")
        await running.rest()
        assert not list(memory.workspace.glob("memory/*"))


async def test_the_editor_opens_the_transcript_at_the_message(deck: Any, memory: Memory, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/argv\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    async with deck(memory, environ={"EDITOR": str(editor)}) as running:
        running.app.suspend = lambda: __import__("contextlib").nullcontext()
        await opened(running)
        await running.press("enter", "J", "e")
        await running.until((tmp_path / "argv").exists)
        assert (tmp_path / "argv").read_text().split() == ["+3", str(pi_file(tmp_path / "home"))]


async def test_the_pager_gets_a_transcript_masked_in_a_private_file_that_goes(
    deck: Any, memory: Memory, tmp_path: Path
) -> None:
    pager = tmp_path / "less"
    pager.write_text('#!/bin/sh\ncd "${0%/*}"; cp "$2" text; stat -c %a "$2" > mode; printf "%s\\n" "$@" > argv\n')
    pager.chmod(pager.stat().st_mode | stat.S_IXUSR)
    async with deck(memory, environ={"PAGER": str(pager)}) as running:
        running.app.suspend = lambda: __import__("contextlib").nullcontext()
        screen = await opened(running)
        await running.press("enter", "J", "vertical_line")
        await running.until((tmp_path / "argv").exists)
        line, name = (tmp_path / "argv").read_text().split()
        with memory.lines(screen.path) as source:
            expected = source.lines(1, source.line_count)
    assert line == "+3"
    assert (tmp_path / "mode").read_text() == "600\n"
    assert (tmp_path / "text").read_text().splitlines() == [visible(text) for text in expected]
    assert not Path(name).exists()


# -- from hit to hit


async def test_a_hit_opens_its_transcript_and_keys_walk_through_all_of_its_hits(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="zebra needle") as running:
        search = running.app.screen
        await running.until(lambda: search.result is not None and not search.result.partial)
        while search.hits.current.source != "sessions":
            await running.press("down")
        hit = search.hits.current
        await running.press("tab", "m")
        await running.until(lambda: running.app.current_mode == "sessions")
        screen = running.app.screen
        await running.until(lambda: screen.view is not None and screen.trail is not None)
        first, last = screen._place()
        assert first <= hit.line <= last
        lines = [one.line for one in screen.trail.hits]
        assert lines == sorted(lines)
        for _ in range(len(lines)):
            await running.press("n")
            assert screen._place()[0] in lines
        await running.press("N")
        assert row_with(running, "hit ", f"/{len(lines)} ·")
        await running.press("escape")
        await running.until(lambda: running.app.current_mode == "search")
        assert search.hits.current == hit


async def test_finding_goes_through_one_transcript_alone(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("enter", "f")
        await running.type("zebra")
        await running.press("enter")
        await running.until(lambda: screen.trail is not None)
        assert {hit.path for hit in screen.trail.hits} == {PI}
        await running.until(lambda: row_with(running, "hit 1/"))
        await running.press("escape")
        await running.until(lambda: screen.trail is None)
        assert screen.talk.has_focus


async def test_what_is_not_found_is_said(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "f")
        await running.type("zxqwv")
        await running.press("enter")
        await running.until(lambda: any("not found in what is indexed" in toast for toast in running.toasts))


async def test_a_key_for_the_next_hit_waits_for_the_search(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, search = threading.Event(), memory.search
    async with deck(memory) as running:
        screen = await opened(running)
        monkeypatch.setattr(memory, "search", lambda *asked, **how: (gate.wait(60), search(*asked, **how))[1])
        await running.press("enter", "f")
        await running.type("zebra")
        await running.press("enter")
        await running.until(lambda: row_with(running, "looking"))
        await running.press("n")
        await running.until(lambda: "still looking for zebra" in running.toasts)
        assert not screen.prompt.is_open
        gate.set()
        await running.until(lambda: row_with(running, "hit 1/"))


async def test_a_hit_whose_transcript_is_not_listed_leaves_the_list_usable(
    deck: Any, memory: Memory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pi(home, TALK[:3], name="other")
    await asyncio.to_thread(memory.sync)
    sessions = memory.sessions
    monkeypatch.setattr(memory, "sessions", lambda: tuple(info for info in sessions() if info.path != PI))
    async with deck(memory, query="zebra needle turn") as running:
        search = running.app.screen
        await running.until(lambda: search.result is not None and not search.result.partial)
        while search.hits.current.path != PI:
            await running.press("down")
        await running.press("tab", "m")
        await running.until(lambda: running.app.current_mode == "sessions")
        screen = running.app.screen
        await running.until(lambda: screen.view is not None and screen.view.path == PI)
        await running.until(lambda: screen.rows.items)
        await running.rest()
        assert screen.view.path == PI
        screen.rows.focus()
        await running.press("enter")
        await running.until(lambda: screen.view is not None and screen.view.path == "sessions/pi/other.jsonl")


@pytest.mark.parametrize(("typed", "seq"), [("8", 6), ("8-10", 6), ("99", 29), ("1", 0)])
async def test_a_line_number_goes_to_its_message(deck: Any, memory: Memory, typed: str, seq: int) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("enter", "number_sign")
        await running.type(typed)
        await running.press("enter")
        await running.until(lambda: screen.talk.current_seq == seq)


async def test_the_mouse_goes_to_a_message_and_the_wheel_scrolls_rows(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.pilot.click("#messages", offset=(30, 4))
        assert screen.talk.current == 3

        def turn_wheel() -> None:
            screen.talk.post_message(events.MouseScrollDown(screen.talk, 30, 4, 0, 1, 0, False, False, False))

        turn_wheel()
        await running.until(lambda: (screen.talk.top, screen.talk.skip) == (2, 0))
        assert screen.talk.current == 3
        for _ in range(3):
            turn_wheel()
        await running.until(lambda: screen.talk.top == 11)
        assert screen.talk.current >= 11


async def test_leaving_the_app_gives_up_what_is_being_read(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        cancel = (await opened(running))._cancel
        assert not cancel.is_set()
    assert cancel.is_set()


# -- growth


async def test_what_is_added_appears_without_losing_the_place(deck: Any, memory: Memory, home: Path) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("enter", "J", "J", "J")
        before = running.lines()[11:20]
        write_pi(home, [("user", "one more thing"), ("assistant", "and another")], first=30)
        await running.until(lambda: screen.view is not None and len(screen.view) == 32)
        assert screen.talk.current_seq == 3
        assert running.lines()[11:20] == before
        assert row_with(running, "+2 new ↓", "msg 4/32")
        await running.press("G")
        await running.until(lambda: row_with(running, "and another") and not row_with(running, "new ↓"))


async def test_at_the_end_new_messages_are_followed(deck: Any, memory: Memory, home: Path) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("enter", "G")
        write_pi(home, [("user", "one more thing")], first=30)
        await running.until(lambda: screen.talk.current_seq == 30 and row_with(running, "one more thing"))


async def test_a_transcript_deleted_while_it_is_shown_stays_there(deck: Any, memory: Memory, home: Path) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter")
        elsewhere = pi_file(home).rename(home / "elsewhere")
        await running.until(lambda: row_with(running, "the file is gone"))
        elsewhere.rename(pi_file(home))
        await running.until(lambda: not row_with(running, "the file is gone"))
        pi_file(home).unlink()
        await running.until(lambda: row_with(running, "the file is gone"))
        await running.press("G")
        await running.until(lambda: row_with(running, "turn 29"))
        await asyncio.to_thread(memory.sync)
        await running.rest()
        assert isinstance(running.app.screen, SessionsScreen)


async def test_a_transcript_that_is_written_anew_is_read_anew(deck: Any, memory: Memory, home: Path) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("enter", "G")
        write_pi(home, [("user", "all is new")])
        await running.until(lambda: screen.view is not None and len(screen.view) == 1)
        assert row_with(running, "all is new")


async def test_keys_while_something_loads_do_no_harm(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press(
            "f3", "enter", "J", "G", "r", "o", "v", "n", "escape", "tab", "y", "R", "bracketright", "a", "K"
        )
        await running.press("h", "l", "j", "k", "ctrl+d", "ctrl+u", "ctrl+o", "ctrl+o", "ctrl+o", "escape", "escape")
        await running.rest()
        assert isinstance(running.app.screen, SessionsScreen)
