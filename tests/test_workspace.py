"""Which files are memory, and what a scan that cannot see everything says."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.errors import SyncCancelled, Undecodable
from core.sources.workspace import read_document, scan_paths, scan_workspace
from core.text.days import name_date_ms
from core.types import Scan
from tests.costs import costs_at_most


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    return root


def write(path: Path, text: str | bytes = "text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def scan(workspace: Path, *extra: str, multimodal: SimpleNamespace | None = None) -> Scan:
    return scan_workspace(workspace, extra, home=workspace.parent, multimodal=multimodal)


def paths(found: Scan) -> list[str]:
    return [file.path for file in found.files]


def skipped(found: Scan) -> dict[str, str]:
    return {skip.path: skip.kind for skip in found.skipped}


def test_markdown_of_the_workspace_is_found(workspace: Path) -> None:
    write(workspace / "MEMORY.md")
    write(workspace / "memory" / "2026-01-02.md")
    write(workspace / "memory" / ".private" / "deep" / "x.md")
    write(workspace / "memory" / "notes.txt")
    write(workspace / "README.md")
    found = scan(workspace)
    assert paths(found) == ["MEMORY.md", "memory/.private/deep/x.md", "memory/2026-01-02.md"]
    assert [file.absolute for file in found.files] == [f"{workspace}/{path}" for path in paths(found)]
    assert (found.skipped, found.uncertain, found.problems) == ((), (), ())


def test_ignored_folders_are_not_entered_and_are_counted(workspace: Path) -> None:
    write(workspace / "memory" / "a.md")
    for name in (".git", "Node_Modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"):
        write(workspace / "memory" / "deep" / name / "p" / "x.md")
    write(workspace / "memory" / "node_modules" / "x.md")
    found = scan(workspace)
    assert paths(found) == ["memory/a.md"]
    assert found.ignored["node_modules"] == 2
    assert sum(found.ignored.values()) == 8


@pytest.mark.parametrize("parent", [".openclaw", "node_modules", ".venv"])
def test_names_above_the_workspace_do_not_matter(parent: str, tmp_path: Path) -> None:
    workspace = tmp_path / parent / "workspace"
    write(workspace / "memory" / "a.md")
    write(workspace / "MEMORY.md")
    assert paths(scan(workspace)) == ["MEMORY.md", "memory/a.md"]


def test_symlinks_are_named_and_not_followed(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside" / "x.md")
    (workspace / "memory" / "folder").symlink_to(tmp_path / "outside")
    (workspace / "memory" / "file.md").symlink_to(tmp_path / "outside" / "x.md")
    found = scan(workspace)
    assert paths(found) == []
    assert skipped(found) == {"memory/folder": "symlink", "memory/file.md": "symlink"}


def test_what_is_no_regular_file_is_named(workspace: Path) -> None:
    (workspace / "memory" / "folder.md").mkdir()
    write(workspace / "memory" / "folder.md" / "inside.md")
    os.mkfifo(workspace / "memory" / "fifo.md")
    (workspace / "MEMORY.md").mkdir()
    found = scan(workspace)
    assert paths(found) == []
    assert skipped(found) == {"MEMORY.md": "directory", "memory/folder.md": "directory", "memory/fifo.md": "fifo"}


def test_memory_md_comes_before_memory_md_in_small(workspace: Path) -> None:
    write(workspace / "MEMORY.md", "upper")
    write(workspace / "memory.md", "lower")
    os.link(workspace / "memory.md", workspace / "Memory.md")
    found = scan(workspace)
    assert paths(found) == ["MEMORY.md"]
    assert skipped(found) == {"memory.md": "shadowed"}


def test_memory_md_in_small_counts_alone(workspace: Path) -> None:
    write(workspace / "memory.md")
    assert paths(scan(workspace)) == ["memory.md"]
    (workspace / "MEMORY.md").mkdir()
    assert paths(scan(workspace)) == ["memory.md"]


def test_a_file_with_two_names_counts_once(workspace: Path) -> None:
    write(workspace / "MEMORY.md", "one")
    os.link(workspace / "MEMORY.md", workspace / "memory.md")
    os.link(workspace / "MEMORY.md", workspace / "memory" / "again.md")
    write(workspace / "memory" / "a.md")
    os.link(workspace / "memory" / "a.md", workspace / "memory" / "b.md")
    found = scan(workspace)
    assert paths(found) == ["MEMORY.md", "memory/a.md"]
    assert skipped(found) == {"memory.md": "duplicate", "memory/again.md": "duplicate", "memory/b.md": "duplicate"}


def test_extra_paths_are_files_or_folders(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path / "notes" / "deep" / "n.md")
    write(tmp_path / "notes" / "n.txt")
    write(tmp_path / "home" / "one.txt")
    write(workspace / "docs" / "d.md")
    found = scan_workspace(workspace, ("../notes", "~/one.txt", "docs", " "), home=tmp_path / "home")
    assert sorted(paths(found)) == sorted([f"{tmp_path}/notes/deep/n.md", f"{tmp_path}/home/one.txt", "docs/d.md"])
    assert found.problems == ("a blank extra path was left out",)


def test_overlapping_extra_paths_find_a_file_once(workspace: Path, tmp_path: Path) -> None:
    write(workspace / "MEMORY.md")
    write(workspace / "memory" / "sub" / "a.md")
    found = scan(workspace, "memory/sub", "memory", ".", str(tmp_path), "memory/sub/a.md")
    assert paths(found) == ["MEMORY.md", "memory/sub/a.md"]
    assert skipped(found) == {}


def test_an_extra_path_that_is_a_symlink_is_named(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path / "notes" / "n.md")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    found = scan(workspace, str(tmp_path / "link"))
    assert paths(found) == []
    assert skipped(found) == {f"{tmp_path}/link": "symlink"}


def test_an_absent_extra_path_is_uncertain(workspace: Path, tmp_path: Path) -> None:
    found = scan(workspace, str(tmp_path / "unmounted"))
    assert found.uncertain == (f"{tmp_path}/unmounted",)
    assert "absent" in found.problems[0]


def test_an_absent_workspace_is_uncertain(tmp_path: Path) -> None:
    write(tmp_path / "notes" / "n.md")
    found = scan(tmp_path / "gone", str(tmp_path / "notes"))
    assert paths(found) == [f"{tmp_path}/notes/n.md"]
    assert found.uncertain == ("",)
    assert "absent" in found.problems[0]


def test_an_absent_memory_folder_is_uncertain_but_no_problem(workspace: Path) -> None:
    write(workspace / "MEMORY.md")
    (workspace / "memory").rmdir()
    found = scan(workspace)
    assert (paths(found), found.uncertain, found.problems) == (["MEMORY.md"], ("memory",), ())


def test_an_empty_memory_folder_is_certain(workspace: Path) -> None:
    assert scan(workspace).uncertain == ()


def test_a_folder_that_cannot_be_read_is_uncertain(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(workspace / "memory" / "closed" / "x.md")
    write(workspace / "memory" / "open" / "y.md")
    opened = os.open

    def refusing(path: str, *args: int, **kwargs: int) -> int:
        if str(path).endswith("/closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    found = scan(workspace)
    assert paths(found) == ["memory/open/y.md"]
    assert found.uncertain == ("memory/closed",)
    assert "Permission denied" in found.problems[0]


def test_a_root_that_goes_away_during_its_scan_is_uncertain(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(workspace / "memory" / "a.md")
    listed = os.scandir

    def vanishing(folder: int) -> object:
        workspace.rename(workspace.parent / "moved")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert "" in scan(workspace).uncertain


def test_a_name_that_is_no_text_is_named(workspace: Path) -> None:
    write(Path(os.fsdecode(os.fsencode(workspace / "memory") + b"/bad\xff.md")))
    write(Path(os.fsdecode(os.fsencode(workspace / "memory") + b"/dir\xff")) / "x.md")
    write(workspace / "memory" / "good.md")
    found = scan(workspace)
    assert paths(found) == ["memory/good.md"]
    assert skipped(found) == {"memory/bad\ufffd.md": "name", "memory/dir\ufffd": "name"}


def test_media_of_extra_paths_count_on_request(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path / "media" / "a.PNG", b"12345")
    write(tmp_path / "media" / "b.mp3", b"12345")
    write(tmp_path / "media" / "big.png", b"x" * 50)
    write(workspace / "memory" / "c.png", b"12345")
    wanted = SimpleNamespace(modalities=("image",), max_file_bytes=10)
    found = scan(workspace, "../media", multimodal=wanted)
    assert paths(found) == [f"{tmp_path}/media/a.PNG"]
    assert skipped(found) == {f"{tmp_path}/media/big.png": "too-large"}
    assert read_document(found.files[0]).text == f"Image file: {tmp_path}/media/a.PNG"
    assert paths(scan(workspace, "../media")) == []


def test_a_scan_can_be_cancelled(workspace: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SyncCancelled):
        scan_workspace(workspace, (), home=workspace, cancel=cancel)


def targeted(workspace: Path, *wanted: Path, extra: tuple[str, ...] = ()) -> Scan:
    return scan_paths(workspace, extra, [str(path) for path in wanted], home=workspace.parent)


def test_only_the_given_paths_are_looked_at(workspace: Path, tmp_path: Path) -> None:
    write(workspace / "MEMORY.md")
    one = write(workspace / "memory" / "a.md")
    write(workspace / "memory" / "b.md")
    extra = write(tmp_path / "notes" / "n.md")
    write(tmp_path / "notes" / "o.md")
    found = targeted(workspace, one, extra, workspace / "memory" / "gone.md", extra=("../notes",))
    assert paths(found) == [str(extra), "memory/a.md"]
    assert found.uncertain == ()


@pytest.mark.parametrize(
    "place",
    ["memory/node_modules/x.md", "memory/x.txt", "memory/folder.md/x.md", "memory/link/x.md", "other/x.md", "x.md"],
)
def test_given_paths_obey_the_same_rules(place: str, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (workspace / "memory" / "link").symlink_to(tmp_path / "outside")
    write(workspace / place)
    assert paths(targeted(workspace, workspace / place)) == []


def test_a_given_folder_is_walked(workspace: Path) -> None:
    write(workspace / "memory" / "sub" / "deep" / "a.md")
    write(workspace / "memory" / "b.md")
    assert paths(targeted(workspace, workspace / "memory" / "sub")) == ["memory/sub/deep/a.md"]
    assert paths(targeted(workspace, workspace)) == ["memory/b.md", "memory/sub/deep/a.md"]


def test_the_memory_file_is_decided_anew(workspace: Path) -> None:
    write(workspace / "memory.md")
    assert paths(targeted(workspace, workspace / "MEMORY.md")) == ["memory.md"]
    write(workspace / "MEMORY.md")
    assert paths(targeted(workspace, workspace / "memory.md")) == ["MEMORY.md"]


def test_given_paths_below_an_absent_root_are_uncertain(workspace: Path, tmp_path: Path) -> None:
    found = targeted(workspace, tmp_path / "notes" / "n.md", extra=("../notes",))
    assert found.uncertain == (f"{tmp_path}/notes",)
    (workspace / "memory").rmdir()
    assert targeted(workspace, workspace / "memory" / "a.md").uncertain == ("memory",)
    workspace.rmdir()
    assert targeted(workspace, workspace / "memory" / "a.md").uncertain == ("",)


def test_a_given_second_name_of_a_file_does_not_count(workspace: Path) -> None:
    write(workspace / "memory" / "a.md")
    os.link(workspace / "memory" / "a.md", workspace / "memory" / "b.md")
    assert paths(targeted(workspace, workspace / "memory" / "b.md")) == []
    assert paths(targeted(workspace, workspace / "memory" / "a.md")) == ["memory/a.md"]


def test_paths_given_by_their_real_location_are_understood(workspace: Path, tmp_path: Path) -> None:
    write(workspace / "memory" / "a.md")
    (tmp_path / "alias").symlink_to(workspace)
    assert paths(targeted(tmp_path / "alias", workspace / "memory" / "a.md")) == ["memory/a.md"]


def test_a_document_says_what_was_read(workspace: Path) -> None:
    data = b"\xef\xbb\xbfone\r\ntwo \xfc\r\n"
    write(workspace / "memory" / "2026-03-01.md", data)
    (file,) = scan(workspace).files
    document = read_document(file)
    assert document.text == "one\ntwo \ufffd\n"
    assert document.hash == hashlib.sha256(data).hexdigest()
    assert document.stat == file.stat
    assert document.warning is not None
    assert "line 2" in document.warning


def test_a_file_that_changes_while_it_is_read_is_read_again(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(workspace / "memory" / "a.md", "first\n")
    (file,) = scan(workspace).files
    reading = os.pread
    changes = iter([lambda: path.write_text("second version\n")])

    def changing(descriptor: int, length: int, offset: int) -> bytes:
        data = reading(descriptor, length, offset)
        change: Callable[[], object] = next(changes, lambda: None)
        change()
        return data

    monkeypatch.setattr(os, "pread", changing)
    document = read_document(file)
    assert document.text == "second version\n"
    assert document.stat.size == len("second version\n")


def test_reading_follows_no_symlink_and_waits_for_no_fifo(workspace: Path, tmp_path: Path) -> None:
    path = write(workspace / "memory" / "a.md")
    (file,) = scan(workspace).files
    path.unlink()
    path.symlink_to(write(tmp_path / "secret.md"))
    with pytest.raises(OSError, match="symbolic links"):
        read_document(file)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        read_document(file)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_document(file)


def test_binary_data_is_undecodable(workspace: Path) -> None:
    write(workspace / "memory" / "bin.md", bytes(range(256)))
    (file,) = scan(workspace).files
    with pytest.raises(Undecodable):
        read_document(file)


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-01-15.md", (2026, 1, 15)),
        ("memory/deep/er/2026-01-15-standup.md", (2026, 1, 15)),
        ("memory/standup 2024-02-29.md", (2024, 2, 29)),
        ("/extra/2026-02-30 or 2026-03-01.md", (2026, 3, 1)),
        ("memory/2026-02-30.md", None),
        ("memory/2023-02-29.md", None),
        ("memory/2026-13-01.md", None),
        ("memory/0000-01-01.md", None),
        ("memory/12026-01-15.md", None),
        ("memory/2026-01-155.md", None),
        ("memory/2026-01-15/notes.md", None),
        ("MEMORY.md", None),
    ],
)
def test_the_day_in_the_name_dates_a_document(path: str, day: tuple[int, int, int] | None) -> None:
    assert name_date_ms(path) == (None if day is None else int(datetime(*day).timestamp() * 1000))


def test_scanning_costs_little_more_than_listing_and_stat(workspace: Path) -> None:
    for number in range(1000):
        write(workspace / "memory" / str(number % 30) / f"{number}.md")

    def bare() -> None:
        for folder in os.scandir(workspace / "memory"):
            for entry in os.scandir(folder.path):
                entry.stat(follow_symlinks=False)

    costs_at_most(12, lambda: scan(workspace), bare)
