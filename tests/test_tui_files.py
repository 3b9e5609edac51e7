"""The files screen on a real memory: the tree, what is not indexed and why, and reading one file again."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import Memory, events
from core.sync.intake import MemoryIntake
from tui.file_entries import SHOWN

FILES: dict[str, str | bytes] = {
    "MEMORY.md": "# Who\n\nneedle in memory\n",
    "memory/a.md": "# A\n\nneedle a\n",
    "memory/deep/b.md": "# B\n\nneedle b\n",
    "memory/deep/c.md": b"# C\n\n" + b"long enough to be text " * 9 + b"\xff\n",
    "memory/binary.md": bytes(range(256)) * 8,
}


@pytest.fixture
def memory(memory_of: Callable[..., Memory]) -> Memory:
    memory = memory_of(FILES)
    (memory.workspace / "memory/link.md").symlink_to(memory.workspace / "MEMORY.md")
    (memory.workspace / "memory/node_modules").mkdir()
    return memory


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files whose path ends with one of these cannot be read."""
    read, endings = MemoryIntake.read, []

    def reading(self: MemoryIntake, file: Any, fresh: bool = False) -> Any:
        if any(file.path.endswith(ending) for ending in endings):
            raise PermissionError(13, "Permission denied", file.absolute)
        return read(self, file, fresh)

    monkeypatch.setattr(MemoryIntake, "read", reading)
    return endings


def keys_of(running: Any) -> list[str]:
    return [row.key for row in running.app.screen.rows.items]


async def on_files(running: Any, rows: int = 1) -> Any:
    await running.press("f5")
    await running.until(lambda: running.app.current_mode == "files" and len(running.app.screen.rows.items) >= rows)
    return running.app.screen


async def go_to(running: Any, key: str) -> None:
    rows = running.app.screen.rows
    rows.focus()
    rows.highlighted = keys_of(running).index(key)
    await running.rest()


def line_with(running: Any, text: str) -> str:
    return next((line for line in running.lines() if text in line), "")


async def fail_at_a(memory: Memory, failing: list[str]) -> None:
    """A sync that cannot read a file that has changed."""
    failing.append("a.md")
    (memory.workspace / "memory/a.md").write_text("# A\n\nchanged\n")
    await asyncio.to_thread(memory.sync)


async def test_the_tree_has_all_that_is_indexed_failed_skipped_and_ignored(
    deck: Any, memory: Memory, failing: list[str]
) -> None:
    await fail_at_a(memory, failing)
    async with deck(memory, size=(80, 40)) as running:
        await on_files(running)
        assert keys_of(running) == [
            "MEMORY.md", "memory/", "memory/deep/", "memory/deep/b.md", "memory/deep/c.md", "memory/a.md",
            "memory/binary.md", "memory/link.md", "memory/node_modules",
        ]  # fmt: skip
        for name, mark, why in (
            ("a.md", "✗", "cannot be read: Permission denied"),
            ("binary.md", "-", "not decodable: neither UTF-8"),
            ("link.md", "-", "symlinks are not followed"),
            ("node_modules", "-", "folders named node_modules are not entered"),
            ("c.md", "!", "1 place not valid UTF-8"),
        ):
            line = line_with(running, f" {name} ")
            assert line.strip("▌ ").startswith(mark), line
            assert why in line
        assert line_with(running, "▾ memory/").endswith("3 files  3 chunks  1 failed  3 left out")


async def test_a_row_says_lines_chunks_and_day(deck: Any, memory_of: Callable[..., Memory]) -> None:
    async with deck(memory_of({"memory/2026-03-11.md": "# Day\n\ntext\n"})) as running:
        await on_files(running)
        assert line_with(running, "2026-03-11.md ").split()[-5:] == ["3", "lines", "1", "chunk", "2026-03-11"]


