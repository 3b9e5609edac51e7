"""The quick note: written from anywhere, kept as a draft, appended to today's note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core import MemdeckError, Memory
from tui.screens.note import QuickNote


@pytest.fixture
def memory(memory_of: Callable[..., Memory]) -> Memory:
    return memory_of({"MEMORY.md": "# Who\n\nneedle\n"})


@pytest.mark.parametrize("key", ["ctrl+o", "ctrl+s"])
async def test_a_note_is_appended_to_today_and_cited(deck: Any, memory: Memory, key: str) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", *"hi", "space", "[", "/", "x", "]", "enter", "q", key)
        await running.until(lambda: any(toast.startswith("saved memory/") for toast in running.toasts))
        note = next((memory.workspace / "memory").glob("*.md"))
        assert "hi [/x]\nq" in note.read_text()
        assert not isinstance(running.app.screen, QuickNote)
        assert running.app.draft == ""


async def test_escape_keeps_a_draft_across_screens(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", *"draft", "escape", "f5", "ctrl+n")
        await running.until(lambda: any("draft" in row for row in running.lines()))
        await running.press("s", "ctrl+n")
        assert running.app.draft == "drafts"
        assert not (memory.workspace / "memory").exists()


async def test_a_note_that_cannot_be_saved_stays(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> None:
        raise MemdeckError("the disk is full [/]")

    monkeypatch.setattr(memory, "note", fails)
    async with deck(memory) as running:
        await running.press("ctrl+n", "x", "ctrl+o")
        await running.until(lambda: any("not saved: the disk is full [/]" in toast for toast in running.toasts))
        assert isinstance(running.app.screen, QuickNote)
        assert running.app.draft == "x"


async def test_a_blank_note_is_not_saved(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", "space", "ctrl+o")
        await running.until(lambda: any("nothing is written" in toast for toast in running.toasts))
        assert not (memory.workspace / "memory").exists()
