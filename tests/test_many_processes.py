"""Two apps and a command line on one workspace at once, one of them killed: nothing is lost and nothing is doubled."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.store.writer_lock import WriterLock
from tests.test_soak import REPOSITORY, SEED, Life, content
from tests.workbench import Bench


class App:
    """A process with an app's memory."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.app_child", str(root)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def until_it_writes(self, store: Path) -> None:
        """Wait until this process is the one that writes the index."""
        lock, deadline = WriterLock(store), time.monotonic() + 60
        while lock.owner() != self.process.pid:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def end(self) -> dict[str, Any]:
        out, _ = self.process.communicate(timeout=60)
        answer: dict[str, Any] = json.loads(out)
        return answer


def index(root: Path) -> subprocess.Popen[str]:
    """`memdeck index` in a process of its own."""
    scope = ["--workspace", str(root / "ws"), "--store", str(root / "index.sqlite")]
    environ = {**os.environ, "HOME": str(root / "home"), "MEMDECK_PROVIDER": "none"}
    return subprocess.Popen(
        [sys.executable, "-m", "tui", "index", "--json", *scope],
        cwd=REPOSITORY,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def edit_while_indexing(life: Life, root: Path, runs: int) -> list[str]:
    """Change files without a pause while `memdeck index` runs, `runs` times; what it had to complain of."""
    complaints = []
    for _ in range(runs):
        running = index(root)
        while running.poll() is None:
            life.step()
            time.sleep(0.02)
        out, err = running.communicate()
        if running.returncode:
            complaints.append(err or out)
    return complaints


@pytest.mark.timeout(600)
def test_two_apps_and_a_command_lose_and_double_nothing(tmp_path: Path) -> None:
    root = tmp_path / "life"
    (root / "ws/memory").mkdir(parents=True)
    life = Life(root / "ws", SEED)
    for _ in range(40):
        life.step()
    store = root / "index.sqlite"
    first = App(root)
    first.until_it_writes(store)
    second = App(root)
    complaints = edit_while_indexing(life, root, 2)
    assert WriterLock(store).owner() == first.process.pid

    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    complaints += edit_while_indexing(life, root, 1)
    second.until_it_writes(store)
    third = App(root)
    complaints += edit_while_indexing(life, root, 2)
    for path in (root / "ws").rglob("*.md"):
        path.chmod(0o600)
    last = index(root)
    report = json.loads(last.communicate()[0])
    ended = [second.end(), third.end()]

    assert complaints == []
    assert report["failed"] == []
    assert [one["errors"] for one in ended] == [[], []]
    assert all(one["searches"] > 0 for one in ended)
    assert ended[0]["writes"] == [False, True]  # it followed, then took over
    assert ended[1]["writes"][:1] == [False]
    fresh = Bench(tmp_path / "fresh")
    shutil.rmtree(fresh.workspace)
    shutil.copytree(root / "ws", fresh.workspace)
    fresh.sync()
    fresh.worker.stop()
    assert content(store) == content(fresh.store)
