"""The quick note: written from anywhere, kept as a draft, appended to today's note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core import MemdeckError, Memory
from tui.draft import Draft
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
        assert running.app.draft == Draft()


async def test_escape_keeps_a_draft_across_screens(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", *"draft", "escape", "f5", "ctrl+n")
        await running.until(lambda: any("draft" in row for row in running.lines()))
        await running.press("s", "ctrl+n")
        assert running.app.draft.text == "drafts"
        assert not (memory.workspace / "memory").exists()


async def test_a_note_that_cannot_be_saved_stays(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> None:
        raise MemdeckError("the disk is full [/]")

    monkeypatch.setattr(memory, "note", fails)
    async with deck(memory) as running:
        await running.press("ctrl+n", "x", "ctrl+o")
        await running.until(lambda: any("not saved: the disk is full [/]" in toast for toast in running.toasts))
        assert isinstance(running.app.screen, QuickNote)
        assert running.app.draft.text == "x"


async def test_a_blank_note_is_not_saved(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", "space", "ctrl+o")
        await running.until(lambda: any("nothing is written" in toast for toast in running.toasts))
        assert not (memory.workspace / "memory").exists()


async def test_the_citation_of_the_current_hit_goes_into_the_text(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None)
        await running.press("ctrl+n", *"see", "ctrl+y", *"ok")
        assert running.app.draft.text == f"see {screen.hits.current.citation} ok"


async def test_selected_lines_are_what_a_note_cites(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None)
        await running.press("enter", "number_sign", "3", "enter", "v", "ctrl+n", "ctrl+y")
        assert running.app.draft.text == "MEMORY.md#L3 "


async def test_without_a_hit_there_is_nothing_to_cite(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", "ctrl+y")
        assert any("no hit to cite" in toast for toast in running.toasts)
        assert running.app.draft.text == ""


async def test_tags_become_a_line_below_the_text(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", *"Buy", "tab", *" decision,,storage ", "ctrl+o")
        await running.until(lambda: running.app.draft == Draft())
        note = next((memory.workspace / "memory").glob("*.md"))
        assert note.read_text().endswith("\n\nBuy\n\nTags: decision, storage\n")


async def test_a_draft_keeps_its_tags(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("ctrl+n", "x", "tab", *"tag", "escape", "ctrl+n")
        assert running.app.draft == Draft("x", "tag")
        assert any("tags tag" in row for row in running.lines())


async def test_the_keys_of_the_note_can_be_changed_and_are_shown(deck: Any, memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": "# Who\n"}, keymap={"note.save": "ctrl+g", "app.back": "ctrl+b,escape"})
    async with deck(memory) as running:
        await running.press("ctrl+n", "x")
        assert any("^g save" in row and "^b keeps it" in row for row in running.lines())
        await running.press("ctrl+o")
        assert not (memory.workspace / "memory").exists()
        await running.press("ctrl+g")
        await running.until(lambda: any(toast.startswith("saved memory/") for toast in running.toasts))
