"""The watcher on real files and real inotify: every way in which files change ends in the right paths."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.events import Event, EventBus, WatchLost, WatchStarted
from core.settings.model import Settings
from core.sync.intake import MemoryIntake
from core.sync.watch_inotify import InotifyWatch
from core.sync.watcher import Watcher
from core.text.tokens import TokenCounter


class Post:
    """What a watcher delivered."""

    def __init__(self, workspace: Path, **options: object) -> None:
        self.workspace = workspace
        self.paths: list[str] = []
        self.lost = 0
        self.events: list[Event] = []
        bus = EventBus()
        bus.subscribe(self.events.append)
        settings = Settings(**options.pop("settings", {}))  # type: ignore[arg-type]
        intake = MemoryIntake(workspace, settings, home=workspace.parent, counter=TokenCounter())
        self.watcher = Watcher(intake.watch_roots, self._take, bus, **{"debounce_ms": 60, **options})  # type: ignore[arg-type]
        self.watcher.start()

    def _take(self, paths: tuple[str, ...] | None) -> None:
        if paths is None:
            self.lost += 1
        else:
            self.paths.extend(os.path.relpath(path, self.workspace) for path in paths)

    def until(self, condition: Callable[[], object], seconds: float = 10) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (self.paths, self.lost)
            time.sleep(0.01)

    def rest(self) -> None:
        time.sleep(0.3)


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Callable[..., Post]]:
    made: list[Post] = []
    workspace = tmp_path / "ws"
    (workspace / "memory").mkdir(parents=True)

    def make(**options: object) -> Post:
        made.append(Post(workspace, **options))
        return made[-1]

    yield make
    for one in made:
        one.watcher.stop()


def test_a_new_file_is_delivered_once(post: Callable[..., Post]) -> None:
    here = post()
    (here.workspace / "memory/a.md").write_text("one\n")
    here.until(lambda: here.paths)
    here.rest()
    assert here.paths == ["memory/a.md"]


def test_the_memory_file_in_the_root_is_watched(post: Callable[..., Post]) -> None:
    here = post()
    (here.workspace / "MEMORY.md").write_text("one\n")
    (here.workspace / "other.md").write_text("not memory\n")
    here.until(lambda: here.paths)
    here.rest()
    assert here.paths == ["MEMORY.md"]


def test_an_atomic_save_delivers_the_file_and_never_its_temporary_name(post: Callable[..., Post]) -> None:
    (post().workspace / "memory/a.md").write_text("old\n")
    here = post()
    swap = here.workspace / "memory/.a.md.swp"
    swap.write_text("new\n")
    swap.replace(here.workspace / "memory/a.md")
    here.until(lambda: here.paths)
    here.rest()
    assert set(here.paths) == {"memory/a.md"}


def test_a_backup_and_rewrite_delivers_the_file(post: Callable[..., Post]) -> None:
    path = post().workspace / "memory/a.md"
    path.write_text("old\n")
    here = post()
    path.rename(here.workspace / "memory/a.md~")
    path.write_text("new\n")
    here.until(lambda: here.paths)
    here.rest()
    assert set(here.paths) == {"memory/a.md"}


def test_a_file_moved_in_from_outside_is_delivered(post: Callable[..., Post], tmp_path: Path) -> None:
    here = post()
    outside = tmp_path / "b.md"
    outside.write_text("new\n")
    outside.rename(here.workspace / "memory/b.md")
    here.until(lambda: here.paths == ["memory/b.md"])


def test_files_in_a_new_folder_are_watched(post: Callable[..., Post]) -> None:
    here = post()
    folder = here.workspace / "memory/deep/er"
    folder.mkdir(parents=True)
    here.until(lambda: here.paths)
    here.rest()
    here.paths.clear()
    (folder / "x.md").write_text("one\n")
    here.until(lambda: "memory/deep/er/x.md" in here.paths or "memory/deep/er" in here.paths)


def test_a_renamed_folder_delivers_both_names_and_stays_watched(post: Callable[..., Post]) -> None:
    old = post().workspace / "memory/old"
    old.mkdir()
    (old / "x.md").write_text("one\n")
    here = post()
    new = here.workspace / "memory/new"
    old.rename(new)
    here.until(lambda: {"memory/old", "memory/new"} <= set(here.paths))
    here.rest()
    here.paths.clear()
    (new / "x.md").write_text("two\n")
    here.until(lambda: "memory/new/x.md" in here.paths)


def test_ignored_trees_cost_no_watch(post: Callable[..., Post]) -> None:
    workspace = post().workspace
    for number in range(50):
        (workspace / f"memory/node_modules/p{number}").mkdir(parents=True)
    (workspace / "memory/.Venv/lib").mkdir(parents=True)
    here = post()
    (workspace / "memory/node_modules/p1/x.md").write_text("no\n")
    here.rest()
    assert (here.watcher.state.folders, here.paths) == (3, [])


def test_an_ignored_folder_that_appears_later_is_not_entered(post: Callable[..., Post]) -> None:
    here = post()
    (here.workspace / "memory/node_modules/p").mkdir(parents=True)
    (here.workspace / "memory/node_modules/p/x.md").write_text("no\n")
    here.rest()
    assert here.paths == []


def test_a_root_that_is_deleted_and_comes_back_is_watched_again(post: Callable[..., Post]) -> None:
    here = post()
    memory = here.workspace / "memory"
    shutil.rmtree(memory)
    here.until(lambda: "memory" in here.paths)
    memory.mkdir()
    here.rest()
    here.paths.clear()
    (memory / "a.md").write_text("back\n")
    here.until(lambda: "memory/a.md" in here.paths or "memory" in here.paths)


def test_a_root_that_is_absent_at_the_start_is_awaited(post: Callable[..., Post], tmp_path: Path) -> None:
    extra = tmp_path / "far/away"
    here = post(settings={"extra_paths": (str(extra),)})
    extra.mkdir(parents=True)
    here.rest()
    (extra / "n.md").write_text("one\n")
    here.until(lambda: any(path.startswith("../far/away") for path in here.paths))


def test_an_extra_file_is_watched_through_its_folder(post: Callable[..., Post], tmp_path: Path) -> None:
    extra = tmp_path / "one.md"
    here = post(settings={"extra_paths": (str(extra),)})
    extra.write_text("one\n")
    (tmp_path / "two.md").write_text("no\n")
    here.until(lambda: here.paths)
    here.rest()
    assert here.paths == ["../one.md"]


def test_a_burst_of_thousands_becomes_one_look_at_everything(post: Callable[..., Post]) -> None:
    here = post(debounce_ms=3000)
    for number in range(1500):
        (here.workspace / f"memory/{number}.md").write_text("x\n")
    here.until(lambda: here.lost)


def test_a_file_that_never_rests_is_delivered_all_the_same(post: Callable[..., Post]) -> None:
    here = post()
    end = time.monotonic() + 2
    path = here.workspace / "memory/busy.md"
    while time.monotonic() < end and not here.paths:
        with path.open("a") as file:
            file.write("more\n")
        time.sleep(0.01)
    assert here.paths == ["memory/busy.md"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSPC])
def test_without_inotify_capacity_files_are_polled_and_it_says_why(
    post: Callable[..., Post], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(self: InotifyWatch) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(InotifyWatch, "start", full)
    here = post(poll_seconds=0.05)
    assert (here.watcher.state.mode, here.watcher.state.reason) == ("polling", os.strerror(number))
    assert len([event for event in here.events if isinstance(event, WatchStarted)]) == 1
    (here.workspace / "memory/a.md").write_text("one\n")
    here.until(lambda: here.paths == ["memory/a.md"])


def test_a_dead_watch_is_noticed_and_begun_again(post: Callable[..., Post], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.sync.watcher.CHECK_SECONDS", 0.05)
    here = post()
    here.watcher._watch.stop()  # type: ignore[union-attr]
    here.until(lambda: any(isinstance(event, WatchLost) for event in here.events))
    here.rest()
    (here.workspace / "memory/a.md").write_text("one\n")
    here.until(lambda: "memory/a.md" in here.paths)
    assert here.lost >= 1
