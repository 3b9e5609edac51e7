"""The app on a real terminal: what it writes, how it ends, what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from core import Memory
from tests.terminals import CHILD, Terminal, Tmux

HOSTILE = (
    "# Hostile\n\nneedle \x1b[2J \x1b]52;c;QUFB\x07 \x1b]0;title\x07 \x1b]8;;http://x\x1b\\link \x1bPq\x1b\\"
    " \x1bc \x1b[6n \u009b31m \u009d0;t\x07 \x08\x08 \u202eevil [@click=app.quit]x[/] [/x] \x1b]unterminated\n"
)


Run = Callable[..., Terminal]


@pytest.fixture
def run(tmp_path: Path, memory_of: Callable[..., Memory]) -> Iterator[Run]:
    memory_of(
        {
            "memory/hostile.md": HOSTILE,
            "memory/coffee.md": "# Coffee\n\nThe machine wants descaling.\n",
            **{f"memory/n{n}.md": f"# Note {n}\n\nA needle in note {n}.\n" for n in range(30)},
        }
    ).close()
    running: list[Terminal] = []

    def start(*, size: tuple[int, int] = (80, 24), until: str = " chunk", **environ: str) -> Terminal:
        terminal = Terminal([sys.executable, "-c", CHILD, str(tmp_path)], size, environ)
        running.append(terminal)
        if until:
            terminal.until(" ms" if "QUERY" in environ else until)
            terminal.read(0.8)
        return terminal

    yield start
    for terminal in running:
        terminal.close()


def test_what_is_typed_while_the_app_starts_is_a_query(run: Run) -> None:
    terminal = run(until="")
    for letter in "quartz quay":
        os.write(terminal.fd, letter.encode())
        terminal.read(0.05, 0.05)
    terminal.until("No hits for")
    assert not terminal.ended
    terminal.press("\x11")
    assert terminal.wait() == 0


def test_keys_in_one_piece_go_where_they_lead(run: Run) -> None:
    terminal = run(QUERY="needle")
    before = len(terminal.output)
    terminal.press("\x1b[15~\x1bOQ\t/\x15machine\r")
    terminal.until("descaling", before)
    assert not terminal.ended
    terminal.press("fwants\rq")
    assert terminal.wait() == 0


def test_q_when_browsing_quits_and_gives_the_terminal_back(run: Run) -> None:
    terminal = run(QUERY="needle")
    terminal.press("\tq")
    assert terminal.wait() == 0
    assert terminal.restored


def test_q_while_typing_is_a_letter_and_ctrl_q_quits(run: Run) -> None:
    terminal = run()
    terminal.press("q")
    assert not terminal.ended
    terminal.press("\x11")
    assert terminal.wait() == 0
    assert terminal.restored


def test_ctrl_c_quits_only_when_pressed_twice(run: Run) -> None:
    terminal = run()
    terminal.press("\x03")
    terminal.until("^c again")
    assert not terminal.ended
    terminal.press("\x03\x03")
    assert terminal.wait() == 0
    assert terminal.restored


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back_and_a_code_that_is_not_zero(run: Run, number: signal.Signals) -> None:
    terminal = run(QUERY="needle")
    os.kill(terminal.pid, number)
    assert terminal.wait() == 128 + number
    assert terminal.restored


def test_a_crash_gives_the_terminal_back_and_a_code_that_is_not_zero(run: Run) -> None:
    terminal = run(BREAK_HELP="1")
    terminal.press("\x1bOP")
    assert terminal.wait() == 1
    assert terminal.restored
    assert b"ZeroDivisionError" in terminal.output


@pytest.mark.parametrize(("program", "key"), [("EDITOR", "e"), ("PAGER", "|")])
def test_a_missing_editor_or_pager_leaves_the_app_on_the_screen(run: Run, program: str, key: str) -> None:
    terminal = run(QUERY="needle", **{program: "no-such-program"})
    terminal.press("\t")
    terminal.press(key)
    terminal.until("no-such-program cannot be started")
    terminal.press("q")
    assert terminal.wait() == 0


def test_the_editor_opens_the_file_at_the_line_and_the_app_comes_back(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "ed"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\n: > "$(dirname "$OUT")/done"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    terminal = run(QUERY="descaling", EDITOR=str(script), OUT=str(tmp_path / "argv"))
    terminal.press("\t")
    terminal.press("e")
    terminal.wait_for((tmp_path / "done").exists, "the editor")
    assert (tmp_path / "argv").read_text().splitlines() == ["+3", str(tmp_path / "ws/memory/coffee.md")]
    terminal.press("q")
    assert terminal.wait() == 0
    assert terminal.restored


def test_the_pager_shows_the_file_from_the_line_on_and_the_app_comes_back(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "less"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\necho PAGED; read key; : > "$(dirname "$OUT")/done"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    terminal = run(QUERY="descaling", PAGER=f"{script} -R", OUT=str(tmp_path / "argv"))
    terminal.press("\t")
    terminal.press("|")
    terminal.until("PAGED")
    assert terminal.restored
    before = len(terminal.output)
    terminal.press("\n")
    terminal.wait_for((tmp_path / "done").exists, "the pager's end")
    terminal.until("coffee.md", before)
    assert (tmp_path / "argv").read_text().splitlines() == ["-R", "+3", str(tmp_path / "ws/memory/coffee.md")]
    terminal.press("q")
    assert terminal.wait() == 0
    assert terminal.restored


def test_nothing_of_a_file_is_obeyed_by_the_terminal(run: Run) -> None:
    terminal = run(QUERY="needle")
    terminal.press("\t")
    for _ in range(32):
        terminal.press("j", 0.12)
    terminal.press("\x0f")
    terminal.press("\x19")
    terminal.press("q")
    assert terminal.wait() == 0
    for sequence in (
        b"\x1b[2J ",
        b"\x1b]52;c;QUFB",
        b"\x1b]0;title",
        b"\x1b]8;;http",
        b"\x1bPq",
        b"\x1bc ",
        b"\x1b[6n",
        b"\x1b]untermin",
    ):
        assert sequence not in terminal.output
    for character in ("\u009b", "\u009d", "\u202e"):
        assert character.encode() not in terminal.output


def test_bytes_stay_small_for_slow_links(run: Run) -> None:
    terminal = run()
    first_paint = len(terminal.output)
    letter = median(len(terminal.press(key, 0.05)) for key in "needl")
    terminal.press("e", 1.0)
    down = median(len(terminal.press("\x1b[B", 0.5)) for _ in range(5))
    assert first_paint < 30_000
    assert letter < 1_000
    assert down < 6_000


def test_an_idle_screen_writes_nothing(run: Run) -> None:
    terminal = run(QUERY="needle")
    windows = (terminal.read(3.0, 3.0) for _ in range(20))
    assert b"" in windows


def test_every_size_down_to_one_cell_can_be_survived(run: Run) -> None:
    terminal = run(QUERY="needle")
    terminal.resize(40, 10, until="needle")
    terminal.resize(20, 5, until="memdeck")
    terminal.resize(5, 3)
    terminal.resize(1, 1)
    terminal.resize(300, 100, until="needle")
    terminal.resize(80, 24, until="needle")
    terminal.press("\t")
    terminal.press("q")
    assert terminal.wait() == 0


def test_a_size_in_the_environment_does_not_hold_against_the_terminal_s(run: Run) -> None:
    terminal = run(QUERY="needle", COLUMNS="200", LINES="60")
    assert b"\x1b[25;" not in terminal.output
    terminal.resize(40, 10, until="needle")
    terminal.press("\x11")
    assert terminal.wait() == 0


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (39, 9), (40, 10)])
def test_a_start_in_a_tiny_terminal_works(run: Run, size: tuple[int, int]) -> None:
    terminal = run(size=size, until="\x1b[?1049h")
    terminal.press("\x11")
    assert terminal.wait() == 0


def test_the_trace_tells_lag_and_bytes(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    terminal = run(MEMDECK_TRACE=str(trace))
    terminal.press("x")
    terminal.wait_for(lambda: trace.exists() and trace.read_text().count("\n") > 2, "the trace")
    terminal.press("\x11")
    assert terminal.wait() == 0
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert {"t", "lag_ms", "bytes"} == set(lines[0])
    assert sum(line["bytes"] for line in lines) > 0


@pytest.fixture
def tmux_of(tmp_path: Path, memory_of: Callable[..., Memory]) -> Iterator[Callable[..., Tmux]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    memory_of({"memory/coffee.md": "# Coffee\n\nThe machine wants descaling.\n"}).close()
    servers: list[Tmux] = []

    def start(*command: str) -> Tmux:
        servers.append(Tmux(*command))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_in_tmux_keys_work_and_a_citation_lands_in_its_buffer(tmux_of: Callable[..., Tmux], tmp_path: Path) -> None:
    tmux = tmux_of(sys.executable, "-c", CHILD, str(tmp_path))
    tmux.until("1 chunk")
    tmux("send-keys", "descaling")
    tmux.until("coffee.md#L1-L3")
    tmux("send-keys", "C-y")
    tmux.until("(OSC 52)")
    assert tmux("show-buffer") == "memory/coffee.md#L1-L3"


def test_ctrl_z_goes_to_the_shell_and_fg_brings_the_whole_screen_back(
    tmux_of: Callable[..., Tmux], tmp_path: Path
) -> None:
    (tmp_path / "child.py").write_text(CHILD)
    tmux = tmux_of("env", "PS1=$ ", "bash", "--norc")
    tmux("send-keys", f"{sys.executable} {tmp_path}/child.py {tmp_path}", "Enter")
    tmux.until("1 chunk", "Type a question")
    tmux("send-keys", "C-z")
    tmux.until("Stopped")
    tmux("send-keys", "fg", "Enter")
    tmux.until("[1 Search]", "Type a question", "palette")
