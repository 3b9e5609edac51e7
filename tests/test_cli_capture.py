"""The commands that write and follow: note, flush, context, watch, on a real workspace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from core.errors import StoreReadOnly
from tui.__main__ import main

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "ws/memory").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMDECK_PROVIDER", "none")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> int:
        return main([*arguments, "--workspace", str(tmp_path / "ws")])

    return call


def today() -> str:
    return datetime.now().astimezone().date().isoformat()


def test_a_note_is_written_to_today_and_found(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("note", "zebra", "crossing") == 0
    assert capsys.readouterr().out == f"memory/{today()}.md:3\n"
    assert (tmp_path / f"ws/memory/{today()}.md").read_text().endswith("zebra crossing\n")
    assert run("search", "zebra", "--json") == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["line"] == 3


def test_a_note_that_cannot_be_indexed_is_written_and_done(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreReadOnly("the index cannot be written")

    monkeypatch.setattr("core.memory.Memory.sync", refuse)
    assert run("note", "zebra") == 0
    answer = capsys.readouterr()
    assert answer.out == f"memory/{today()}.md:3\n"
    assert "not indexed yet: the index cannot be written" in answer.err


def test_an_empty_note_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("note", " ") == 2
    assert "empty" in capsys.readouterr().err


def test_a_flush_is_due_once_in_a_cycle(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("flush", "--due", "--tokens", "180000", "--session-key", "a", "--cycle", "2", "--json")
    assert run(*asked) == 0
    assert run("flush", "what matters", "--session-key", "a", "--cycle", "2") == 0
    capsys.readouterr()
    assert run(*asked) == 1
    assert json.loads(capsys.readouterr().out)["due"] is False


def test_context_prints_what_is_there_with_its_source(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("context") == 1
    (tmp_path / "ws/MEMORY.md").write_text("facts\n")
    run("note", "news")
    capsys.readouterr()
    assert run("context") == 0
    out = capsys.readouterr().out
    assert "Source: MEMORY.md#L1" in out
    assert f"Source: memory/{today()}.md#L1-L3" in out


def test_the_guide_tells_how_to_use_the_tools(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("context", "--guide") == 0
    text = capsys.readouterr().out
    for words in ("When to search", "memory_search first, then memory_get", "Weak results", "Where to write"):
        assert words in text
    assert "memdeck search --json QUERY" in text

    assert run("context", "--guide", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["guide"] == text
    assert [tool["name"] for tool in answer["tools"]] == ["memory_search", "memory_get"]


def test_without_tools_the_guide_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMDECK_ENABLED", "false")
    assert run("context", "--guide", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["enabled"], answer["tools"]) == (False, [])
    assert "enabled = false" in answer["guide"]


def test_watch_prints_each_step_as_json_until_it_is_told_to_end(tmp_path: Path) -> None:
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws/MEMORY.md").write_text("facts\n")
    environ = {
        **os.environ,
        "HOME": str(tmp_path),
        "MEMDECK_PROVIDER": "none",
        "MEMDECK_SYNC_WATCH_DEBOUNCE_MS": "50",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "watch", "--json", "--workspace", str(tmp_path / "ws")],
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=Path(__file__).parent.parent,
    )
    try:
        assert process.stdout is not None
        kinds = []
        while "sync_finished" not in kinds:
            kinds.append(json.loads(process.stdout.readline())["event"])
        (tmp_path / "ws/memory/new.md").write_text("zebra\n")
        end = time.monotonic() + 20
        paths: list[str] = []
        while "memory/new.md" not in paths:
            assert time.monotonic() < end
            event = json.loads(process.stdout.readline())
            paths += [event["path"]] if event["event"] == "file_indexed" else []
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def test_forget_says_what_it_took_out_and_takes_the_path_that_a_search_prints(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ws/memory/q.md"
    file.write_text("zebra crossing\n")
    run("index")
    capsys.readouterr()
    assert run("search", "zebra") == 0
    printed = capsys.readouterr().out.split("  ")[0]
    assert printed == f"{file}:1"
    assert run("forget", "--yes", printed) == 0
    assert capsys.readouterr().out == "1 document forgotten, 1 chunk taken out\n"
    assert run("search", "zebra") == 1
    assert run("get", "memory/q.md") == 1
    assert "it was forgotten; memdeck forget --undo memory/q.md" in capsys.readouterr().err
    assert run("forget", "--yes", printed) == 0
    assert "nothing was left to take out" in capsys.readouterr().out
    assert run("forget", "--undo", printed) == 0


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (("--yes", "memory/none.md"), 1, "it is not in the index"),
    (("--undo", "memory/q.md"), 1, "it was not forgotten"),
    (("--yes", "memory"), 2, "it is a folder"),
])  # fmt: skip
def test_forget_refuses_what_names_no_document(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "ws/memory/q.md").write_text("zebra crossing\n")
    run("index")
    assert run("forget", *arguments) == code
    assert words in capsys.readouterr().err
