"""Programs that hang, die, flood or leave children: each ends in time, with everything that it started."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from core.backends.qmd_process import OUTPUT_BYTES, ProgramCancelled, ProgramTimeout, run_program
from core.errors import BackendError


def script(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def run(folder: Path, text: str, *, seconds: float = 20, **more: object):  # type: ignore[no-untyped-def]
    return run_program([script(folder, text)], environ={"PATH": os.defpath}, folder=folder, seconds=seconds, **more)  # type: ignore[arg-type]


def is_gone(pid_file: Path) -> bool:
    """Whether the process whose number stands in the file ends, within some seconds."""
    pid = int(pid_file.read_text())
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] if Path("/proc/self").exists() else ""
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_output_errors_and_code_are_told_apart(tmp_path: Path) -> None:
    outcome = run(tmp_path, "echo found; echo complaint >&2; exit 1")

    assert (outcome.code, outcome.stdout, outcome.stderr) == (1, "found\n", "complaint\n")


def test_the_program_gets_no_input_and_only_the_environment_that_is_given(tmp_path: Path) -> None:
    outcome = run(tmp_path, 'cat; echo "home=$HOME"; pwd')

    assert outcome.stdout == f"home=\n{tmp_path.resolve()}\n"


def test_a_hanging_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(ProgramTimeout, match=r"program did not answer within 0\.5 s"):
        run(
            tmp_path,
            "trap '' TERM; (trap '' TERM; echo $$ > group; exec sleep 100) & echo $! > child; wait",
            seconds=0.5,
        )

    assert is_gone(tmp_path / "child")


def test_a_child_that_outlives_its_parent_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    outcome = run(tmp_path, "sleep 100 & echo $! > child; echo done")

    assert outcome.stdout == "done\n"
    assert is_gone(tmp_path / "child")


@pytest.mark.parametrize("death", ["kill -SEGV $$", "sh -c 'kill -SEGV $$'; exit 139"])
def test_a_death_by_signal_is_an_error_with_a_remedy(tmp_path: Path, death: str) -> None:
    with pytest.raises(BackendError, match="program died by SIGSEGV") as caught:
        run(tmp_path, f"echo half; {death}")

    assert "Node 22" in caught.value.remedy


def test_a_program_that_writes_without_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=f"more than {OUTPUT_BYTES:,} bytes"):
        run(tmp_path, "echo $$ > child; exec yes")

    assert is_gone(tmp_path / "child")


def test_of_endless_complaints_the_end_is_kept(tmp_path: Path) -> None:
    outcome = run(
        tmp_path, "i=0; while [ $i -lt 5000 ]; do echo 'line of complaint' >&2; i=$((i+1)); done; echo last >&2"
    )

    assert outcome.stderr.endswith("last\n")
    assert len(outcome.stderr) < 20_000


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    assert run(tmp_path, r"printf 'a\377b'").stdout == "a\ufffdb"


def test_giving_up_ends_the_program_at_once(tmp_path: Path) -> None:
    gone = threading.Event()
    threading.Timer(0.3, gone.set).start()

    with pytest.raises(ProgramCancelled):
        run(tmp_path, "echo $$ > child; exec sleep 100", cancelled=gone.is_set)

    assert is_gone(tmp_path / "child")


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no program")

    with pytest.raises(BackendError, match="text cannot be started: Permission denied"):
        run_program([str(path)], environ={}, folder=tmp_path, seconds=5)
