"""What the files screen looks like in every state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core import Memory
from tests.pictures import Album, pictured_memory
from tests.unreadable import refuse_to_read

FILES: dict[str, str | bytes] = {
    "MEMORY.md": "# Who we are\n\n- The deck keeps what agents remember.\n- Ask before deleting anything.\n",
    "memory/2026-03-10.md": "# Tuesday\n\nNothing much.\n",
    "memory/2026-03-11.md": "# Wednesday\n\n## Decisions\n\n- When vec0 is missing, **fall back to words**.\n",
    "memory/projects/東京/checklist.md": "# リリース\n\n1. sqlite-vec を確認する\n2. wheels をビルドする\n",
    "memory/projects/[/] not markup\x1b[2J.md": "# [/]\n\n- [x] done\n",
    "memory/latin.md": b"# Old\n\n" + b"written long ago, in another encoding. " * 4 + b"caf\xe9\n",
    "memory/photo.md": bytes(range(256)) * 8,
    "memory/locked.md": "# Locked\n\nas it was\n",
}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with pictured_memory(FILES) as memory, pytest.MonkeyPatch.context() as patch:
        (memory.workspace / "memory/link.md").symlink_to(memory.workspace / "MEMORY.md")
        (memory.workspace / "memory/projects/node_modules").mkdir()
        memory.sync()
        refuse_to_read(patch, "locked.md")
        (memory.workspace / "memory/locked.md").write_text("# Locked\n\nchanged\n")
        memory.sync()
        yield memory


STATES = {
    "tree": ("", "MEMORY.md"),
    "folder": ("down", "memory/"),
    "failed": ("", "memory/locked.md"),
    "folded": ("z", "memory/"),
    "narrowed": ("slash l a t i n", ""),
    "nothing": ("slash x x x x", ""),
    "failures": ("o o o", "memory/locked.md"),
    "left_out": ("o o o o", "memory/photo.md"),
    "full": ("ctrl+o", "MEMORY.md"),
    "marks": ("space down space", "memory/locked.md"),
    "help": ("f1", ""),
}


async def arrange(running: Any, keys: str, at: str) -> None:
    await running.press("f5")
    screen = running.app.screen
    await running.until(lambda: len(screen.rows.items) > 5)
    for key in keys.split():
        if key == "ctrl+o":
            go_to(running, screen, at)
        await running.press(key)
    if at and running.app.screen is screen:
        go_to(running, screen, at)
    await running.rest()


def go_to(running: Any, screen: Any, key: str) -> None:
    screen.rows.highlighted = next(n for n, row in enumerate(screen.rows.items) if row.key == key)


@pytest.mark.parametrize("state", STATES)
async def test_files(deck: Any, memory: Memory, album: Album, state: str) -> None:
    async with deck(memory) as running:
        await arrange(running, *STATES[state])
        await album.sizes(running)


async def test_themes(deck: Any, memory: Memory, album: Album) -> None:
    async with deck(memory) as running:
        await arrange(running, *STATES["marks"])
        await album.themes(running)


async def test_without_colour(deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with deck(memory) as running:
        await arrange(running, *STATES["failed"])
        await album.sizes(running)


async def test_a_status_that_cannot_be_read_is_said(
    deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core import StoreError

    def broken() -> None:
        raise StoreError("the index [/] is damaged\x1b", remedy="run memdeck index")

    monkeypatch.setattr(memory, "documents", broken)
    async with deck(memory) as running:
        await running.press("f5")
        await running.until(lambda: "the index [/] is damaged␛" in "\n".join(running.lines()))
        assert "run memdeck index" in "\n".join(running.lines())
        await album.sizes(running)
