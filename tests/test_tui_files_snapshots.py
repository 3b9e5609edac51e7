"""What the files screen looks like in every state."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from core import Memory
from core.sync.intake import MemoryIntake
from tests.pictures import SIZES, SVG_SIZES, pictured_memory, size_name, steady

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
        read = MemoryIntake.read

        def reading(self: MemoryIntake, file: Any, fresh: bool = False) -> Any:
            if file.path.endswith("locked.md"):
                raise PermissionError(13, "Permission denied", file.absolute)
            return read(self, file, fresh)

        patch.setattr(MemoryIntake, "read", reading)
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


@pytest.mark.parametrize("size", SIZES, ids=size_name)
@pytest.mark.parametrize("state", STATES)
async def test_files(deck: Any, memory: Memory, text_snapshot: SnapshotAssertion, state: str, size: Any) -> None:
    async with deck(memory, size=size) as running:
        await arrange(running, *STATES[state])
        assert steady("\n".join(running.lines())) + "\n" == text_snapshot


@pytest.mark.parametrize("theme", ["memdeck", "ansi-dark"])
@pytest.mark.parametrize("size", SVG_SIZES, ids=size_name)
async def test_files_in_colour(
    deck: Any, memory: Memory, svg_snapshot: SnapshotAssertion, size: Any, theme: str
) -> None:
    async with deck(memory, size=size, environ={"TEXTUAL_THEME": theme}) as running:
        await arrange(running, "", "memory/locked.md")
        assert steady(running.app.export_screenshot(simplify=True)) == svg_snapshot


async def test_a_status_that_cannot_be_read_is_said(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from core import StoreError

    def broken() -> None:
        raise StoreError("the index [/] is damaged\x1b", remedy="run memdeck index")

    monkeypatch.setattr(memory, "documents", broken)
    async with deck(memory) as running:
        await running.press("f5")
        await running.until(lambda: "the index [/] is damaged␛" in "\n".join(running.lines()))
        await asyncio.sleep(0)
        assert "run memdeck index" in "\n".join(running.lines())
