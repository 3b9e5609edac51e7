"""The command line as a process: streams that break, locales, colours, signals, and what it never imports."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "tui"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with empty folders and no embedding provider."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    folders = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {
        **kept,
        **folders,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "MEMDECK_PROVIDER": "none",
    }


@pytest.fixture
def workspace(tmp_path: Path, environ: dict[str, str]) -> Path:
    """An indexed workspace with text that not every locale can write."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("Der Kuchen wird um fünf gebacken. 会議は三時 needle\n", "utf-8")
    assert memdeck(folder, environ, "index").returncode == 0
    return folder


def memdeck(
    folder: Path, environ: Mapping[str, str], *arguments: str, **changes: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in `folder` to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env={**environ, **changes}, capture_output=True, timeout=60, check=False
    )


def shell(folder: Path, environ: Mapping[str, str], script: str) -> subprocess.CompletedProcess[bytes]:
    """Run a bash script in which $M is the command."""
    command = ["bash", "-c", f'M="{" ".join(COMMAND)}"; {script}']
    return subprocess.run(command, cwd=folder, env=dict(environ), capture_output=True, timeout=60, check=False)


def on_terminal(folder: Path, environ: Mapping[str, str], *arguments: str) -> str:
    """What a command writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, [*COMMAND, *arguments], {**environ, "TERM": "xterm-256color"})
    written = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    os.close(terminal)
    os.waitpid(pid, 0)
    return written.decode()


def test_a_reader_that_leaves_early_is_no_error(workspace: Path, environ: dict[str, str]) -> None:
    for number in range(60):
        (workspace / "memory" / f"{number}.md").write_text(f"needle {number}\n" + "long line of text\n" * 200)
    memdeck(workspace, environ, "index")
    ended = shell(workspace, environ, '$M search needle -n 60 --json | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"')
    assert ended.stderr == b""
    assert ended.stdout.strip() in (b"141", b"0")


def test_a_closed_standard_output_is_named_and_touches_no_file(workspace: Path, environ: dict[str, str]) -> None:
    ended = shell(workspace, environ, "$M search needle >&-")
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"memdeck: standard output cannot be written")
    assert memdeck(workspace, environ, "search", "needle").returncode == 0


def test_all_streams_closed_ends_quietly(workspace: Path, environ: dict[str, str]) -> None:
    assert shell(workspace, environ, "$M index <&- >&- 2>&-").returncode == 2
    assert memdeck(workspace, environ, "search", "needle").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_standard_output_is_named(workspace: Path, environ: dict[str, str]) -> None:
    ended = shell(workspace, environ, "$M search needle >/dev/full")
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1
    assert ended.stderr.startswith(b"memdeck: standard output cannot be written")


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_locale_that_cannot_write_the_text_is_no_error(
    workspace: Path, environ: dict[str, str], locale: dict[str, str]
) -> None:
    ended = memdeck(workspace, environ, "search", "needle", **locale)
    assert ended.returncode == 0
    assert b"Kuchen" in ended.stdout


def test_json_stays_json_in_every_locale(workspace: Path, environ: dict[str, str]) -> None:
    import json

    ended = memdeck(workspace, environ, "search", "needle", "--json", PYTHONIOENCODING="latin-1")
    assert "会議は三時" in json.loads(ended.stdout)["results"][0]["snippet"]


def test_a_terminal_gets_colour_and_a_pipe_does_not(workspace: Path, environ: dict[str, str]) -> None:
    assert "\x1b[1m" in on_terminal(workspace, environ, "search", "needle")
    assert b"\x1b" not in memdeck(workspace, environ, "search", "needle").stdout


def test_no_color_is_heeded(workspace: Path, environ: dict[str, str]) -> None:
    assert "\x1b[" not in on_terminal(workspace, {**environ, "NO_COLOR": "1"}, "search", "needle")


def test_index_shows_its_progress_on_a_terminal_and_leaves_only_the_summary(
    workspace: Path, environ: dict[str, str]
) -> None:
    written = on_terminal(workspace, environ, "index", "--force")
    assert "1 file indexed" in written


@pytest.mark.parametrize("arguments", [["search"], ["nonsense"], ["get"], ["search", "x", "--mode", "y"], ["--bogus"]])
def test_wrong_usage_is_two_lines_and_code_2(workspace: Path, environ: dict[str, str], arguments: list[str]) -> None:
    ended = memdeck(workspace, environ, *arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("memdeck: ")


def test_an_error_text_with_escape_sequences_is_shown_as_marks(workspace: Path, environ: dict[str, str]) -> None:
    ended = memdeck(workspace, environ, "get", "memory/\x1b]0;owned\x07.md")
    assert ended.returncode == 1
    assert not {0x1B, 0x07} & set(ended.stderr)


def test_names_that_are_not_utf8_are_no_error(workspace: Path, environ: dict[str, str]) -> None:
    Path(os.fsdecode(os.fsencode(workspace / "memory") + b"/caf\xe9.md")).write_text("needle\n")
    ended = memdeck(workspace, environ, "index")
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr
    assert b"Traceback" not in memdeck(workspace, environ, "get", os.fsdecode(b"memory/caf\xe9.md")).stderr


def test_ctrl_c_ends_an_index_with_130_and_keeps_what_was_done(workspace: Path, environ: dict[str, str]) -> None:
    for number in range(800):
        (workspace / "memory" / f"{number}.md").write_text(
            f"# Note {number}\n\nneedle {number}\n" + "more text\n" * 300
        )
    process = subprocess.Popen(
        [*COMMAND, "index"], cwd=workspace, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while (
        time.monotonic() < deadline
        and memdeck(workspace, environ, "search", "needle", "-n", "3").stdout.count(b"\n\n") < 2
    ):
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the index was done before the signal came")
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert memdeck(workspace, environ, "search", "needle").returncode == 0
    assert memdeck(workspace, environ, "index").returncode == 0


def test_two_indexes_at_once_both_end_well(workspace: Path, environ: dict[str, str]) -> None:
    for number in range(300):
        (workspace / "memory" / f"{number}.md").write_text(f"needle {number}\n")
    both = [
        subprocess.Popen(
            [*COMMAND, "index"], cwd=workspace, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=90) for process in both]
    assert [process.returncode for process in both] == [0, 0], outcomes
    assert b'"files":301' in memdeck(workspace, environ, "status", "--json").stdout
