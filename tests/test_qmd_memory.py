"""A memory whose backend is qmd: search, status, doctor, notes, forgetting and sessions, as the tools see them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Memory, open_memory, status_json
from core.agent_tools import memory_get, memory_search
from tests.qmd_bench import answer, calls, fake_qmd, needs_qmd, real_qmd, write_files
from tests.waiting import wait_for

NOTES = {"MEMORY.md": "# Memory\n\nPostgres 16 for billing\n", "memory/a.md": "alpha lemons\n"}
Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens a memory over NOTES with the given qmd, without vectors."""
    made: list[Memory] = []

    def make(command: str, *, resident: bool = False, **flags: object) -> Memory:
        write_files(tmp_path / "ws", NOTES)
        memory = open_memory(
            workspace=tmp_path / "ws",
            store=tmp_path / "index.sqlite",
            environ={"PATH": os.environ.get("PATH", os.defpath)},
            home=tmp_path / "home",
            flags={
                "provider": "none",
                "backend": "qmd",
                "qmd.command": command,
                "qmd.limits.timeout_ms": 60_000,
                **flags,
            },
            resident=resident,
        )
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close()


def state(memory: Memory) -> dict[str, Any]:
    return dict(status_json(memory.status()))


def test_without_the_program_the_built_in_index_answers_and_all_say_so(opened: Open) -> None:
    memory = opened("no-such-qmd")
    report = memory.sync()

    found = memory_search(memory, "lemons")
    status = state(memory)
    findings = {finding.check: finding for finding in memory.doctor()}

    assert "no-such-qmd is not there" in (report.warning or "")
    assert [hit["path"] for hit in found["results"]] == ["memory/a.md"]
    assert found["fallback"]["from"] == "qmd"
    assert (status["backend"], status["fallback"]["from"]) == ("builtin", "qmd")
    assert status["health"]["state"] == "degraded"
    assert any("instead of qmd" in reason for reason in status["health"]["reasons"])
    assert not findings["qmd"].ok
    assert "npm install" in findings["qmd"].remedy


def test_what_qmd_finds_can_be_read(opened: Open, tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"team/plan.md": "budget\n"})
    rows = answer(("plan.md", 1, "budget"), collection="team-main")
    memory = opened(
        fake_qmd(tmp_path, f"cat <<'TEXT'\n{rows}\nTEXT"), **{"qmd.paths": [{"path": "team", "name": "team"}]}
    )
    memory.sync()

    (hit,) = memory_search(memory, "budget")["results"]

    assert hit["path"] == "team/plan.md"
    assert memory_get(memory, hit["path"])["text"] == "budget"


def test_a_note_is_written_without_waiting_for_qmd(opened: Open, tmp_path: Path) -> None:
    memory = opened(fake_qmd(tmp_path, "echo '[]'", update="sleep 100"))

    memory.note("remember the quokka")

    assert "update" not in calls(tmp_path)


@needs_qmd
def test_a_memory_is_searched_by_qmd_and_its_status_says_so(opened: Open) -> None:
    memory = opened(real_qmd() or "")
    memory.sync()

    found = memory_search(memory, "postgres billing")
    status = state(memory)

    assert [hit["citation"] for hit in found["results"]] == ["MEMORY.md#L1-L3"]
    assert (found["provider"], found["model"], found["mode"]) == ("qmd", "search", "keyword")
    assert "fallback" not in found
    assert status["backend"] == "qmd"
    assert "fallback" not in status
    assert status["custom"]["qmd"]["documents"] == 2
    assert not any("qmd" in reason for reason in status["health"]["reasons"])
    assert all(finding.ok for finding in memory.doctor() if finding.check.startswith("qmd"))


@needs_qmd
def test_forgetting_reaches_qmd_too(opened: Open, tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/secret.md": "the word is xylophone99\n"})
    memory = opened(real_qmd() or "")
    memory.sync()

    memory.forget("memory/secret.md")

    assert memory_search(memory, "xylophone99")["results"] == []
    kept = (file for file in tmp_path.glob("index*/**/*") if file.is_file())
    assert b"xylophone99" not in b"".join(file.read_bytes() for file in kept)


@needs_qmd
def test_a_saved_file_is_found_by_qmd_in_a_memory_that_was_started(opened: Open, tmp_path: Path) -> None:
    memory = opened(real_qmd() or "", resident=True, **{"qmd.update.debounce_ms": 10, "sync.watch_debounce_ms": 50})
    memory.start()
    wait_for(lambda: memory_search(memory, "lemons").get("provider") == "qmd")

    write_files(tmp_path / "ws", {"memory/new.md": "quokkas are friendly\n"})

    def is_found() -> bool:
        found = memory_search(memory, "quokkas")
        return found["provider"] == "qmd" and [hit["path"] for hit in found["results"]] == ["memory/new.md"]

    wait_for(is_found)


@needs_qmd
def test_a_transcript_is_exported_masked_and_found_by_its_own_lines(opened: Open, tmp_path: Path) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    folder = tmp_path / "home/.pi/agent/sessions/--ws--"
    folder.mkdir(parents=True)
    records: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "0199", "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/ws"},
        said("user", f"where do the mangosteens grow, my key is {key}"),
        said("assistant", "in the greenhouse"),
    ]
    (folder / "2026-11-01T10-00-00-000Z_0199.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    memory = opened(real_qmd() or "", **{"sessions.agents": ["pi"], "qmd.sessions.enabled": True})
    memory.sync()

    (hit,) = memory_search(memory, "mangosteens grow")["results"]
    read = memory_get(memory, hit["path"], hit["startLine"], 1)

    assert (hit["source"], hit["line"]) == ("sessions", 2)
    assert "mangosteens" in read["text"]
    exported = b"".join(file.read_bytes() for file in (tmp_path / "index.qmd").rglob("*") if file.is_file())
    assert b"mangosteens" in exported
    assert key.encode() not in exported


def said(role: str, text: str) -> dict[str, object]:
    return {
        "type": "message",
        "id": role,
        "parentId": None,
        "timestamp": "2026-11-01T10:00:01.000Z",
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    }
