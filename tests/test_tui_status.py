"""The status screen: health with remedies, files that are not indexed, a log that narrows, and work on request."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core import Finding, Memory, Progress, SyncReport, events, open_memory
from tests.unreadable import refuse_to_read
from tui.event_log import LogLine, log_line
from tui.screens.details import Details
from tui.screens.palette import Palette
from tui.widgets.sync_log import KEPT_LINES
from tui.widgets.trouble_list import TroubleList

FILES: dict[str, str | bytes] = {
    "MEMORY.md": "# Who\n\nneedle in memory\n",
    "memory/a.md": "# A\n\nneedle a\n",
    "memory/binary.md": bytes(range(256)) * 8,
}


@pytest.fixture
def memory(memory_of: Callable[..., Memory]) -> Memory:
    memory = memory_of(FILES)
    (memory.workspace / "memory/link.md").symlink_to(memory.workspace / "MEMORY.md")
    return memory


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Memory:
    """A memory one of whose files cannot be read."""
    refuse_to_read(monkeypatch, "a.md")
    (memory.workspace / "memory/a.md").write_text("# A\n\nchanged\n")
    memory.sync()
    return memory


def text_of(running: Any) -> str:
    return "\n".join(running.lines())


def logged(running: Any) -> list[LogLine]:
    return [row.line for row in running.app.screen.log_widget.items]


async def on_status(running: Any) -> Any:
    await running.press("f4")
    await running.until(lambda: any(line.startswith(" health") for line in running.lines()))
    return running.app.screen


def publish(memory: Memory, *happened: events.Event) -> None:
    for event in happened:
        memory.events.publish(event)


def indexed(path: str, at_ms: int = 0) -> events.FileIndexed:
    return events.FileIndexed(
        at_ms=at_ms, source="memory", path=path, chunks=3, chunks_new=1, chunks_same=2, chunks_gone=0, milliseconds=4
    )


def failed(path: str, error: str = "cannot be read: Permission denied") -> events.FileFailed:
    return events.FileFailed(at_ms=time.time_ns() // 1_000_000, source="memory", path=path, error=error, attempts=1)


def skipped(path: str) -> events.FileSkipped:
    return events.FileSkipped(at_ms=1, path=path, kind="undecodable", detail="not decodable: neither UTF-8 nor UTF-16")


# Health


async def test_every_reason_stands_with_its_remedy_and_every_file_with_its_reason(deck: Any, failing: Memory) -> None:
    async with deck(failing, size=(180, 40)) as running:
        screen = await on_status(running)
        await running.until(lambda: len(screen.troubles.items) == 6)
        text = text_of(running)
        assert "health    DEGRADED · 3 reasons" in text
        assert "─ 3 reasons, 3 files not indexed" in text
        for line in ("! 1 file could not be indexed  → it is tried again", "! 1 file is no text  → save it as UTF-8"):
            assert line in text
        for line in ("✗ memory/a.md  cannot be read: Permission denied", "- memory/link.md  symlinks are not followed"):
            assert line in text


async def test_a_reason_is_told_in_full(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "the reason [/x] \x1b[2J " + "goes on and on " * 12
    status = replace(memory.status(), findings=(Finding("x", False, long, "do this [red]now[/red] "),), skipped=())
    monkeypatch.setattr(memory, "status", lambda: status)
    async with deck(memory) as running:
        screen = await on_status(running)
        await running.until(lambda: len(screen.troubles.items) == 1)
        screen.troubles.focus()
        await running.press("enter")
        await running.until(lambda: isinstance(running.app.screen, Details))
        text = text_of(running)
        assert "the reason [/x] ␛[2J goes on" in text
        assert "What helps  do this [red]now[/red]" in text
        await running.press("escape")
        assert running.app.screen is screen


@pytest.mark.parametrize("key", ["enter", "f"])
async def test_a_file_that_is_not_indexed_is_gone_to(deck: Any, failing: Memory, key: str) -> None:
    async with deck(failing) as running:
        screen = await on_status(running)
        await running.until(lambda: len(screen.troubles.items) == 6)
        screen.troubles.focus()
        screen.troubles.highlighted = next(
            n for n, one in enumerate(screen.troubles.items) if one.path == "memory/a.md"
        )
        await running.press(key)
        await running.until(lambda: running.app.current_mode == "files" and running.app.screen.rows.current is not None)
        await running.until(lambda: running.app.screen.rows.current.key == "memory/a.md")


async def test_all_is_well_shows_no_troubles(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    status = replace(memory.status(), findings=(), reasons=(), health="healthy", failed=(), skipped=())
    monkeypatch.setattr(memory, "status", lambda: status)
    async with deck(memory) as running:
        screen = await on_status(running)
        await running.until(lambda: "health    OK" in text_of(running))
        assert not screen.query_one("#trouble").display


async def test_watching_writer_identity_recovery_and_last_sync_are_told(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = memory.status()
    custom = {
        **found.custom,
        "indexIdentity": {"status": "matches", "stored": "local/minilm, 384 dims"},
        "readonlyRecovery": {"attempts": 2, "successes": 1, "failures": 1, "lastError": "disk full"},
        "changedFiles": 3,
    }
    watcher = {"mode": "polling", "reason": "no inotify left", "folders": 12}
    status = replace(found, custom=custom, watcher=watcher, writer={"pid": 4121, "own": False}, pending=340)
    monkeypatch.setattr(memory, "status", lambda: status)
    async with deck(memory, size=(200, 50)) as running:
        await on_status(running)
        publish(
            memory,
            events.SyncFinished(at_ms=1, report=SyncReport("watch", indexed=2, seconds={"scan": 0.5})),
            events.EmbeddingProgressed(at_ms=1, written=0, waiting=340, progress=Progress(60, 400, "v", 12.5, 27.0)),
        )
        for words in (
            "files     2 (memory 2) · 3 files differ from the index",
            "chunks    2 · 340 wait for a vector",
            "vectors   60/400 · 12.5/s, 27 s left",
            "watching  polling · 12 folders · no inotify left",
            "writer    another process, pid 4121; this one follows",
            "watch · 2 indexed · 0.50 s",
            "identity  local/minilm, 384 dims",
            "recovery  2 tried, 1 done, 1 failed · last: disk full",
        ):
            await running.until(lambda words=words: words in text_of(running))


# The log


@pytest.mark.parametrize(
    ("event", "level", "path"),
    [
        (indexed("memory/a.md"), "info", "memory/a.md"),
        (skipped("memory/b.md"), "warning", "memory/b.md"),
        (failed("memory/c.md"), "error", "memory/c.md"),
        (events.FileRemoved(at_ms=0, source="memory", path="memory/d.md"), "info", ""),
        (events.WatchLost(at_ms=0, reason="x"), "error", ""),
        (events.WatchStarted(at_ms=0, mode="polling", reason="x"), "warning", ""),
        (events.SyncFinished(at_ms=0, report=SyncReport("watch", failed=1)), "warning", ""),
        (events.SyncFinished(at_ms=0, report=SyncReport("watch")), "info", ""),
        (events.StoreRecovered(at_ms=0, action="repaired"), "warning", ""),
        (events.WorkerFailed(at_ms=0, error="x"), "error", ""),
    ],
)
def test_every_event_has_a_weight(event: events.Event, level: str, path: str) -> None:
    line = log_line(event)
    assert line is not None
    assert (line.level, line.path) == (level, path)


def test_a_skipped_file_says_why_once() -> None:
    line = log_line(skipped("memory/b.md"))
    assert line is not None
    assert line.detail == "not decodable: neither UTF-8 nor UTF-16"


async def test_one_key_narrows_the_log_to_what_is_heavier(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_status(running)
        publish(memory, indexed("memory/a.md"), skipped("memory/b.md"), failed("memory/c.md"))
        await running.until(lambda: len(logged(running)) == 3)
        await running.press("o")
        await running.until(lambda: [line.verb for line in logged(running)] == ["skipped", "FAILED"])
        assert "2 of 3 · level: warnings and errors" in text_of(running)
        await running.press("o")
        await running.until(lambda: [line.verb for line in logged(running)] == ["FAILED"])
        publish(memory, indexed("memory/d.md"), failed("memory/e.md"))
        await running.until(lambda: [line.subject for line in logged(running)] == ["memory/c.md", "memory/e.md"])
        await running.press("o")
        await running.until(lambda: len(logged(running)) == 5)


async def test_a_line_is_told_in_full_and_leads_to_its_file(deck: Any, failing: Memory) -> None:
    async with deck(failing) as running:
        await on_status(running)
        publish(failing, failed("memory/a.md", "cannot be read [/x]\x1b: " + "Permission denied " * 9))
        await running.until(lambda: len(logged(running)) == 1)
        await running.press("enter")
        await running.until(lambda: isinstance(running.app.screen, Details))
        text = text_of(running)
        assert "FAILED  (error)" in text
        assert "cannot be read [/x]␛: Permission denied" in text
        assert "↵ shows it in files" in text
        await running.press("enter")
        await running.until(lambda: running.app.current_mode == "files" and running.app.screen.rows.current is not None)
        await running.until(lambda: running.app.screen.rows.current.key == "memory/a.md")


async def test_the_cursor_follows_the_newest_line_until_it_is_moved(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_status(running)
        log = running.app.screen.log_widget
        publish(memory, *(indexed(f"memory/{n}.md") for n in range(50)))
        await running.until(lambda: len(logged(running)) == 50)
        assert log.current.line.subject == "memory/49.md"
        await running.press("k", "k")
        publish(memory, indexed("memory/50.md"))
        await running.until(lambda: len(logged(running)) == 51)
        assert log.current.line.subject == "memory/47.md"
        assert "not following" in text_of(running)
        await running.press("G")
        publish(memory, indexed("memory/51.md"))
        await running.until(lambda: log.current.line.subject == "memory/51.md")


async def test_the_log_is_bounded_and_emptied_by_a_key(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_status(running)
        publish(memory, *(indexed(f"memory/{n}.md") for n in range(KEPT_LINES + 20)))
        await running.until(lambda: logged(running) and logged(running)[-1].subject == f"memory/{KEPT_LINES + 19}.md")
        assert len(logged(running)) == KEPT_LINES
        await running.press("c")
        await running.until(lambda: not logged(running))
        assert not running.app.log_lines


# Work on request


async def choose_action(running: Any, name: str) -> None:
    await running.press("R")
    await running.until(lambda: isinstance(running.app.screen, Palette))
    await running.type(name)
    await running.press("enter")


async def test_redoing_everything_is_asked_first(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_status(running)
        await choose_action(running, "redo")
        await running.until(lambda: "redo everything?" in text_of(running))
        assert "2 files, 2 chunks: everything is read again" in text_of(running)
        await running.press("escape")
        await running.until(lambda: running.app.screen is screen)
        assert not [line for line in running.app.log_lines if line.verb == "sync"]
        await choose_action(running, "redo")
        await running.until(lambda: "↵ redoes · esc no" in text_of(running))
        await running.press("enter")
        await running.until(lambda: any("2 files read again" in toast for toast in running.toasts))
        await running.until(
            lambda: [line.subject for line in running.app.log_lines if line.verb == "sync"] == ["force"]
        )


async def test_a_check_shows_what_doctor_finds_what_is_bad_first(deck: Any, memory: Memory) -> None:
    async with deck(memory, size=(100, 40)) as running:
        await on_status(running)
        await choose_action(running, "check")
        await running.until(lambda: isinstance(running.app.screen, Details))
        text = text_of(running)
        bad = text.index("FAILED not text  memory/binary.md")
        assert "→ save it as UTF-8" in text[bad:]
        assert text.index("ok     settings  defaults only") > bad


async def test_a_repair_is_done_by_the_running_writer_and_told(deck: Any, memory: Memory) -> None:
    from core.store.database import Database

    memory.start()
    async with deck(memory) as running:
        await on_status(running)
        await running.until(lambda: memory.is_in_step)
        with Database.open(memory.store_path) as database:
            database.run("DELETE FROM chunks_fts WHERE rowid = 1")
        await choose_action(running, "repair")
        await running.until(lambda: "repair the index?" in text_of(running))
        await running.press("enter")
        await running.until(lambda: "repaired · " in text_of(running))
        done = "1 chunk put into the keyword table"
        await running.until(lambda: any(done in line.detail for line in running.app.log_lines))
        assert not [finding for finding in memory.doctor() if finding.check == "keyword index" and not finding.ok]


async def test_a_follower_is_told_who_writes(deck: Any, memory: Memory) -> None:
    memory.close()
    from core.store.writer_lock import WriterLock

    lock = WriterLock(memory.store_path)
    assert lock.acquire()
    home = memory.store_path.parent / "home"
    follower = open_memory(
        workspace=memory.workspace, store=memory.store_path, environ={}, home=home, flags={"provider": "none"}
    )
    try:
        follower.start()
        async with deck(follower) as running:
            await on_status(running)
            pid = f"pid {os.getpid()}"
            await running.until(lambda: f"writer    another process, {pid}; this one follows" in text_of(running))
    finally:
        follower.close()
        lock.release()


# Sizes


@pytest.mark.parametrize("size", [(40, 10), (59, 24), (80, 15), (1, 1), (160, 50)])
async def test_every_size_shows_each_pane_when_it_has_the_focus(
    deck: Any, failing: Memory, size: tuple[int, int]
) -> None:
    async with deck(failing) as running:
        screen = await on_status(running)
        publish(failing, *(failed(f"memory/{n}.md") for n in range(30)))
        await running.until(lambda: len(logged(running)) == 30 and len(screen.troubles.items) == 6)
        await running.resize(*size)
        if size != (1, 1):
            for pane, words in ((screen.query_one("#facts"), "health"), (screen.query_one(TroubleList), "▌!")):
                pane.focus()
                await running.pilot.pause()
                assert words in text_of(running)
                assert pane.size.height >= 2
            screen.log_widget.focus()
            await running.pilot.pause()
            assert "▌✗" in text_of(running)
        await running.resize(80, 24)
        assert screen.log_widget.current.line.subject == "memory/29.md"


async def test_nothing_is_written_while_nothing_happens(deck: Any, failing: Memory) -> None:
    async with deck(failing) as running:
        screen = await on_status(running)
        await running.until(lambda: len(screen.troubles.items) == 6)
        drawn: list[str] = []
        for widget in screen.walk_children():
            render = widget.render_lines

            def counting(crop: Any, render: Any = render, name: str = str(widget)) -> Any:
                drawn.append(name)
                return render(crop)

            widget.render_lines = counting  # type: ignore[method-assign]
        running.app.state = running.app.state.with_status(await asyncio.to_thread(failing.status))
        await running.pilot.pause(0.3)
        assert drawn == []
