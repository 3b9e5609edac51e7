"""A key is about the row that the keys before it have led to, also while its document is still being read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from tests.transcript_home import write_pi
from tui.app import MemdeckApp
from tui.screens.note import QuickNote
from tui.widgets.prompt import Prompt

FILES = {
    "MEMORY.md": "# Who\n\nneedle one\n" + "line\n" * 40,
    "memory/a.md": "# A\n\nkiln kiln kiln needle two\n" + "quiz\n" * 40,
    "memory/b.md": "# B\n\n" + "filler\n" * 30 + "\n# Deep\n\nneedle three\n",
}


@pytest.fixture
def memory(memory_of: Callable[..., Memory], tmp_path: Path) -> Memory:
    for name in ("one", "two", "three"):
        talk = [("user", f"{name} asks {n}") if n % 2 == 0 else ("assistant", f"{name} says {n}") for n in range(8)]
        write_pi(tmp_path / "home", talk, title=f"Talk {name}", name=name)
    return memory_of(FILES, **{"sessions.agents": ["pi"]})


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app was asked to copy."""
    texts: list[str] = []
    monkeypatch.setattr(MemdeckApp, "copy", lambda self, text, size=0: texts.append(text))
    return texts


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What the app was asked to open in the editor."""
    places: list[tuple[str, int]] = []
    monkeypatch.setattr(MemdeckApp, "edit", lambda self, path, line, after=None: places.append((path, line)))
    return places


def asked(running: Any) -> str:
    prompt = running.app.screen.query_one(Prompt)
    assert prompt.is_open
    return str(running.app.focused.value)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("f3", "f", *"quiz"), "quiz"),
        (("f3", "number_sign", *"12"), "12"),
        (("f5", "f", *"quiz"), "quiz"),
        (("f5", "number_sign", *"12"), "12"),
        (("f5", "j", "j", "f", *"quiz"), "quiz"),
        ((*"needle", "tab", "f", *"quiz"), "quiz"),
        ((*"needle", "enter", "number_sign", *"12"), "12"),
        ((*"needle", "tab", "j", "ctrl+o", "ctrl+o", "f", *"quiz"), "quiz"),
    ],
)
async def test_a_prompt_opens_before_its_document_is_there(
    deck: Any, memory: Memory, keys: tuple[str, ...], value: str
) -> None:
    async with deck(memory) as running:
        await running.together(*keys)
        assert asked(running) == value


@pytest.mark.parametrize("down", [0, 1, 2])
async def test_what_is_taken_is_of_the_row_in_force(
    deck: Any, memory: Memory, down: int, copied: list[str], edited: list[tuple[str, int]]
) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together("tab", *"j" * down, "y", "e")
        hit = running.app.screen.rows.current
        assert copied == [f"{hit.path}#L{hit.start_line}-L{hit.end_line}"]
        await running.rest()
        await running.press("e")
        first, later = edited
        assert first == later
        assert first[0] == hit.path


async def test_lines_selected_are_of_the_row_in_force(deck: Any, memory: Memory, copied: list[str]) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together("tab", "j", "v", "j", "y")
        hit = running.app.screen.rows.current
        assert len(copied) == 1
        assert copied[0].startswith(f"{hit.path}#L")
        assert running.app.screen.preview.selection is not None


async def test_a_message_taken_is_of_the_session_in_force(deck: Any, memory: Memory, copied: list[str]) -> None:
    async with deck(memory) as running:
        await running.together("f3", "y", "R", "j", "y", "R", "j", "y", "R")
        paths = [row.path for row in running.app.screen.rows.items]
        assert [text.partition("#")[0] for text in copied[::2]] == paths
        assert len(set(copied[1::2])) == 3


async def test_an_excerpt_is_of_the_session_in_force(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.together("f3", "j", "s")
        assert asked(running) == running.app.screen.rows.current.title
        await running.together("enter", "escape", "tab")
        assert len(running.app.screen_stack) == 1
        assert len(list((memory.workspace / "memory").glob("*talk*.md"))) == 1


async def test_enter_opens_a_hit_of_what_was_typed(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together("ctrl+u", *"kiln", "enter", "y")
        screen = running.app.screen
        assert screen.result.query == "kiln"
        assert screen.preview.page.path == "memory/a.md"
        assert screen.preview.has_focus


async def test_enter_stays_in_the_field_where_nothing_is_found(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.together("ctrl+u", *"zzzxx", "enter", "q")
        assert running.app.is_running
        assert running.app.screen.input.value == "zzzxxq"


@pytest.mark.parametrize("screen", ["f3", "f5"])
async def test_enter_opens_what_the_narrowed_list_begins_with(deck: Any, memory: Memory, screen: str) -> None:
    async with deck(memory) as running:
        word = "two" if screen == "f3" else "b.md"
        await running.together(screen, "slash", *word, "enter", "f", *"x")
        assert asked(running) == "x"
        current = running.app.screen.rows.current
        assert word in (current.title if screen == "f3" else current.key)


@pytest.mark.parametrize("down", [1, 2])
async def test_down_in_the_field_waits_for_what_was_typed(deck: Any, memory: Memory, down: int) -> None:
    async with deck(memory, query="kiln") as running:
        await running.together("ctrl+u", *"needle", *["down"] * down)
        screen = running.app.screen
        assert screen.result.query == "needle"
        assert screen.hits.highlighted == down
        await running.together("ctrl+u", *"zzzxx", "down", "ctrl+u", *"needle")
        assert screen.hits.highlighted == 0


async def test_text_after_a_saved_note_goes_to_the_screen_below(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.together("ctrl+n", *"first", "ctrl+o", *"second")
        assert not isinstance(running.app.screen, QuickNote)
        assert running.app.screen.input.value == "second"
        notes = [path.read_text("utf-8") for path in (memory.workspace / "memory").glob("20*.md")]
        assert len(notes) == 1
        assert "first" in notes[0]
        assert "second" not in notes[0]
        assert not running.app.draft.text


async def test_an_action_does_not_wait_for_ever(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch, copied: list[str]
) -> None:
    from tui import app
    from tui.screens.browse import BrowseScreen

    async with deck(memory, query="needle") as running:
        await running.until(lambda: running.app.screen.preview.page is not None)
        monkeypatch.setattr(app, "IN_STEP_SECONDS", 0.1)
        monkeypatch.setattr(BrowseScreen, "is_in_step", False)
        await running.together("tab", "y", "slash", *"x")
        assert copied == []
        assert any("press the key again" in toast for toast in running.toasts)
        assert running.app.screen.input.value == "needlex"
