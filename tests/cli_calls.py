"""Calls of the command line in this process, for its tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tui.cli.root import run


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Deck = Callable[..., Ended]


def write_notes(folder: Path) -> None:
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Facts\n\nThe boat is called Petite Ourse.\n")
    (folder / "memory" / "2026-02-03.md").write_text(
        "# Tuesday\n\n## Gateway\n\nThe lease was refused: ERR_LEASE_EXPIRED, skew 41s.\nNever ship --no-wal.\n"
    )


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `folder`/workspace the current folder and `folder` the home; no embedding provider."""
    monkeypatch.chdir(folder / "workspace")
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    monkeypatch.setenv("MEMDECK_PROVIDER", "none")


def caller(capsys: pytest.CaptureFixture[str]) -> Deck:
    def call(*arguments: str) -> Ended:
        code = run(arguments)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call
