"""`memdeck index`: what its report names, and how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.machine import NOBODY, mounted
from tui.cli.root import run

REPOSITORY = Path(__file__).parent.parent
Index = Callable[..., int]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """Runs `memdeck index` on ws with the index disk/index.sqlite."""
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    (tmp_path / "ws/memory/good.md").write_text("needle-g\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMDECK_PROVIDER", "none")
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def call(command: str, *arguments: str) -> int:
        scope = ("--workspace", str(tmp_path / "ws"), "--store", str(tmp_path / "disk/index.sqlite"))
        return run([command, *arguments, *scope])

    return call


def test_files_that_could_be_read_only_in_part_are_named(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ws/memory/bad.md").write_bytes(b"W\xfcrkner needle-w\n")
    (tmp_path / "ws/memory/bin.md").write_bytes(bytes(range(256)) * 8)
    assert index("index") == 0
    err = capsys.readouterr().err
    assert "read in part: memory/bad.md: " in err
    assert "skipped: memory/bin.md: not decodable" in err

    assert index("index", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in answer["partial"]] == ["memory/bad.md"]
    assert [one["path"] for one in answer["skipped"]] == ["memory/bin.md"]
    assert index("status", "--json") == 0
    assert json.loads(capsys.readouterr().out)["health"]["state"] == "degraded"


AS_NOBODY = """
import os, sys
from tui.cli.root import run
run(["index", "--workspace", sys.argv[1] + "/first", "--store", sys.argv[1] + "/first.sqlite"])
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
sys.exit(run(["index", "--workspace", sys.argv[1] + "/ws", "--store", sys.argv[1] + "/own/i.sqlite"]))
"""
"""Indexes once with all rights, so that everything is loaded, and then as a user who may not read everything."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (folder, folder / "own"):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_folder_that_may_not_be_read_is_named(open_folder: Path) -> None:
    for name in ("first", "ws"):
        (open_folder / name / "memory/locked").mkdir(parents=True)
        (open_folder / name / "memory/a.md").write_text("needle\n")
        (open_folder / name / "memory/locked/b.md").write_text("hidden\n")
    (open_folder / "ws/memory/locked").chmod(0o700)
    environ = {**os.environ, "HOME": str(open_folder / "own"), "MEMDECK_PROVIDER": "none"}
    ended = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(open_folder), str(NOBODY)],
        env=environ,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "1 file indexed" in ended.stdout.split("\n")[2]
    assert "memory/locked" in ended.stderr


def test_an_index_that_cannot_be_written_is_refused_with_advice(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "tmpfs"):
        assert index("index") == 0
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        (tmp_path / "ws/memory/new.md").write_text("needle-n\n")
        capsys.readouterr()

        assert index("index") == 2
        err = capsys.readouterr().err
        assert "cannot be written: Read-only file system" in err
        assert "--store" in err
        assert index("search", "needle-g") == 0


def test_transcripts_with_unknown_records_are_named_and_degrade_nothing(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    records = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/src"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "needle-t"}},
        {"type": "hologram", "id": "b", "parentId": "a"},
    ]
    (folder / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records) + "{broken\n")
    monkeypatch.setenv("MEMDECK_SESSIONS_AGENTS", "openclaw")
    assert index("index") == 0
    err = capsys.readouterr().err
    assert "read in part: sessions/openclaw/s.jsonl: 1 line is no record (line 4)" in err
    assert "hologram" in err

    assert index("status", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert status["health"]["reasons"] == ["keyword search only: the provider is none"]
    assert [one["path"] for one in status["custom"]["warnings"]] == ["sessions/openclaw/s.jsonl"]
