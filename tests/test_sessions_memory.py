"""Transcripts in a memory as people open it: found and cited by physical line, masked, read only when asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, NotAllowed, SearchRequest, open_memory
from core.sync.session_intake import SessionIntake
from core.types import Document, ScannedFile

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
LINES = [
    {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/src/kiln"},
    {"type": "message", "id": "a1", "parentId": None, "timestamp": "2026-03-01T10:00:01Z",
     "message": {"role": "user", "content": f"why does the kiln overshoot? my key is {SECRET}"}},
    {"type": "message", "id": "a2", "parentId": "a1", "timestamp": "2026-03-01T10:00:02Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Lower ki.\nThe integral winds up."}]}},
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home/.openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws/memory/kiln.md").write_text("The kiln stands in the shed.\n")
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(**flags: object) -> Memory:
        memories.append(
            open_memory(
                workspace=tmp_path / "ws",
                store=tmp_path / "index.sqlite",
                environ={},
                home=home,
                flags={"provider": "none", **flags},
            )
        )
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


def test_without_a_yes_no_transcript_is_read(opened: Callable[..., Memory]) -> None:
    memory = opened()
    memory.sync()
    assert memory.sessions() == ()
    assert [hit.source for hit in memory.search(SearchRequest("kiln")).hits] == ["memory"]
    with pytest.raises(NotAllowed):
        memory.session("sessions/openclaw/s-1.jsonl")


def test_a_message_is_found_at_its_physical_line(opened: Callable[..., Memory]) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    (hit,) = memory.search(SearchRequest("source:sessions integral")).hits
    assert (hit.path, hit.line) == ("sessions/openclaw/s-1.jsonl", 3)
    assert memory.get(hit.path, 3, 1).text.strip() == "Assistant: Lower ki. The integral winds up."
    with memory.lines(hit.path) as lines:
        assert lines.line(3) == "Assistant: Lower ki. The integral winds up."


def test_secrets_are_nowhere(opened: Callable[..., Memory], tmp_path: Path) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    assert SECRET not in memory.get("sessions/openclaw/s-1.jsonl").text
    assert SECRET not in memory.session("sessions/openclaw/s-1.jsonl").raw(2)
    memory.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("index.sqlite*"))
    assert SECRET.encode() not in stored
    assert SECRET.lower().encode() not in stored.lower()


def test_what_is_appended_is_found_and_the_rest_keeps_its_rows(opened: Callable[..., Memory], home: Path) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    more = {"type": "message", "id": "a3", "parentId": "a2", "timestamp": "2026-03-01T10:01:00Z",
            "message": {"role": "user", "content": "zebra crossing"}}  # fmt: skip
    with (home / ".openclaw/agents/main/sessions/s-1.jsonl").open("a") as file:
        file.write(json.dumps(more) + "\n")
    assert memory.sync().indexed == 1
    (hit,) = memory.search(SearchRequest("zebra")).hits
    assert hit.line == 4


def test_a_forced_sync_reads_transcripts_from_the_start(
    opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    fresh: list[bool] = []
    read = SessionIntake.read

    def noted(self: SessionIntake, file: ScannedFile, again: bool = False) -> Document:
        fresh.append(again)
        return read(self, file, again)

    monkeypatch.setattr(SessionIntake, "read", noted)
    memory.sync("force", force=True)
    assert fresh == [True]


def test_a_session_tells_its_facts(opened: Callable[..., Memory]) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    (session,) = memory.sessions()
    assert (session.dialect, session.cwd, session.messages) == ("openclaw", "/src/kiln", 2)


def test_a_forgotten_session_does_not_come_back(opened: Callable[..., Memory]) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    memory.forget("sessions/openclaw/s-1.jsonl")
    memory.sync()
    assert memory.sessions() == ()


def test_a_forgotten_session_is_not_read_until_it_is_remembered(opened: Callable[..., Memory], home: Path) -> None:
    memory = opened(**{"sessions.agents": ["openclaw"]})
    memory.sync()
    file = str(home / ".openclaw/agents/main/sessions/s-1.jsonl")
    assert memory.get(file).text == memory.get("sessions/openclaw/s-1.jsonl").text
    assert memory.forget(f"{file}:3").removed == 1
    for path in (file, "sessions/openclaw/s-1.jsonl"):
        answer = memory.get(path)
        assert (answer.status, answer.text) == ("missing", "")
        assert "--undo sessions/openclaw/s-1.jsonl" in (answer.error or "")
    with pytest.raises(FileNotFoundError):
        memory.session("sessions/openclaw/s-1.jsonl")
    memory.remember(file)
    memory.sync()
    assert memory.get(file, 3, 1).text.strip() == "Assistant: Lower ki. The integral winds up."


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_folder_of_another_agent_is_opened_without_a_yes(home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    code = (
        "import sys; from pathlib import Path; from core import open_memory;"
        "m = open_memory(workspace=Path(sys.argv[1]), store=Path(sys.argv[2]), environ={}, home=Path(sys.argv[3]),"
        " flags={'provider': 'none'}); m.sync(); m.status(); m.close()"
    )
    command = ["strace", "-f", "-e", "trace=openat", "-o", str(trace), sys.executable, "-c", code]
    places = [str(tmp_path / "ws"), str(tmp_path / "i.sqlite"), str(home)]
    subprocess.run([*command, *places], check=True, cwd=Path(__file__).parent.parent)
    assert "agents/main/sessions" not in trace.read_text(errors="replace")
