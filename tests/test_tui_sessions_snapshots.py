"""What the sessions screen looks like in every state."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Memory, open_memory
from tests.pictures import Album, pictured_memory
from tests.transcript_home import AGENTS, copy_samples, pi_file, write_pi

TALK = [
    ("user", "Is vec0 missing on the Debian box? The status line says `off`."),
    ("assistant", "Yes: `no such module: vec0`. The package is there, but the interpreter was built without loadable "
                  "extensions.\n\nTwo ways out:\n  1. the SQLite that apsw brings\n  2. search by words alone"),
    ("toolResult", "python -c 'import sqlite3; print(sqlite3.sqlite_version)'\n3.40.1"),
    ("user", "日本語も: 拡張が読み込めないときは警告だけにして、検索は続けてください。"),
    ("assistant", "Done. Search answers from the words and the banner explains why [/] [b]no markup[/b]. " * 12),
    ("user", "save that decision"),
    ("assistant", "Saved."),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _in_utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def memory(_in_utc: None) -> Iterator[Memory]:
    """In a folder whose name is always as long."""
    root = Path(tempfile.mkdtemp(prefix="deck-", dir="/tmp"))
    home = root / "home"
    copy_samples(home, "claude-code", "codex", "openclaw-jsonl", "gemini", "opencode")
    write_pi(home, TALK, name="vec0", title="vec0 on Debian \x1b[2J [/x]", cwd="/home/ana/src/deck")
    write_pi(home, TALK[:2], name="odd")
    write_pi(home, [("user", "a talk whose file is gone"), ("assistant", "its text was kept")], name="gone")
    with pi_file(home, "odd").open("a") as file:
        file.write("no record\n")
    (root / "ws/memory").mkdir(parents=True)
    (root / "ws/MEMORY.md").write_text("# Who\n")
    flags = {"provider": "none", "sessions.agents": AGENTS, "sessions.keep_deleted": True}
    memory = open_memory(
        workspace=root / "ws", store=root / "i.sqlite", environ={}, home=home, flags=flags, resident=True
    )
    memory.sync()
    pi_file(home, "gone").unlink()
    memory.sync()
    yield memory
    memory.close()
    shutil.rmtree(root)


@pytest.fixture(autouse=True)
def _exact(album: Album) -> None:
    """Times of transcripts are theirs and always the same."""
    album.clean = str


STATES = {
    "list": ("sessions/pi/vec0.jsonl", "", "msg 1/7"),
    "messages": ("sessions/pi/vec0.jsonl", "enter J J J", "msg 4/7"),
    "selection": ("sessions/pi/vec0.jsonl", "enter v J J", "3 messages selected"),
    "record": ("sessions/pi/vec0.jsonl", "enter J r", "raw · "),
    "full": ("sessions/pi/vec0.jsonl", "enter ctrl+o", "msg 1/7"),
    "said": ("sessions/pi/vec0.jsonl", "o", "roles: said"),
    "subagents": ("sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl", "l", "└ find"),
    "gone": ("sessions/pi/gone.jsonl", "", "its file is gone"),
    "odd": ("sessions/pi/odd.jsonl", "", "1 line no record"),
    "saving": ("sessions/pi/vec0.jsonl", "enter s", "as memory, titled"),
    "found": ("sessions/pi/vec0.jsonl", "enter f v e c 0 enter", "1/"),
    "going_to_a_line": ("sessions/pi/vec0.jsonl", "enter number_sign 5", "line"),
    "whole": ("sessions/pi/vec0.jsonl", "enter J J a", "msg 3/7"),
    "list_alone": ("sessions/pi/vec0.jsonl", "ctrl+o ctrl+o", ""),
    "palette": ("sessions/pi/vec0.jsonl", "enter ctrl+p", "session: "),
    "no_match": ("sessions/pi/vec0.jsonl", "slash z x q", "No transcript has"),
    "help": ("sessions/pi/vec0.jsonl", "enter f1", "esc closes"),
}


async def shown(running: Any, path: str, keys: str, text: str) -> None:
    await running.press("f3")
    screen = running.app.screen
    await running.until(lambda: screen.rows.items)
    screen.fill(keep=path)
    await running.until(lambda: screen.view is not None and screen.view.path == path)
    if keys:
        await running.press(*keys.split())
    await running.until(lambda: text in "\n".join(running.lines()))
    await running.rest()


@pytest.mark.parametrize("name", STATES)
async def test_sessions(deck: Any, memory: Memory, album: Album, name: str) -> None:
    async with deck(memory, environ={"HOME": "/home/ana"}) as running:
        await shown(running, *STATES[name])
        await album.sizes(running)


@pytest.mark.parametrize("name", ["record", "selection"])
async def test_themes(deck: Any, memory: Memory, album: Album, name: str) -> None:
    async with deck(memory, environ={"HOME": "/home/ana"}) as running:
        await shown(running, *STATES[name])
        await album.themes(running)


async def test_without_colour(deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with deck(memory, environ={"HOME": "/home/ana"}) as running:
        await shown(running, *STATES["record"])
        await album.sizes(running)


@pytest.mark.parametrize("agents", [[], AGENTS], ids=["off", "none_yet"])
async def test_no_sessions(deck: Any, album: Album, agents: list[str]) -> None:
    with pictured_memory({"MEMORY.md": "# Who\n"}, **{"sessions.agents": agents} if agents else {}) as memory:
        memory.sync()
        async with deck(memory) as running:
            await running.press("f3")
            await running.until(lambda: re.search("are off|No transcripts", "\n".join(running.lines())))
            await album.sizes(running)
