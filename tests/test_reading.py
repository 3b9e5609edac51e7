"""Ranges of lines, and what may be read by its path."""

from __future__ import annotations

import os
import socket
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import NotAllowed
from core.sources.reading import read_range
from core.sources.workspace import open_readable, resolve_readable
from core.text.lines import LineSource, split_lines


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory" / "deep").mkdir(parents=True)
    (root / "MEMORY.md").write_text("long-term\n")
    (root / "memory" / "a.md").write_text("alpha\n")
    (root / "memory" / "deep" / "b.md").write_text("beta\n")
    (root / "memory" / "a.txt").write_text("no\n")
    (root / "notes.md").write_text("outside of memory\n")
    (tmp_path / "x.md").write_text("secret\n")
    (tmp_path / "ws2" / "memory").mkdir(parents=True)
    (tmp_path / "ws2" / "memory" / "a.md").write_text("secret\n")
    return root


def read(path: str, workspace: Path, extra_paths: tuple[str, ...] = ()) -> bytes:
    descriptor = open_readable(path, workspace=workspace, extra_paths=extra_paths, home=workspace.parent)
    try:
        return os.read(descriptor, 1000)
    finally:
        os.close(descriptor)


def refusal(path: str, workspace: Path, extra_paths: tuple[str, ...] = ()) -> str:
    with pytest.raises(NotAllowed) as opening:
        read(path, workspace, extra_paths)
    return str(opening.value)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("MEMORY.md", b"long-term\n"),
        ("memory/a.md", b"alpha\n"),
        ("./memory//deep/./b.md", b"beta\n"),
        ("{ws}/memory/a.md", b"alpha\n"),
    ],
)
def test_memory_is_read(path: str, text: bytes, workspace: Path) -> None:
    assert read(path.format(ws=workspace), workspace) == text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("../x.md", "'..'"),
        ("memory/../../x.md", "'..'"),
        ("memory/deep/../a.md", "'..'"),
        ("/etc/passwd", "only MEMORY.md"),
        ("memory/%2e%2e/x.md", None),
        ("memory\\..\\x.md", "only MEMORY.md"),
        ("{ws}2/memory/a.md", "only MEMORY.md"),
        ("memory/a.md\0.txt", "NUL"),
        ("memory/a.txt", "only Markdown"),
        ("notes.md", "only MEMORY.md"),
        ("memory", "it is a folder"),
        ("~/x.md", "only MEMORY.md"),
        ("memory/node_modules/p/x.md", "ignored"),
        ("memory/a\ud800.md", "surrogate"),
    ],
)
def test_what_is_not_memory_is_refused_with_its_reason(path: str, reason: str | None, workspace: Path) -> None:
    path = path.format(ws=workspace)
    if reason is None:
        with pytest.raises(FileNotFoundError):  # percent signs are taken literally
            read(path, workspace)
        return
    assert reason in refusal(path, workspace)
    with pytest.raises(NotAllowed):
        resolve_readable(path, workspace=workspace, extra_paths=(), home=workspace.parent)


def test_no_symlink_is_followed(workspace: Path) -> None:
    (workspace / "memory" / "link").symlink_to(workspace.parent)
    (workspace / "memory" / "file.md").symlink_to(workspace.parent / "x.md")
    (workspace / "memory" / "dangling.md").symlink_to("nowhere.md")
    for path in ("memory/link/x.md", "memory/file.md", "memory/dangling.md"):
        assert "symlink" in refusal(path, workspace)


def test_a_path_swapped_after_its_check_leads_nowhere(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "memory" / "link").symlink_to(workspace.parent)
    (workspace / "memory" / "file.md").symlink_to(workspace.parent / "x.md")
    # A check that ran before the swap saw no symlink.
    monkeypatch.setattr(os.path, "islink", lambda path: False)
    for path in ("memory/link/x.md", "memory/file.md"):
        assert "symlink" in refusal(path, workspace)


def test_extra_folders_and_files_are_read(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "extra" / "deep").mkdir(parents=True)
    (tmp_path / "extra" / "deep" / "c.md").write_text("gamma\n")
    (tmp_path / "extra" / "c.txt").write_text("no\n")
    (tmp_path / "one.txt").write_text("explicit\n")
    extra = (str(tmp_path / "extra"), "~/one.txt")
    assert read(f"{tmp_path}/extra/deep/c.md", workspace, extra) == b"gamma\n"
    assert read(f"{tmp_path}/one.txt", workspace, extra) == b"explicit\n"
    assert "only Markdown" in refusal(f"{tmp_path}/extra/c.txt", workspace, extra)
    assert "only MEMORY.md" in refusal(f"{tmp_path}/extra2/c.md", workspace, extra)


def test_media_of_extra_folders_are_read_where_they_are_indexed(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    picture = tmp_path / "pictures" / "a.png"
    picture.write_bytes(b"png")
    wanted = SimpleNamespace(modalities=("image",), max_file_bytes=100)
    extra = ("../pictures",)
    assert "only Markdown" in refusal(str(picture), workspace, extra)
    found = resolve_readable(str(picture), workspace=workspace, extra_paths=extra, home=tmp_path, multimodal=wanted)
    assert found == picture


def test_an_extra_folder_inside_the_workspace_is_read_by_either_form(workspace: Path) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs" / "d.md").write_text("delta\n")
    assert read("docs/d.md", workspace, ("docs",)) == b"delta\n"
    assert read(f"{workspace}/docs/d.md", workspace, ("docs",)) == b"delta\n"


def test_an_extra_path_that_is_a_symlink_is_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "ws2" / "memory")
    assert "symlink" in refusal(f"{tmp_path}/linked/a.md", workspace, ("../linked",))


