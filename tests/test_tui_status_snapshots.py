"""What the status screen looks like in every state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from core import Finding, Memory, Progress, SkippedPath, Status, SyncReport, events
from core.types import FileFailure
from tests.pictures import Album, pictured_memory

FILES = {"MEMORY.md": "# Who\n", "memory/a.md": "# A\n\ntext\n", "memory/b.md": "# B\n\ntext\n"}
AT = 1_773_230_400_000
WELL: dict[str, Any] = {
    "health": "healthy", "findings": (), "reasons": (), "failed": (), "skipped": (), "ignored": {}, "provider": "local",
    "model": "all-MiniLM-L6-v2", "requested_provider": "auto", "db_bytes": 4_200_000, "writer": {"pid": None},
    "watcher": {"mode": "events", "reason": "", "folders": 12},
    "vector": {"enabled": True, "available": True, "semanticAvailable": True, "dims": 384},
}  # fmt: skip
CUSTOM = {
    "textGoesTo": "this machine only",
    "indexIdentity": {"status": "matches", "stored": "local/all-MiniLM-L6-v2, 384 dims"},
    "readonlyRecovery": {"attempts": 0, "successes": 0, "failures": 0},
    "changedFiles": 0,
}
ILL: dict[str, Any] = {
    "health": "degraded",
    "findings": (
        Finding("provider", False, "the provider fails: connection refused [/x]\x1b", "start ollama"),
        Finding("files", False, "2 files could not be indexed", "it is tried again at each sync"),
        Finding("watcher", False, "files are polled: no inotify left", "changes are found, only later"),
    ),
    "failed": (
        FileFailure("memory", "memory/locked.md", "cannot be read: Permission denied", 3, AT),
        FileFailure("memory", "memory/[@click=app.quit]x[/].md", "ValueError: \x1b[2J", 1, AT),
    ),
    "skipped": (SkippedPath("memory/link.md", "symlink", "symlinks are not followed"),),
    "ignored": {".git": 1},
    "watcher": {"mode": "polling", "reason": "no inotify left", "folders": 12},
}
HAPPENED: tuple[events.Event, ...] = (
    events.WatchStarted(at_ms=AT, mode="events"),
    events.SyncStarted(at_ms=AT, reason="watch"),
    *(
        events.FileIndexed(
            at_ms=AT, source="memory", path=f"memory/2026-03-{day:02}.md", chunks=14, chunks_new=day, chunks_same=2,
            chunks_gone=0, milliseconds=38,
        )
        for day in range(1, 9)
    ),
    events.FileSkipped(at_ms=AT, path="memory/photo.md", kind="undecodable", detail="not decodable: binary data"),
    events.FileFailed(at_ms=AT, source="memory", path="memory/locked.md", error="cannot be read: no", attempts=3),
    events.FileRenamed(at_ms=AT, source="memory", old_path="memory/[/].md", path="memory/東京.md"),
    events.SyncFinished(at_ms=AT, report=SyncReport("watch", indexed=8, failed=1, seconds={"scan": 0.4})),
)  # fmt: skip


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with pictured_memory(FILES) as memory:
        memory.sync()
        yield memory


STATES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "well": (WELL, {}, ""),
    "ill": ({**WELL, **ILL}, {"providerUnavailableReason": "connection refused"}, ""),
    "recovering": (
        {**WELL, "writer": {"pid": 4121, "own": False}, "pending": 340},
        {"readonlyRecovery": {"attempts": 2, "successes": 1, "failures": 1, "lastError": "read-only [/]"}},
        "",
    ),
    "narrowed": (WELL, {}, "o"),
    "paused": (WELL, {}, "p"),
    "details": (WELL, {}, "enter"),
    "actions": (WELL, {}, "R"),
    "question": (WELL, {}, "R r e d o enter"),
    "reason": ({**WELL, **ILL}, {"providerUnavailableReason": "connection refused"}, "shift+tab enter"),
    "help": (WELL, {}, "f1"),
}


def patched(memory: Memory, patch: pytest.MonkeyPatch, state: str) -> None:
    changes, custom, _ = STATES[state]
    found: Status = memory.status()
    status = replace(found, **{**changes, "custom": {**found.custom, **CUSTOM, **custom}})
    patch.setattr(memory, "status", lambda: status)


async def arrange(running: Any, memory: Memory, state: str) -> None:
    await running.press("f4")
    screen = running.app.screen
    await running.until(lambda: any(line.startswith(" health") for line in running.lines()))
    for event in HAPPENED:
        memory.events.publish(event)
    if state == "recovering":
        progress = Progress(60, 400, "vectors", 12.5, 27.0)
        memory.events.publish(events.EmbeddingProgressed(at_ms=AT, written=12, waiting=340, progress=progress))
    await running.until(lambda: screen.log_widget.items)
    await running.rest()
    await running.press(*STATES[state][2].split())
    await running.rest()


@pytest.mark.parametrize("state", STATES)
async def test_status(deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    patched(memory, monkeypatch, state)
    async with deck(memory) as running:
        await arrange(running, memory, state)
        await album.sizes(running)


@pytest.mark.parametrize("state", ["ill", "question"])
async def test_themes(deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    patched(memory, monkeypatch, state)
    async with deck(memory) as running:
        await arrange(running, memory, state)
        await album.themes(running)


async def test_without_colour(deck: Any, memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(memory, monkeypatch, "ill")
    monkeypatch.setenv("NO_COLOR", "1")
    async with deck(memory) as running:
        await arrange(running, memory, "ill")
        await album.sizes(running)
