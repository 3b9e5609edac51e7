"""What becomes of a transcript's text when the transcript is gone: it leaves, or is kept and marked so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, SearchRequest, get_json, open_memory, search_json, status_json
from core.store.database import Database
from core.sync.growth import StoredSessions
from core.sync.session_deltas import added_to
from tui.cli.root import run

PATH = "sessions/openclaw/s-1.jsonl"
LONG = "The integral winds up while the kiln heats, so the ramp has to be slower. " * 40


def transcript(name: str, *said: tuple[str, str]) -> str:
    head = {"type": "session", "version": 3, "id": name, "timestamp": "2026-03-01T10:00:00Z", "cwd": "/src/kiln"}
    records = [head] + [
        {"type": "message", "id": f"{name}-{number}", "parentId": f"{name}-{number - 1}" if number else None,
         "timestamp": f"2026-03-01T10:00:{number:02}Z", "message": {"role": role, "content": text}}
        for number, (role, text) in enumerate(said)
    ]  # fmt: skip
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home/.openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text(
        transcript("s-1", ("user", "why does the kiln overshoot?"), ("assistant", LONG), ("user", "zebra thanks"))
    )
    (folder / "s-2.jsonl").write_text(transcript("s-2", ("user", "another talk about glazes")))
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws/memory/kiln.md").write_text("The shed.\n")
    return folder


Make = Callable[..., Memory]


@pytest.fixture
def opened(folder: Path, tmp_path: Path) -> Iterator[Make]:
    memories: list[Memory] = []

    def make(*, keep: bool = True, **flags: object) -> Memory:
        if memories:
            memories[-1].close()
        memories.append(
            open_memory(
                workspace=tmp_path / "ws",
                store=tmp_path / "index.sqlite",
                environ={},
                home=tmp_path / "home",
                flags={
                    "provider": "none",
                    "sessions.agents": ["openclaw"],
                    "sessions.keep_deleted": keep,
                    **flags,
                },
            )
        )
        memories[-1].sync()
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


def found(memory: Memory, query: str) -> list[str]:
    return [hit.path for hit in memory.search(SearchRequest(query, mode="keyword")).hits]


def test_by_default_the_text_goes_with_the_transcript(opened: Make, folder: Path) -> None:
    memory = opened(keep=False)
    (folder / "s-1.jsonl").unlink()
    report = memory.sync()
    assert (report.removed, report.sources_gone) == (1, 0)
    assert found(memory, "zebra") == []
    assert memory.get(PATH).status == "missing"


def test_kept_text_is_found_and_marked_everywhere(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    report = memory.sync()
    assert (report.removed, report.sources_gone) == (0, 1)

    result = memory.search(SearchRequest("zebra", mode="keyword"))
    assert [(hit.path, hit.line, hit.source_gone) for hit in result.hits] == [(PATH, 4, True)]
    assert [hit.get("sourceGone") for hit in search_json(memory, result)["results"]] == [True]
    assert {one.path: one.is_gone for one in memory.sessions()} == {PATH: True, "sessions/openclaw/s-2.jsonl": False}
    assert [one.path for one in memory.documents() if one.source_gone] == [PATH]
    counts = status_json(memory.status())["sourceCounts"]
    assert isinstance(counts, list)
    assert [count.get("sourcesGone") for count in counts] == [None, 1]


def test_kept_text_is_read_as_before(opened: Make, folder: Path) -> None:
    memory = opened()
    before = [memory.get(PATH), memory.get(PATH, 3, 1)]
    assert [result.source_gone for result in before] == [False, False]
    with memory.lines(PATH) as lines:
        shown = [lines.line(number) for number in range(1, lines.line_count + 1)]
    (folder / "s-1.jsonl").unlink()
    memory.sync()

    after = [memory.get(PATH), memory.get(PATH, 3, 1)]
    assert [result.source_gone for result in after] == [True, True]
    assert [result.text for result in after] == [result.text for result in before]
    assert get_json(after[0])["sourceGone"] is True
    with memory.lines(PATH) as lines:
        assert [lines.line(number) for number in range(1, lines.line_count + 1)] == shown


def test_kept_text_is_shown_by_its_messages(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    view = memory.session(PATH)
    said = [(one.role, one.line_start) for one in view.messages()]
    assert said == [("user", 2), ("assistant", 3), ("user", 4)]
    assert view.whole(1) == LONG.strip()
    assert view.session.cwd == "/src/kiln"
    with pytest.raises(FileNotFoundError, match="only what was said is kept"):
        view.raw(3)


def test_text_is_read_before_a_sync_has_missed_the_transcript(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    assert memory.get(PATH, 4, 1).text == "User: zebra thanks"


def test_the_mark_goes_when_the_transcript_returns(opened: Make, folder: Path, tmp_path: Path) -> None:
    memory = opened()
    shutil.move(folder / "s-1.jsonl", tmp_path / "away.jsonl")
    memory.sync()
    assert memory.sync().sources_gone == 0
    assert memory.changed_files() == 0

    shutil.move(tmp_path / "away.jsonl", folder / "s-1.jsonl")
    assert memory.changed_files() == 1
    memory.sync()
    assert not any(one.is_gone for one in memory.sessions())
    assert memory.get(PATH).source_gone is False


def test_a_transcript_that_returns_with_more_is_read_whole(opened: Make, folder: Path) -> None:
    memory = opened()
    text = (folder / "s-1.jsonl").read_text()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    more = {"type": "message", "id": "x", "parentId": "s-1-2", "message": {"role": "user", "content": "quagga"}}
    (folder / "s-1.jsonl").write_text(text + json.dumps(more) + "\n")
    memory.sync()
    assert found(memory, "quagga") == found(memory, "zebra") == [PATH]
    assert not any(one.is_gone for one in memory.sessions())


def test_a_transcript_that_returns_waits_for_no_threshold(opened: Make, folder: Path) -> None:
    memory = opened()
    text = (folder / "s-1.jsonl").read_text()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    (folder / "s-1.jsonl").write_text(text)
    index = StoredSessions(memory.store_path)
    assert added_to(str(folder / "s-1.jsonl"), index, enough_bytes=1).at_once
    index.close()


def test_kept_text_leaves_when_it_is_no_longer_to_be_kept(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    memory = opened(keep=False)
    assert found(memory, "zebra") == []
    assert [one.path for one in memory.sessions()] == ["sessions/openclaw/s-2.jsonl"]


def test_a_vanished_tree_marks_nothing(opened: Make, folder: Path, tmp_path: Path) -> None:
    memory = opened()
    shutil.move(folder, tmp_path / "away")
    report = memory.sync()
    assert (report.removed, report.sources_gone) == (0, 0)
    assert not any(one.is_gone for one in memory.sessions())
    assert "kept as they were" in (report.warning or "")


def test_forgetting_takes_kept_text_too(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    memory.forget(PATH)
    assert found(memory, "zebra") == []
    assert memory.get(PATH).status == "missing"
    memory.close()
    left = b"".join(path.read_bytes() for path in memory.store_path.parent.glob("index.sqlite*"))
    assert b"zebra" not in left


def test_kept_text_follows_the_settings(opened: Make, folder: Path) -> None:
    memory = opened()
    text = memory.get(PATH).text
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    before = next(one.chunks for one in memory.sessions() if one.is_gone)

    memory = opened(**{"sessions.redact_patterns": ["zebra"], "sessions.chunking.tokens": 60})
    assert found(memory, "zebra") == []
    assert memory.get(PATH).text == text.replace("zebra", "***")
    assert next(one.chunks for one in memory.sessions() if one.is_gone) > before
    assert memory.changed_files() == 0
    memory.close()
    with Database.open(memory.store_path, read_only=True) as database:
        assert database.count("SELECT count(*) FROM chunks WHERE text LIKE '%zebra%'") == 0


def test_a_renamed_transcript_is_one_document(opened: Make, folder: Path) -> None:
    memory = opened()
    (folder / "s-1.jsonl").rename(folder / "s-1.jsonl.deleted.2026-03-02T00-00-00Z")
    memory.sync()
    assert not any(one.is_gone for one in memory.sessions())
    assert len(memory.sessions()) == 2


def test_the_commands_show_the_mark(
    opened: Make, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = opened()
    (folder / "s-1.jsonl").unlink()
    memory.sync()
    memory.close()
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name))
    monkeypatch.setenv("MEMDECK_PROVIDER", "none")
    monkeypatch.setenv("MEMDECK_SESSIONS_AGENTS", "openclaw")
    monkeypatch.setenv("MEMDECK_SESSIONS_KEEP_DELETED", "true")
    scope = ["--workspace", str(tmp_path / "ws"), "--store", str(tmp_path / "index.sqlite")]

    assert run(["search", "zebra", *scope]) == 0
    assert "source gone" in capsys.readouterr().out
    assert run(["sessions", *scope]) == 0
    assert "(source gone)" in capsys.readouterr().out
    assert run(["status", *scope]) == 0
    assert "1 of them kept though the source is gone" in capsys.readouterr().out
    assert run(["get", PATH, *scope]) == 0
    assert "zebra thanks" in capsys.readouterr().out
