"""Opening an editor at a line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui.editor import NoEditor, editor_command, run_editor

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


def test_an_editor_that_is_not_installed_is_named() -> None:
    with pytest.raises(NoEditor, match=r"no-such-editor cannot be started: No such file"):
        run_editor(["no-such-editor", "x"], {"PATH": "/usr/bin"})


def test_an_editor_that_fails_is_named_with_its_status(tmp_path: Path) -> None:
    script = tmp_path / "ed"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(NoEditor, match=r"ended with status 3"):
        run_editor([str(script)], {})
