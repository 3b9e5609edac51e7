"""Opening an editor at a line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui.editor import NoEditor, editor_command, pager_command, run_outside

FILE = Path("/ws/memory/a b.md")


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vi", ["vi", "+12", "/ws/memory/a b.md"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+12", "/ws/memory/a b.md"]),
        ("code", ["code", "--wait", "--goto", "/ws/memory/a b.md:12"]),
        ("hx", ["hx", "/ws/memory/a b.md:12"]),
        ("'/opt/my editor/e'", ["/opt/my editor/e", "+12", "/ws/memory/a b.md"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(editor: str, command: list[str]) -> None:
    assert editor_command({"EDITOR": editor}, FILE, 12) == command


def test_visual_wins_over_editor() -> None:
    assert editor_command({"VISUAL": "micro", "EDITOR": "vi"}, FILE, 1)[0] == "micro"


@pytest.mark.parametrize("environ", [{}, {"EDITOR": ""}, {"EDITOR": "  "}, {"EDITOR": "'unclosed"}])
def test_without_a_usable_editor_the_refusal_says_what_to_set(environ: dict[str, str]) -> None:
    with pytest.raises(NoEditor, match=r"EDITOR"):
        editor_command(environ, FILE, 1)


@pytest.mark.parametrize(
    ("pager", "line", "command"),
    [
        ("less -R", 12, ["less", "-R", "+12", "/ws/memory/a b.md"]),
        ("less", 1, ["less", "/ws/memory/a b.md"]),
        ("'/opt/my pager/p' -x", 12, ["/opt/my pager/p", "-x", "/ws/memory/a b.md"]),
    ],
)
def test_a_pager_gets_the_file_and_the_line_if_it_takes_one(pager: str, line: int, command: list[str]) -> None:
    assert pager_command({"PAGER": pager}, FILE, line) == command


def test_without_a_pager_less_is_taken_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(NoEditor, match=r"set \$PAGER, or install less"):
        pager_command({"PATH": str(tmp_path)}, FILE, 1)
    for name in ("more", "less"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert pager_command({"PATH": str(tmp_path), "PAGER": " "}, FILE, 3) == [name, "+3", str(FILE)]


def test_a_pager_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(NoEditor, match=r"\$PAGER cannot be read"):
        pager_command({"PAGER": "'unclosed"}, FILE, 1)


def test_an_editor_that_is_not_installed_is_named() -> None:
    with pytest.raises(NoEditor, match=r"no-such-editor cannot be started: No such file"):
        run_outside(["no-such-editor", "x"], {"PATH": "/usr/bin"})


def test_an_editor_that_fails_is_named_with_its_status(tmp_path: Path) -> None:
    script = tmp_path / "ed"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(NoEditor, match=r"ended with status 3"):
        run_outside([str(script)], {})
