"""Going to a hit in a transcript brings its words into view, however long the message is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory
from tests.transcript_home import write_pi
from tui.landing import row_of_snippet, row_of_word, snippet_lines

FILLER = "The gauge on the quay is calibrated three times. "


def message(words: str, at: int, length: int = 300) -> str:
    """Words behind so many sentences of a long message."""
    return FILLER * at + words + " " + FILLER * (length - at)


TALK = [
    ("user", "hello"),
    ("assistant", message("The zebra crossed here.", 30)),
    ("user", message("Another zebra grazes there.", 250)),
    ("assistant", "short answer"),
    ("toolResult", message("The okapi stays hidden.", 2)),
    ("assistant", message("The last zebra sleeps.", 299, 300)),
]


@pytest.fixture(params=[8 << 20, 1], ids=["read whole", "read in part"])
def memory(
    memory_of: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Memory:
    monkeypatch.setattr("core.sources.transcripts.reader._SMALL_FILE", request.param)
    write_pi(tmp_path / "home", TALK)
    flags = {"sessions.agents": ["pi"], "sessions.include_tools": True}
    return memory_of({"MEMORY.md": "# Kiln\n"}, **flags)


def on_screen(running: Any, words: str) -> bool:
    """Whether words stand in the messages, over the ends of rows."""
    rows = [row[22:].strip() for row in running.lines()[11:23]]
    return words in " ".join(rows)


async def test_a_hit_of_the_search_screen_is_in_view(deck: Any, memory: Memory) -> None:
    async with deck(memory, query="grazes") as running:
        await running.until(lambda: running.app.screen.hits.items)
        await running.press("tab", "m")
        await running.until(lambda: on_screen(running, "Another zebra grazes there."))
        assert running.app.screen.landing is None


async def test_from_hit_to_hit_the_words_are_in_view(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f3")
        await running.until(lambda: running.app.screen.view is not None)
        await running.press("enter", "f", *"zebra", "enter")
        words = ["The zebra crossed here.", "Another zebra grazes there.", "The last zebra sleeps."]
        await running.until(lambda: on_screen(running, words[0]))
        for step, key in ((1, "n"), (2, "n"), (0, "n"), (2, "N"), (1, "N")):
            await running.press(key)
            await running.until(lambda step=step: on_screen(running, words[step]))
        await running.press("J")
        await running.until(lambda: on_screen(running, "short answer"))


async def test_what_a_tool_said_is_shown_where_the_hit_is_in_it(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f3")
        await running.until(lambda: running.app.screen.view is not None)
        await running.press("enter", "f", *"okapi", "enter")
        await running.until(lambda: on_screen(running, "The okapi stays hidden."))


async def test_who_moves_on_is_not_brought_back(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await running.press("f3")
        screen = running.app.screen
        await running.until(lambda: screen.view is not None and not screen.view.is_part)
        await running.press("enter", "f", *"zebra", "enter")
        await running.until(lambda: on_screen(running, "The zebra crossed here."))
        await running.together("n", "g")
        await running.rest(0.5)
        assert screen.talk.current == 0
        assert on_screen(running, "hello")


ROWS = ["first row of text", "", "the words that", "were looked for here", "and a word again"]


@pytest.mark.parametrize(
    ("snippet", "terms", "row"),
    [
        ("the words that were looked for here", ["words"], 2),
        ("the words that were looked for here", ["looked"], 3),
        ("…rds that were looked for he…", ["looked"], 3),
        ("Assistant: the words that were looked for here", [], 2),
        ("User: hello\nAssistant: were looked for here and", ["looked"], 3),
        ("the  words\tthat", ["words"], 2),
        ("were looked for elsewhere", ["looked"], None),
        ("", ["word"], None),
    ],
)
def test_the_row_of_a_snippet(snippet: str, terms: list[str], row: int | None) -> None:
    assert row_of_snippet(ROWS, snippet, terms) == row


def test_without_a_snippet_the_first_row_with_a_word() -> None:
    assert row_of_word(ROWS, ["word"]) == 2
    assert row_of_word(ROWS, ["zebra"]) is None
    assert row_of_word([], ["word"]) is None


def test_a_label_belongs_to_what_was_spoken_alone() -> None:
    assert snippet_lines("… Note: a thing\nUser: b …", spoken=False) == ["Note: a thing", "User: b"]
    assert snippet_lines("… Note: a thing\nUser: b …", spoken=True) == ["a thing", "b"]
