"""What the screens look like: text at 80x24 and 160x50, and SVG of the search."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from core import Memory, SearchRequest, SearchResult, open_memory

SIZES = [(80, 24), (160, 50)]
FILES = {
    "MEMORY.md": "# Who we are\n\n- The deck keeps what agents remember.\n- Ask before deleting anything.\n",
    "memory/2026-03-11.md": (
        "# Wednesday\n\n## Decisions\n\n"
        "- When sqlite-vec cannot be loaded, **fall back to words** and say so.\n"
        "- Keep `vec0` as the index on disk.\n"
    ),
    "memory/storage.md": (
        "# Storage\n\nOne SQLite file holds everything.\n\n## Fallback\n\n"
        "The order matters, because a failed extension must not leave a lock behind.\n\n"
        "When sqlite-vec cannot be loaded the index keeps working on words alone. The status screen shows why, and "
        "search answers with the words' half of the ranking.\n\n"
        "```python\nconnection.enable_load_extension(True)  # not a heading\n```\n\n"
        "See [the docs](https://alexgarcia.xyz/sqlite-vec/).\n"
    ),
    "memory/projects/東京/checklist.md": "# リリース\n\n1. sqlite-vec を確認する\n2. wheels をビルドする\n",
    "memory/hostile.md": "# [/] not markup\n\n- [x] sqlite-vec done \x1b[2J [@click=app.quit]quit[/]\n",
}
TOOK = {"keyword": 6.0, "rank": 2.0, "total": 8.0}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """In a folder whose name is always as long, so that it can be written over in the snapshots."""
    root = Path(tempfile.mkdtemp(prefix="deck-", dir="/tmp"))
    for name, text in FILES.items():
        path = root / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    memory = open_memory(
        workspace=root / "ws",
        store=root / "index.sqlite",
        environ={},
        home=root,
        flags={"provider": "none"},
        resident=True,
    )
    memory.sync()
    yield memory
    memory.close()
    shutil.rmtree(root)


@pytest.fixture(autouse=True)
def _no_clock(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    search = memory.search

    def timeless(request: SearchRequest, **options: Any) -> SearchResult:
        return replace(search(request, **{**options, "on_partial": None}), milliseconds=TOOK)

    monkeypatch.setattr(memory, "search", timeless)


def steady(text: str) -> str:
    """Without what differs from run to run: the folder's name, clock times, durations and sizes."""
    text = re.sub(r"/tmp/deck-\w{8}", "/home/me/memory", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "10:02:11", text)
    return re.sub(r"\b\d+(\.\d+)?(?= (ms|s|MB)\b)", lambda match: "9" * len(match[0]), text)


async def _searching(running: Any) -> None:
    screen = running.app.screen
    await running.until(lambda: screen.preview.page is not None)
    await running.rest()


STATES: dict[str, tuple[dict[str, Any], str, str]] = {
    "home": ({}, "", "Type a question"),
    "search": ({"query": "sqlite-vec cannot be loaded"}, "", "▌"),
    "no_hits": ({"query": "zxqwv"}, "", "No hits"),
    "sessions": ({}, "f3", "Sessions are off"),
    "help": ({"query": "sqlite-vec"}, "f1", "esc closes"),
    "why": ({"query": "sqlite-vec cannot be loaded"}, "tab x", "what was measured"),
    "note": ({}, "ctrl+n", "esc keeps"),
    "palette": ({"query": "sqlite-vec"}, "ctrl+p", "search: mode"),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
async def test_screen(deck: Any, memory: Memory, text_snapshot: SnapshotAssertion, state: str, size: Any) -> None:
    options, key, text = STATES[state]
    async with deck(memory, size=size, **options) as running:
        if options.get("query", "zxqwv") != "zxqwv":
            await _searching(running)
        if key:
            await running.press(*key.split())
        await running.until(lambda: text in "\n".join(running.lines()))
        await running.rest()
        assert steady("\n".join(running.lines())) + "\n" == text_snapshot


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_full_preview(deck: Any, memory: Memory, text_snapshot: SnapshotAssertion, size: Any) -> None:
    async with deck(memory, size=size, query="sqlite-vec cannot be loaded") as running:
        await _searching(running)
        await running.press("ctrl+o")
        await running.rest()
        assert steady("\n".join(running.lines())) + "\n" == text_snapshot


@pytest.mark.parametrize("theme", ["memdeck", "memdeck-light", "ansi-dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_search_in_colour(
    deck: Any, memory: Memory, svg_snapshot: SnapshotAssertion, size: Any, theme: str
) -> None:
    async with deck(
        memory, size=size, query="sqlite-vec cannot be loaded", environ={"TEXTUAL_THEME": theme}
    ) as running:
        await _searching(running)
        await running.press("tab")
        await running.rest()
        assert steady(running.app.export_screenshot(simplify=True)) == svg_snapshot
