"""Transcripts that want to harm: control sequences, markup and secrets in titles, folders, messages and records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from tests.transcript_home import HOSTILE, PI, SECRET, pi_file, write_pi
from tui.screens.sessions import SessionsScreen

WORDS = f"{HOSTILE} the key is {SECRET} and API_KEY={SECRET}"
LONG = " ".join(["kiln"] * 900) + f" {SECRET} " + "kiln " * 900


@pytest.fixture
def memory(memory_of: Callable[..., Memory], tmp_path: Path) -> Memory:
    home = tmp_path / "home"
    file = write_pi(
        home,
        [
            ("user", WORDS),
            ("assistant", WORDS),
            ("toolResult", WORDS),
            ("assistant", LONG),
            ("user", "token=" + SECRET),
        ],
        title=f"Title {HOSTILE} {SECRET}",
        cwd=f"/src/{HOSTILE}",
    )
    with file.open("ab") as out:
        out.write(json.dumps({"type": f"odd {HOSTILE} {SECRET}", "id": "o"}).encode() + b"\n")
        out.write(b"\x1b[2J no record \xff\xfe " + SECRET.encode() + b"\n")
    return memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"]})


async def opened(running: Any) -> SessionsScreen:
    await running.press("f3")
    screen = running.app.screen
    await running.until(lambda: screen.view is not None)
    await running.rest()
    assert isinstance(screen, SessionsScreen)
    return screen


def is_harmless(running: Any) -> bool:
    """Nothing on the screen that a terminal acts on, that hides or reorders text, and no secret."""
    text = "\n".join(running.lines())
    assert SECRET not in text
    assert SECRET[6:30] not in text.replace("\n", "")
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"], text
    return True


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (40, 10)], ids=str)
async def test_titles_folders_messages_and_records_are_shown_as_marks_and_masked(
    deck: Any, memory: Memory, size: tuple[int, int]
) -> None:
    async with deck(memory, size=size) as running:
        screen = await opened(running)
        assert is_harmless(running)
        await running.press("enter", "r")
        for _ in range(len(screen.view)):
            await running.rest()
            assert is_harmless(running)
            await running.press("a")
            await running.rest()
            assert is_harmless(running)
            await running.press("J")
        assert running.app.is_running


async def test_markup_and_sequences_stand_there_as_they_are(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(160, 50)) as running:
        await opened(running)
        text = "\n".join(running.lines())
        assert "[@click=app.quit]x[/] [/x] [red]no[/red]" in text
        assert "␛[2J ␛]52;c;QUFB␇" in text
        assert "⟦U+202E⟧evil⟦U+2066⟧" in text


async def test_the_secret_is_in_no_view_copy_or_excerpt(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    async with deck(memory) as running:
        monkeypatch.setattr(type(running.app), "copy", lambda self, text: copied.append(text))
        screen = await opened(running)
        await running.press("enter", "v", "G", "Y")
        await running.until(lambda: copied)
        await running.press("r", "tab", "Y", "escape", "s", "enter")
        await running.until(lambda: list(memory.workspace.glob("memory/*.md")))
        saved = "".join(file.read_text() for file in memory.workspace.glob("memory/*.md"))
        assert "sk-pro…3456" in "".join(copied)
        assert "sk-pro…3456" in saved
        assert SECRET not in "".join(copied) + saved
        assert screen.is_mounted


async def test_the_transcript_itself_is_never_touched(deck: Any, memory: Memory, tmp_path: Path) -> None:
    file = pi_file(tmp_path / "home")
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    async with deck(memory) as running:
        await opened(running)
        await running.press("enter", "r", "J", "a", "s", "enter")
        await running.rest()
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert PI == "sessions/pi/kiln.jsonl"