def test_a_workspace_that_is_a_symlink_works(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(workspace)
    assert read("memory/a.md", tmp_path / "alias") == b"alpha\n"


def test_only_regular_files_are_opened(workspace: Path) -> None:
    (workspace / "memory" / "folder.md").mkdir()
    os.mkfifo(workspace / "memory" / "fifo.md")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(workspace / "memory", os.O_RDONLY)
        try:
            listener.bind(f"/proc/self/fd/{folder}/socket.md")
        finally:
            os.close(folder)
        assert "a folder" in refusal("memory/folder.md", workspace)
        assert "not a regular file" in refusal("memory/fifo.md", workspace)
        assert "not a regular file" in refusal("memory/socket.md", workspace)


def test_missing_files_are_missing_not_refused(workspace: Path) -> None:
    for path in ("memory/none.md", "memory/none/none.md", "memory/a.md/none.md", f"memory/{'n' * 300}.md"):
        if path.startswith("memory/a.md/"):
            assert "named like Markdown" in refusal(path, workspace)
            continue
        with pytest.raises(FileNotFoundError):
            read(path, workspace)
    found = resolve_readable("memory/none.md", workspace=workspace, extra_paths=(), home=workspace)
    assert found == workspace / "memory" / "none.md"


def test_memory_md_beside_another_is_refused(workspace: Path) -> None:
    (workspace / "memory.md").write_text("lower\n")
    assert "MEMORY.md is used instead" in refusal("memory.md", workspace)
    (workspace / "MEMORY.md").unlink()
    assert read("memory.md", workspace) == b"lower\n"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_either_unicode_form_opens_the_file(form: Literal["NFC", "NFD"], workspace: Path) -> None:
    path = "memory/caf\u00e9/\ud559\uc810.md"
    stored = workspace / unicodedata.normalize(form, path)
    stored.parent.mkdir()
    stored.write_text("text\n")
    assert read(unicodedata.normalize("NFC", path), workspace) == b"text\n"
    assert read(unicodedata.normalize("NFD", path), workspace) == b"text\n"


def ranged(text: str, from_line: int | None = None, lines: int | None = None) -> tuple[object, ...]:
    result = read_range(LineSource.from_text(text), from_line, lines)
    return (result.status, result.from_line, result.lines, result.text, result.truncated, result.next_from)


def test_a_range_is_what_was_asked_for() -> None:
    assert ranged("a\nb\n") == ("ok", 1, 2, "a\nb", False, None)
    assert ranged("a\nb\n", 1, 1) == ("ok", 1, 1, "a", True, 2)
    assert ranged("a\nb\n", 2) == ("ok", 2, 1, "b", False, None)
    assert ranged("a\nb\n", 2, 10**9) == ("ok", 2, 1, "b", False, None)


@pytest.mark.parametrize("from_line", [3, 99])
def test_a_range_beyond_the_end_is_empty_and_has_no_more(from_line: int) -> None:
    assert ranged("a\nb\n", from_line) == ("empty", from_line, 0, "", False, None)


def test_an_empty_file_is_empty() -> None:
    assert ranged("") == ("empty", 1, 0, "", False, None)


@pytest.mark.parametrize(("from_line", "lines"), [(0, None), (-1, None), (1, 0), (None, -5)])
def test_numbers_below_one_are_refused(from_line: int | None, lines: int | None) -> None:
    result = read_range(LineSource.from_text("a\n"), from_line, lines)
    assert result.status == "not_allowed"
    assert "counts from 1" in (result.error or "")


def test_without_a_count_120_lines_are_given() -> None:
    text = "".join(f"{number}\n" for number in range(1, 301))
    status, _, lines, _, truncated, next_from = ranged(text, 100)
    assert (status, lines, truncated, next_from) == ("ok", 120, True, 220)


def test_one_huge_line_is_bounded() -> None:
    status, _, lines, text, truncated, next_from = ranged("x" * 1_000_000 + "\nnext\n")
    assert (status, lines, len(str(text)), truncated, next_from) == ("ok", 1, 12_000, True, 2)


def test_a_long_line_waits_for_its_own_range() -> None:
    status, _, lines, text, truncated, next_from = ranged("short\n" + "x" * 11_995 + "\nlast\n")
    assert (status, lines, text, truncated, next_from) == ("ok", 1, "short", True, 2)


@given(
    st.lists(st.text(alphabet="ab\r\x0c\u2028é会", max_size=60), max_size=80), st.integers(1, 90), st.integers(1, 60)
)
def test_following_next_from_reads_every_line_once(lines: list[str], count: int, room: int) -> None:
    text = "".join(f"{line}\n" for line in lines)
    source = LineSource.from_text(text)
    expected = split_lines(text.replace("\r\n", "\n"))
    position: int | None = 1
    seen = []
    while position is not None:
        result = read_range(source, position, count, max_chars=room)
        assert len(result.text) <= room
        seen.extend(result.text.split("\n") if result.lines else [])
        assert result.truncated or result.next_from is None
        assert result.next_from is None or result.next_from == position + result.lines
        position = result.next_from
    assert seen == [line[:room] for line in expected]