async def test_the_file_under_the_cursor_is_previewed(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/deep/b.md")
        await running.until(lambda: any("needle b" in line for line in running.lines()))


async def test_a_failed_file_and_a_folder_have_a_page_that_says_what_is_known(
    deck: Any, memory: Memory, failing: list[str]
) -> None:
    await fail_at_a(memory, failing)
    async with deck(memory, size=(100, 40)) as running:
        await on_files(running)
        await go_to(running, "memory/a.md")
        await running.until(lambda: line_with(running, "FAILED: cannot be read: Permission denied"))
        assert line_with(running, "1 try, the last ")
        assert line_with(running, "It is tried again at each sync; r tries it now.")
        assert line_with(running, "is still found: 1 chunk.")
        await go_to(running, "memory/deep/")
        await running.until(lambda: line_with(running, "2 files indexed, 2 chunks"))


async def test_typing_narrows_to_paths_and_shows_them_in_their_folders(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await running.press("slash")
        await running.type("B.MD deep")
        await running.until(lambda: keys_of(running) == ["memory/deep/", "memory/deep/b.md"])
        assert "1 of 4 files" in running.lines()[1]
        await running.press("ctrl+u")
        await running.type("zzz")
        await running.until(lambda: line_with(running, "No path holds zzz"))


async def test_one_key_shows_each_kind_of_file(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_files(running)
        seen = {}
        for _ in SHOWN:
            await running.press("o")
            await running.pilot.pause()
            seen[screen.show] = [row.key for row in screen.rows.items if row.entry is not None]
        assert seen["left out"] == ["memory/binary.md", "memory/link.md", "memory/node_modules"]
        assert seen["indexed"] == ["MEMORY.md", "memory/deep/b.md", "memory/deep/c.md", "memory/a.md"]
        assert (seen["waiting"], seen["failed"]) == ([], [])
        assert len(seen["all"]) == 7


async def test_folders_fold_by_enter_by_arrows_and_all_at_once(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/deep/b.md")
        await running.press("left", "left")
        await running.until(lambda: "memory/deep/b.md" not in keys_of(running))
        assert running.app.screen.rows.current.key == "memory/deep/"
        await running.press("enter")
        await running.until(lambda: "memory/deep/b.md" in keys_of(running))
        await running.press("z")
        await running.until(lambda: keys_of(running) == ["MEMORY.md", "memory/"])
        await running.press("l")
        await running.until(lambda: "memory/deep/" in keys_of(running))


async def test_cursor_and_folds_stay_when_the_index_changes(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_files(running)
        await go_to(running, "memory/deep/")
        await running.press("enter")
        await go_to(running, "memory/link.md")
        for number in range(3):
            (memory.workspace / f"memory/deep/new-{number}.md").write_text("# New\n\nneedle\n")
        (memory.workspace / "memory/aa.md").write_text("# AA\n\nneedle\n")
        built = screen.tree_of_files
        await asyncio.to_thread(memory.sync)
        await running.until(lambda: "memory/aa.md" in keys_of(running))
        assert screen.rows.current.key == "memory/link.md"
        assert "memory/deep/b.md" not in keys_of(running)
        assert screen.tree_of_files is built


async def test_a_file_that_goes_leaves_the_tree_and_the_cursor_a_row(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_files(running)
        await go_to(running, "memory/a.md")
        (memory.workspace / "memory/a.md").unlink()
        await asyncio.to_thread(memory.sync)
        await running.until(lambda: "memory/a.md" not in keys_of(running))
        assert screen.rows.current is not None


async def test_one_key_reads_a_file_again_and_says_what_came_of_it(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/a.md")
        (memory.workspace / "memory/a.md").write_text("# A\n\nanother needle\n")
        await running.press("r")
        words = "memory/a.md: read again: 1 chunk new, 1 chunk gone"
        await running.until(lambda: words in running.toasts)


async def test_a_failed_file_is_tried_again_by_the_same_key(deck: Any, memory: Memory, failing: list[str]) -> None:
    await fail_at_a(memory, failing)
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/a.md")
        await running.press("r")
        again = "memory/a.md: failed, 2 tries: cannot be read: Permission denied"
        await running.until(lambda: again in running.toasts)
        failing.clear()
        await running.press("r")
        await running.until(lambda: any("memory/a.md: read again" in toast for toast in running.toasts))
        await running.until(lambda: running.app.screen.tree_of_files.entries["memory/a.md"].state == "indexed")


async def test_a_file_that_can_be_read_again_is_shown_in_place_of_what_was_said_of_it(
    deck: Any, memory: Memory, failing: list[str]
) -> None:
    await fail_at_a(memory, failing)
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/a.md")
        await running.until(lambda: line_with(running, "3 FAILED: cannot be read"))
        await running.press("tab", "v", "j", "y")
        await running.until(lambda: running.app.clipboard)
        assert running.app.clipboard == "memory/a.md#L1"  # not lines of what is said of it
        await running.press("escape", "escape", "tab")
        failing.clear()
        await running.press("r")
        await running.until(lambda: line_with(running, "3 changed"))
        assert not line_with(running, "FAILED")


async def test_when_the_file_in_force_is_deleted_the_next_row_is(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_files(running)
        await go_to(running, "memory/a.md")
        below = keys_of(running)[keys_of(running).index("memory/a.md") + 1]
        (memory.workspace / "memory/a.md").unlink()
        await asyncio.to_thread(memory.sync)
        await running.until(lambda: "memory/a.md" not in keys_of(running))
        assert screen.rows.current.key == below


async def test_a_folder_is_read_again_whole_and_a_symlink_says_why_not(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/deep/")
        await running.press("r")
        await running.until(lambda: any("memory/deep/: 2 files read again" in toast for toast in running.toasts))
        await go_to(running, "memory/link.md")
        await running.press("r")
        reason = "memory/link.md: not read: the path goes through a symlink"
        await running.until(lambda: reason in running.toasts)


async def test_citation_and_path_are_copied(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        await on_files(running)
        for key, pressed, copied in (
            ("memory/deep/b.md", "y", "memory/deep/b.md#L1"),
            ("memory/deep/b.md", "P", str(memory.workspace / "memory/deep/b.md")),
            ("memory/deep/", "y", "memory/deep/"),
            ("memory/link.md", "y", "memory/link.md"),
            ("memory/link.md", "P", str(memory.workspace / "memory/link.md")),
        ):
            await go_to(running, key)
            await running.press(pressed)
            await running.until(lambda copied=copied: running.app.clipboard == copied)


async def test_a_path_can_be_gone_to_from_elsewhere(deck: Any, memory: Memory) -> None:
    async with deck(memory) as running:
        screen = await on_files(running)
        await running.press("z", "z", "o", "o")
        await running.pilot.pause()
        screen.reveal("memory/deep/c.md")
        await running.until(lambda: screen.rows.current is not None and screen.rows.current.key == "memory/deep/c.md")
        assert screen.show == "all"
        screen.reveal("memory/none.md")
        await running.until(lambda: any("memory/none.md is not in the list" in toast for toast in running.toasts))


async def test_names_are_text_whatever_is_in_them(deck: Any, memory_of: Callable[..., Memory]) -> None:
    name = "memory/[/] [@click=app.quit]n[/]\x1b[2J\u202e/x\ty.md"
    memory = memory_of({name: "# X\n\nneedle\n"})
    Path(os.fsdecode(os.fsencode(memory.workspace / "memory") + b"/bad[x]\xff\x1b.md")).write_text("x")
    async with deck(memory, size=(100, 30)) as running:
        await on_files(running, 3)
        text = "\n".join(running.lines())
        assert "[/] [@click=app.quit]n[/]␛[2J" in text
        assert "bad[x]\ufffd␛.md" in text
        assert "the name is not valid UTF-8" in text
        await go_to(running, name)
        await running.press("r")
        await running.until(lambda: any("read again" in toast for toast in running.toasts))
        assert not any(ord(character) < 32 or character == "\u202e" for line in running.lines() for character in line)


async def test_no_file_is_opened_and_no_folder_listed_on_the_loop(deck: Any, memory: Memory) -> None:
    loop_thread, seen, watching = threading.get_ident(), [], [True]
    place = str(memory.workspace)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        looks = watching[0] and event in ("open", "os.scandir", "os.listdir")
        if looks and threading.get_ident() == loop_thread and place in str(arguments[0]):
            seen.append((event, arguments[0]))

    sys.addaudithook(hook)
    try:
        async with deck(memory) as running:
            await on_files(running)
            for key in list(keys_of(running)):
                await go_to(running, key)
            await running.press("r", "P", "y", "z")
            (memory.workspace / "memory/new.md").write_text("# New\n")
            seen.clear()
            await asyncio.to_thread(memory.sync)
            await running.until(lambda: "memory/new.md" in running.app.screen.tree_of_files.entries)
    finally:
        watching[0] = False
    assert seen == []


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (160, 50), (1, 1)])
async def test_every_size_shows_the_row_in_force_or_survives(deck: Any, memory: Memory, size: tuple[int, int]) -> None:
    async with deck(memory) as running:
        await on_files(running)
        await go_to(running, "memory/link.md")
        await running.resize(*size)
        if size != (1, 1):
            assert line_with(running, "▌").count("link.md") == 1
        await running.resize(80, 24)
        assert running.app.screen.rows.current.key == "memory/link.md"


async def test_ten_thousand_files_open_narrow_and_change_without_a_new_tree(deck: Any, memory: Memory) -> None:
    from core import IndexedDocument

    rows = tuple(
        IndexedDocument("memory", f"memory/{n % 50:02}/note-{n:05}.md", 9, 10**18, 2, 30, 0) for n in range(10_000)
    )
    found = [rows]
    memory.documents = lambda: found[0]  # type: ignore[method-assign]
    async with deck(memory) as running:
        screen = await on_files(running)
        built = screen.tree_of_files
        await running.press("z")
        await running.until(lambda: len(screen.rows.items) > 10_000)
        await running.press("G")
        await running.press("slash")
        await running.type("09999")
        await running.until(lambda: keys_of(running) == ["memory/49/", "memory/49/note-09999.md"])
        found[0] = rows[5:]
        memory.events.publish(events.FileRemoved(at_ms=0, source="memory", path="memory/00/note-00000.md"))
        await running.until(lambda: "memory/00/note-00000.md" not in screen.tree_of_files.entries)
        assert screen.tree_of_files is built
        assert screen.tree_of_files.counts().files == 9_995
