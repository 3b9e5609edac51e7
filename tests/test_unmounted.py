"""Disks that come and go: what is indexed of one stays while it is away."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.settings.model import Settings
from core.store.database import Database
from tests.machine import mounted
from tests.workbench import Bench, WordEmbedder


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*extra: Path) -> Bench:
        settings = Settings(extra_paths=tuple(map(str, extra)))
        made.append(Bench(tmp_path, WordEmbedder(), settings=settings))
        return made[-1]

    yield make
    for one in made:
        one.worker.stop()


@pytest.mark.parametrize("place", ["ws/memory", "ws/memory/deep", "ws", "elsewhere"])
def test_what_is_indexed_of_a_disk_stays_while_it_is_away(
    bench: Callable[..., Bench], tmp_path: Path, place: str
) -> None:
    disk, elsewhere = tmp_path / place, tmp_path / "elsewhere"
    here = bench(elsewhere)
    for folder in (elsewhere, disk):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(disk)
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "tmpfs"):
        (disk / "memory" / "more").mkdir(parents=True)
        (disk / "memory" / "more" / "a.md").write_text("on the disk\n")
        (disk / "MEMORY.md").write_text("on it too\n")
        before = here.sync()
        paths = here.paths()
        assert before.indexed == len(paths) > 0
        kept = tmp_path / "kept"
        shutil.copytree(disk, kept, copy_function=shutil.copy2)
    report = here.sync()
    assert (report.removed, here.paths()) == (0, paths)
    assert "empty and on another disk" in str(report.warning)
    embedded = len(here.embedder.seen)
    with mounted(disk, "-t", "tmpfs", "tmpfs"):
        shutil.copytree(kept, disk, dirs_exist_ok=True, copy_function=shutil.copy2)
        back = here.sync()
    assert (back.removed, here.paths(), len(here.embedder.seen)) == (0, paths, embedded)


def as_if_on_another_disk(here: Bench) -> None:
    """Give all that is indexed another device."""
    with Database.open(here.store) as database, database.transaction():
        database.run("UPDATE files SET device = device + 1")


@pytest.mark.parametrize("marks", [(), (".not-mounted",)])
def test_an_empty_folder_on_another_disk_says_so(
    bench: Callable[..., Bench], tmp_path: Path, marks: tuple[str, ...]
) -> None:
    extra = tmp_path / "elsewhere"
    extra.mkdir()
    (extra / "a.md").write_text("one\n")
    here = bench(extra)
    here.sync()
    as_if_on_another_disk(here)
    (extra / "a.md").unlink()
    for mark in marks:
        (extra / mark).touch()
    report = here.sync()
    assert (report.removed, here.paths()) == (0, [str(extra / "a.md")])
    assert f"{extra} is empty" in str(report.warning)


def test_a_folder_that_was_emptied_on_its_own_disk_is_gone(bench: Callable[..., Bench], tmp_path: Path) -> None:
    extra = tmp_path / "elsewhere"
    extra.mkdir()
    (extra / "a.md").write_text("one\n")
    here = bench(extra)
    here.sync()
    (extra / "a.md").unlink()
    assert (here.sync().removed, here.paths()) == (1, [])
