"""Killed at any step of a sync, a rebuild, a new identity, a repair or a forgetting, the next start makes good."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dying import WORKS


def die(work: str, folder: Path, *, stride: int) -> int:
    """Have the work die at every `stride`th step; how many times it did."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.dying", str(folder), work, "1", str(stride)],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lives = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [life for life in lives if life["problem"]] == []
    assert [life["died"] for life in lives] == [True] * (len(lives) - 1) + [False]
    return len(lives) - 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("work", WORKS)
def test_a_death_leaves_nothing_to_mend(work: str, tmp_path: Path) -> None:
    assert die(work, tmp_path, stride=5) > 5


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("work", WORKS)
def test_a_death_at_any_step_leaves_nothing_to_mend(work: str, tmp_path: Path) -> None:
    assert die(work, tmp_path, stride=1) > 30
