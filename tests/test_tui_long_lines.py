"""Hits far into long lines: the preview lands on the words, in Markdown and in transcripts, and says what is true."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import LineSource, Memory, SearchRequest
from tests.transcript_home import write_pi
from tui.pages import Target, open_page

FILLER = {"ascii": "word ", "wide": "潮位計の校正は三回測る。", "accents": "été à Bréhat, "}
WORDS = ("The needle stands here.", "The thread stands there.")


def long_line(filler: str, *, places: tuple[int, ...] = (60_000, 400_000), length: int = 500_000) -> str:
    """Words at some characters of one line of about `length` bytes in UTF-8 or more."""
    text = FILLER[filler] * (length // len(FILLER[filler]))
    for place, words in zip(places, WORDS, strict=True):
        text = f"{text[:place]} {words} {text[place:]}"
    return text


def hit_of(memory: Memory, query: str) -> Target:
    result = memory.search(SearchRequest(query, mode="keyword"))
    return Target.of_hit(result.hits[0], result.terms)


def shown_at(memory: Memory, target: Target) -> tuple[str, int, bool]:
    """What is drawn from where the preview lands on, by how many lines it moved, and whether it counts as changed."""
    opened = open_page(memory, target)
    with opened.page.source as source:
        return source.part(opened.page.best, opened.page.offset, 40), opened.moved, opened.stale


@pytest.mark.parametrize("filler", FILLER)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_preview_lands_on_the_words_in_a_long_line(
    memory_of: Callable[..., Memory], filler: str, encoding: str
) -> None:
    memory = memory_of({"MEMORY.md": f"# Long\n\n{long_line(filler)}\n".encode(encoding)})

    for word in ("needle", "thread"):
        text, moved, stale = shown_at(memory, hit_of(memory, word))
        assert text.startswith(f"{word} stands")
        assert (moved, stale) == (0, False)


@pytest.mark.parametrize("at_once", [8 << 20, 1])
def test_a_long_message_of_a_transcript_too(
    memory_of: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("core.sources.transcripts.reader._SMALL_FILE", at_once)
    text = long_line("accents", places=(5_000, 100_000), length=150_000)
    write_pi(tmp_path / "home", [("user", "hello"), ("assistant", text)])
    memory = memory_of({"MEMORY.md": "# Kiln\n"}, **{"sessions.agents": ["pi"]})

    for word in ("needle", "thread"):
        found, moved, stale = shown_at(memory, hit_of(memory, word))
        assert found.startswith(f"{word} stands")
        assert (moved, stale) == (0, False)


def test_a_long_line_that_moved_is_found_and_one_that_changed_is_said_to_have(
    memory_of: Callable[..., Memory],
) -> None:
    memory = memory_of({"MEMORY.md": f"# Long\n\n{long_line('ascii')}\n\nshort\n"})
    target, file = hit_of(memory, "thread"), memory.workspace / "MEMORY.md"

    file.write_text(f"# Long\n\nadded\n\n{long_line('wide', places=(100, 200))}\n\n{long_line('ascii')}\n")
    text, moved, stale = shown_at(memory, target)
    assert (text[:13], moved, stale) == ("thread stands", 4, False)

    file.write_text(f"# Long\n\n{FILLER['ascii'] * 100_000}\n")
    assert shown_at(memory, target)[1:] == (0, True)


def test_a_line_of_more_than_is_read_counts_as_in_place(
    memory_of: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.pages.READ_INSIDE", 200_000)
    memory = memory_of({"MEMORY.md": f"# Long\n\n{long_line('ascii')}\n"})
    target = hit_of(memory, "thread")

    opened = open_page(memory, target)

    assert (opened.page.offset, opened.moved, opened.stale) == (0, 0, False)


def test_any_place_in_a_line_is_found_to_the_character() -> None:
    from tui.pages import _inside

    chance = random.Random(7)
    line = "".join(chance.choices("ab é潮👩\u0301", k=300_000))
    source = LineSource.from_text(f"first\n{line}\nlast\n")
    for _ in range(40):
        at = chance.randrange(len(line) - 60)
        probe = line[at : at + 60]
        place = line.find(probe)
        offset = _inside(source, 2, probe, ())
        assert offset is not None
        assert source.part(2, offset, 60) == (probe if place >= 1900 else line[:60])
    assert _inside(source, 2, "not there", ()) is None
    assert _inside(source, 1, "first", ()) == 0


async def test_another_hit_of_the_same_line_is_shown_in_its_place(deck: Any, memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": f"# Long\n\n{long_line('ascii')}\n"})
    async with deck(memory, query="needle") as running:
        await running.until(lambda: any("needle stands" in row for row in running.lines()))
        for word in ("thread", "needle", "thread"):
            await running.press("ctrl+u")
            await running.type(word)
            await running.until(lambda word=word: any(f"{word} stands" in row for row in running.lines()[11:]))
            assert not any("changed since" in row for row in running.lines())


async def test_words_are_looked_for_in_a_long_line_that_is_shown_from_the_middle(
    deck: Any, memory_of: Callable[..., Memory]
) -> None:
    memory = memory_of({"MEMORY.md": f"# Long\n\n{long_line('ascii')}\n"})
    async with deck(memory, query="thread") as running:
        preview = running.app.screen.preview
        await running.until(lambda: any("thread stands" in row for row in running.lines()))
        await running.press("tab", "tab", "f", *"needle", "enter")
        await running.until(lambda: any("needle stands" in row for row in running.lines()))
        await running.press("escape")
        await running.until(lambda: any("thread stands" in row for row in running.lines()))
        await running.press("number_sign", "3", "enter")
        await running.until(lambda: preview.pointed == 3)
        await asyncio.sleep(0)
        assert any("3>word word" in row for row in running.lines())
