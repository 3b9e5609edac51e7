"""What the app writes for a key, on every screen and in every window of 80x24: slow lines are many."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from core import Memory
from tests.terminals import CHILD, LONG, Terminal
from tests.transcript_home import write_pi

FIRST_PAINT, LETTER, DOWN = 30_000, 1_000, 6_000
SEARCH, SESSIONS, STATUS, FILES = "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"
ARROW_DOWN = "\x1b[B"
PLACES = {
    "search": ((SEARCH,), "[1 Search]", "needl"),
    "sessions": ((SESSIONS, "/"), "[2 Sessions]", "needl"),
    "files": ((FILES, "/"), "[4 Files]", "memor"),
    "status": ((STATUS, "\t"), "[3 Status]", ""),
    "palette": (("\x10",), "ind a command", "co"),
    "help": (("\x1bOP",), "closes", ""),
    "note": (("\x0e",), "today's note", "needl"),
}
"""How to get to each place, what shows that one is there, and what can be typed there."""


@pytest.fixture
def terminal(tmp_path: Path, memory_of: Callable[..., Memory]) -> Iterator[Terminal]:
    home = tmp_path / "home"
    for number in range(30):
        write_pi(
            home,
            [("user", f"needle {number}"), ("assistant", "found")] * 8,
            name=f"s{number}",
            title=f"Needle {number}",
        )
    notes = {f"memory/n{n}.md": f"# Note {n}\n\nA needle in note {n}.\n\nMemory.\n" for n in range(30)}
    memory_of(notes, **{"sessions.agents": ["pi"]}).close()
    terminal = Terminal([sys.executable, "-c", CHILD, str(tmp_path)], (80, 24), {"AGENTS": "pi"})
    yield terminal
    terminal.close()


def settle(terminal: Terminal) -> None:
    """Wait until nothing more is written."""
    while terminal.read(0.6, LONG):
        pass


def cost(terminal: Terminal, key: str, quiet: float) -> int:
    return len(terminal.press(key, quiet))


@pytest.mark.parametrize("place", PLACES)
def test_every_place_is_cheap_to_type_and_to_move_in(terminal: Terminal, place: str) -> None:
    way, sign, letters = PLACES[place]
    terminal.until("chunks")
    settle(terminal)
    assert len(terminal.output) < FIRST_PAINT
    before = 0 if place == "search" else len(terminal.output)
    for key in way:
        terminal.press(key)
    terminal.until(sign, before)
    settle(terminal)
    typed = [cost(terminal, letter, 0.04) for letter in letters]
    settle(terminal)
    down = [cost(terminal, ARROW_DOWN, 0.5) for _ in range(5)]
    assert typed == [] or median(typed) < LETTER, typed
    assert median(down) < DOWN, down
    assert place == "note" or max(down) > 0, "nothing moved"
    assert b"" in (terminal.read(3.0, 3.0) for _ in range(20)), "is never at rest"
