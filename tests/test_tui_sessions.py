"""The sessions screen: transcripts of every dialect in a list that narrows and folds, their messages and records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from tests.transcript_home import AGENTS, SAMPLES, copy_samples, pi_file, write_pi
from tui.screens.sessions import SessionsScreen

CLAUDE = "sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl"
ALL = ("claude-code", "codex", "pi", "openclaw-jsonl", "gemini", "opencode")
DIALECTS = {
    "claude-code": (CLAUDE, 2),
    "codex": ("sessions/codex/019a4c01-2222-7333-8444-555566667777.jsonl", 4),
    "codex packed": ("sessions/codex/019a0001-2222-7333-8444-555566667777.jsonl", 3),
    "pi": ("sessions/pi/019a4c00-1111-7222-8333-444455556666.jsonl", 3),
    "openclaw-jsonl": ("sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl", 3),
    "openclaw-sqlite": ("sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl", 3),
    "gemini": ("sessions/gemini/5d2f7c1a-9b3e-4c6d-8a10-2f4e6b8d0c1f.jsonl", 3),
    "opencode": ("sessions/opencode/ses_5c2f01a7cffeKilnDemo0000001.jsonl", 1),
}
SIZES = ((40, 10), (20, 5), (1, 1), (160, 50), (100, 30), (59, 24), (80, 15), (300, 60), (5, 3), (80, 24))


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory], tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """All samples but one store, at home in a folder that no test changes."""
    memory = shared_memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": AGENTS})
    home = memory.store_path.parent / "home"
    copy_samples(home, *ALL)
    memory.sync()
    return memory


async def opened(running: Any) -> SessionsScreen:
    await running.press("f3")
    screen = running.app.screen
    assert isinstance(screen, SessionsScreen)
    await running.until(lambda: screen.view is not None or (screen._has_list and not screen.rows.items))
    return screen


async def at(running: Any, path: str) -> SessionsScreen:
    """The screen with this transcript in force and open."""
    screen = await opened(running)
    screen.opened.update(family.row.path for family in screen.families)
    screen.fill(keep=path)
    await running.until(lambda: screen.view is not None and screen.view.path == path)
    return screen


def row_with(running: Any, *words: str) -> str:
    return next((row for row in running.lines() if all(word in row for word in words)), "")


async def test_the_list_has_title_agent_folder_start_messages_and_size(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        row = row_with(running, "openclaw", "Kiln")
        assert all(part in row for part in ("2026-11-03", "src/kiln", "3 msgs", "3,039 B"))
        assert {row.dialect for row in screen.rows.items} == set(AGENTS)
        assert running.lines()[1].endswith("11 transcripts · roles: all")


async def test_the_newest_come_first(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        times = [row.info.ended or row.info.started for row in screen.rows.items]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("typed", "dialects"),
    [
        ("glaze", {"openclaw"}),
        ("opencode kiln", {"opencode"}),
        ("SRC/KILN codex", {"codex"}),
        ("gemini cone", {"gemini"}),
    ],
)
async def test_typing_narrows_by_title_agent_and_folder(
    deck: Any, memory: Memory, typed: str, dialects: set[str]
) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("slash")
        await running.type(typed)
        await running.until(lambda: {row.dialect for row in screen.rows.items} == dialects)
        assert " of 11 transcripts" in running.lines()[1]


async def test_a_filter_that_lets_nothing_through_says_what_to_do(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await opened(running)
        await running.press("slash")
        await running.type("zxqwv")
        await running.until(lambda: row_with(running, "No transcript has zxqwv"))
        assert row_with(running, "Clear the field")
        await running.press("ctrl+u")
        await running.until(lambda: row_with(running, "openclaw", "Kiln"))


async def test_subagents_are_folded_under_their_session(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        screen.fill(keep=CLAUDE)
        assert not row_with(running, "thermocouple readers")
        assert row_with(running, "▸", "Kiln overshoot", "+1")
        await running.press("l")
        await running.until(lambda: row_with(running, "└ find thermocouple"))
        await running.press("j", "h")
        await running.until(lambda: not row_with(running, "└ find thermocouple"))
        assert screen.rows.current is not None
        assert screen.rows.current.path == CLAUDE


async def test_a_filter_finds_subagents_and_shows_their_session(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("slash")
        await running.type("thermocouple")
        await running.until(lambda: [row.depth for row in screen.rows.items] == [0, 1])


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "openclaw-sqlite"])
async def test_messages_of_every_dialect_stand_on_their_lines(deck: Any, memory: Memory, dialect: str) -> None:
    path, line = DIALECTS[dialect]
    async with deck(memory) as running:
        await at(running, path)
        await running.until(
            lambda: row_with(running, f" {line} ", "user", "k" if "packed" not in dialect else "bisque")
        )
        assert row_with(running, "assistant")


async def test_a_store_is_shown_like_a_file(deck: Any, memory_of: Callable[..., Memory], tmp_path: Path) -> None:
    copy_samples(tmp_path / "home", "openclaw-sqlite")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["openclaw"]})
    path, line = DIALECTS["openclaw-sqlite"]
    async with deck(memory) as running:
        await at(running, path)
        await running.until(lambda: row_with(running, f" {line} ", "user", "overshoot"))
        await running.press("enter", "enter")
        await running.until(lambda: row_with(running, f"{line}  {{"))


async def test_aider_is_shown_too(deck: Any, memory_of: Callable[..., Memory], tmp_path: Path) -> None:
    copy_samples(tmp_path / "home", "aider")
    history = tmp_path / "home/src/kiln/.aider.chat.history.md"
    assert (SAMPLES / "aider/src/kiln/.aider.chat.history.md").read_bytes() == history.read_bytes()
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, sources=["memory", "sessions"], **{"sessions.paths": [str(history)]})
    async with deck(memory) as running:
        screen = await opened(running)
        assert {row.dialect for row in screen.rows.items} == {"aider"}
        await running.until(lambda: row_with(running, "user") and row_with(running, "assistant"))


async def test_keys_go_from_message_to_message(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await at(running, CLAUDE)
        await running.press("enter", "J", "J")
        assert (screen.talk.current, screen.talk.current_seq) == (2, 2)
        await running.until(lambda: row_with(running, "msg 3/5 · L5"))
        await running.press("K")
        await running.until(lambda: row_with(running, "msg 2/5 · L4"))
        await running.press("G")
        await running.until(lambda: row_with(running, "msg 5/5 · L8"))
        await running.press("J", "g")
        await running.until(lambda: row_with(running, "msg 1/5 · L2"))


async def test_roles_are_told_by_words_and_can_be_left_out(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await at(running, CLAUDE)
        assert [row for row in running.lines() if " thinking " in row]
        seen = [[screen.view.roles[seq] for seq in screen.talk.items]]
        for _ in range(5):
            await running.press("o")
            seen.append([screen.view.roles[seq] for seq in screen.talk.items])
        assert seen == [
            ["user", "thinking", "tool", "tool", "assistant"],
            ["user", "assistant"],
            ["user"],
            ["assistant"],
            ["thinking", "tool", "tool"],
            ["user", "thinking", "tool", "tool", "assistant"],
        ]


async def test_the_place_is_kept_when_roles_are_left_out(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await at(running, CLAUDE)
        await running.press("enter", "G", "o")
        assert screen.talk.current_seq == 4
        await running.press("o")
        assert screen.talk.current_seq == 0


async def test_the_record_under_the_cursor_is_shown_with_its_line(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await at(running, CLAUDE)
        await running.press("r")
        await running.until(lambda: row_with(running, "raw · ", "#L2") and row_with(running, "2  {"))
        await running.press("enter", "G")
        await running.until(lambda: row_with(running, "raw · ", "#L8") and row_with(running, "8  {"))
        await running.press("tab", "G")
        await running.until(lambda: [row for row in running.lines() if row.strip() == "}"])
        await running.press("escape", "r")
        await running.until(lambda: not row_with(running, "raw · "))


async def test_what_is_wrong_with_a_transcript_is_marked(
    deck: Any, memory_of: Callable[..., Memory], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    write_pi(home, [("user", "all is well")], name="well")
    write_pi(home, [("user", "some is lost")], name="odd")
    with pi_file(home, "odd").open("a") as file:
        file.write('{"type": "nobody knows"}\nno record\n')
    write_pi(home, [("user", "soon gone"), ("assistant", "kept text")], name="gone")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"], "sessions.keep_deleted": True})
    pi_file(home, "gone").unlink()
    await asyncio.to_thread(memory.sync)
    async with deck(memory) as running:
        screen = await at(running, "sessions/pi/gone.jsonl")
        assert row_with(running, "▌- ", "gone · ", "soon gone")
        assert row_with(running, " ! ", "some is lost")
        await running.until(lambda: row_with(running, "its file is gone") and row_with(running, "kept text"))
        screen.fill(keep="sessions/pi/odd.jsonl")
        await running.until(lambda: row_with(running, "! 1 line no record, 1 record of unknown types"))


async def test_a_transcript_that_cannot_be_read_is_marked(
    deck: Any, memory_of: Callable[..., Memory], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    packed = (
        home / ".codex/sessions/2026/09/01/rollout-2026-09-01T10-00-00-019a0001-2222-7333-8444-555566667777.jsonl.zst"
    )
    packed.parent.mkdir(parents=True)
    packed.write_bytes(b"no zstd at all")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["codex"]})
    async with deck(memory) as running:
        await running.press("f3")
        await running.until(lambda: row_with(running, "✗", "unreadable · "))


async def test_without_a_yes_the_screen_says_how_to_give_one(deck: Any, memory_of: Callable[..., Memory]) -> None:
    async with deck(memory_of({"MEMORY.md": "# Kiln\n"})) as running:
        await opened(running)
        assert row_with(running, "Sessions are off")
        assert row_with(running, "agents = [")


async def test_agents_without_transcripts_are_named(deck: Any, memory_of: Callable[..., Memory]) -> None:
    async with deck(memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["codex", "pi"]})) as running:
        await opened(running)
        await running.until(lambda: row_with(running, "No transcripts yet of codex, pi"))


async def test_new_transcripts_appear(deck: Any, memory_of: Callable[..., Memory], tmp_path: Path) -> None:
    write_pi(tmp_path / "home", [("user", "the first")], name="one")
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"]})
    async with deck(memory) as running:
        await opened(running)
        write_pi(tmp_path / "home", [("user", "the second")], name="two")
        await asyncio.to_thread(memory.sync)
        await running.until(lambda: row_with(running, "the second"))


async def test_all_sizes_work_and_the_place_is_kept(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await at(running, CLAUDE)
        await running.press("enter", "J", "J", "r")
        for width, height in SIZES:
            await running.resize(width, height)
            await running.press("J", "K")
        assert screen.talk.current == 2
        assert row_with(running, "tool", "Bash command")


async def test_a_small_terminal_shows_one_thing_at_a_time(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(40, 10)) as running:
        screen = await at(running, CLAUDE)
        assert not row_with(running, "assistant")
        await running.press("enter")
        await running.until(lambda: row_with(running, "user", "L2"))
        await running.press("r")
        await running.until(lambda: row_with(running, "2  {"))
        await running.press("escape")
        await running.until(lambda: row_with(running, "user", "L2"))
        await running.press("escape")
        await running.until(lambda: screen.rows.has_focus)


@pytest.mark.parametrize("keys", [["enter"], ["tab", "enter"]])
async def test_a_transcript_that_could_not_be_read_is_read_by_enter(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    async with deck(memory) as running:
        with monkeypatch.context() as patch:
            patch.setattr(memory, "session", refused)
            await running.press("f3")
            await running.until(lambda: row_with(running, "! Permission denied"))
        await running.press(*keys)
        await running.until(lambda: running.app.screen.view is not None)
        assert not row_with(running, "Permission denied")
