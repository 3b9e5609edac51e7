"""What a setting no longer names leaves the index at the next sync; unlike settings elsewhere change nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, SearchRequest, load_settings, open_memory, trust_workspace_file

OPENCLAW, PI = "sessions/openclaw/o-1.jsonl", "sessions/pi/p-1.jsonl"
NOTE, EXTRA = "memory/kiln.md", "extra/rules.md"
BOTH = ["openclaw", "pi"]


def talk(file: Path, name: str, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {"type": "session", "version": 3, "id": name, "timestamp": "2026-03-01T10:00:00Z", "cwd": "/src"},
        {"type": "message", "id": "a1", "parentId": None, "message": {"role": "user", "content": text}},
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    talk(tmp_path / "home/.openclaw/agents/main/sessions/o-1.jsonl", "o-1", "kiln of openclaw")
    talk(tmp_path / "home/.pi/agent/sessions/--src--/2026-03-01T10-00-00-000Z_p-1.jsonl", "p-1", "kiln of pi")
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws" / NOTE).write_text("kiln of the shed\n")
    (tmp_path / "extra").mkdir()
    (tmp_path / EXTRA).write_text("kiln rules\n")
    return tmp_path


Make = Callable[..., Memory]


@pytest.fixture
def opened(root: Path) -> Iterator[Make]:
    memories: list[Memory] = []

    def make(*, agents: list[str] = BOTH, extra: bool = True, **flags: object) -> Memory:
        memory = open_memory(
            workspace=root / "ws",
            store=root / "index.sqlite",
            environ={},
            home=root / "home",
            flags={
                "provider": "none",
                "extra_paths": [str(root / "extra")] if extra else [],
                "sessions.agents": agents,
                **flags,
            },
        )
        memories.append(memory)
        return memory

    yield make
    for memory in memories:
        memory.close()


def paths(memory: Memory, root: Path) -> list[str]:
    return sorted(document.path.replace(f"{root}/", "") for document in memory.documents())


def first(opened: Make, **flags: object) -> None:
    memory = opened(**flags)
    memory.sync()
    memory.close()


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ({"agents": ["openclaw"]}, [EXTRA, NOTE, OPENCLAW]),
        ({"agents": []}, [EXTRA, NOTE]),
        ({"sources": ["memory"]}, [EXTRA, NOTE]),
        ({"extra": False}, [NOTE, OPENCLAW, PI]),
        ({"sources": ["sessions"]}, [OPENCLAW, PI]),
    ],
)
def test_what_the_settings_no_longer_name_leaves(
    opened: Make, root: Path, flags: dict[str, object], left: list[str]
) -> None:
    first(opened)
    memory = opened(**flags)
    report = memory.sync()
    assert paths(memory, root) == left
    assert report.removed == 4 - len(left)
    assert memory.status().custom["indexIdentity"] == {"status": "matches"}
    found = {hit.path.replace(f"{root}/", "") for hit in memory.search(SearchRequest("kiln")).hits}
    assert found == set(left)


def test_an_agent_that_is_no_longer_named_leaves_even_where_text_is_kept(opened: Make, root: Path) -> None:
    first(opened, **{"sessions.keep_deleted": True})
    (root / "home/.openclaw/agents/main/sessions/o-1.jsonl").rename(root / "away")
    (root / "home/.openclaw/agents/main/sessions/x.jsonl").write_text("{}\n")
    memory = opened(**{"sessions.keep_deleted": True})
    assert memory.sync().sources_gone == 1
    memory.close()
    memory = opened(agents=["pi"], **{"sessions.keep_deleted": True})
    memory.sync()
    assert paths(memory, root) == [EXTRA, NOTE, PI]


def test_a_sync_of_one_file_leaves_the_rest_alone(opened: Make, root: Path) -> None:
    first(opened)
    memory = opened(sources=["memory"], extra=False)
    memory.sync(paths=(root / "ws" / NOTE,))
    assert paths(memory, root) == [EXTRA, NOTE, OPENCLAW, PI]
    status = memory.status()
    assert status.health == "degraded"
    assert "sources differs: built with memory, sessions, wanted memory" in status.reasons


def test_another_choice_of_agents_is_named(opened: Make) -> None:
    first(opened)
    memory = opened(agents=["pi"])
    reason = next(reason for reason in memory.status().reasons if "scope" in reason)
    assert reason.endswith("sessions of pi")
    assert "sessions of openclaw, pi" in reason


WRITER = """
import json, sys, time
from pathlib import Path
from core import open_memory
root = Path(sys.argv[1])
memory = open_memory(workspace=root / "ws", store=root / "index.sqlite", environ={}, home=root / "home",
                     flags={"provider": "none", **json.loads(sys.argv[2])})
memory.sync()
print("in step", flush=True)
sys.stdin.readline()
memory.close()
"""


def test_a_follower_with_unlike_settings_changes_nothing(opened: Make, root: Path) -> None:
    flags = {"sessions.agents": BOTH, "extra_paths": [str(root / "extra")]}
    command = [sys.executable, "-c", WRITER, str(root), json.dumps(flags)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "in step\n"
        memory = opened(sources=["memory"], extra=False)
        ids = [(document.path, document.indexed_ms) for document in memory.documents()]

        for _ in range(3):
            memory.sync()
        (root / "ws/memory/new.md").write_text("quagga\n")
        memory.sync()

        assert [row for row in ((one.path, one.indexed_ms) for one in memory.documents()) if row in ids] == ids
        assert [hit.path for hit in memory.search(SearchRequest("quagga")).hits] == ["memory/new.md"]
        status = memory.status()
        assert "sources differs: built with memory, sessions, wanted memory" in status.reasons
        remedies = [finding.remedy for finding in status.findings if finding.check == "identity"]
        assert remedies == [
            f"process {writer.pid} writes the index and goes by settings of its own: end it, or give both the same"
        ]
        writer.stdin.close()
        writer.wait(timeout=30)

    deadline = time.monotonic() + 60
    while paths(memory, root) != [NOTE, "memory/new.md"]:  # alone now: the settings of whoever writes count
        assert time.monotonic() < deadline
        memory.sync()


def test_a_trusted_file_that_changed_takes_no_text_away(root: Path) -> None:
    file = root / "ws/.memdeck.toml"
    file.write_text('[sessions]\nagents = ["openclaw", "pi"]\nkeep_deleted = true\n')
    trust_workspace_file(file, environ={}, home=root / "home")

    def loaded() -> Memory:
        return open_memory(
            workspace=root / "ws",
            store=root / "index.sqlite",
            environ={},
            home=root / "home",
            settings=load_settings(
                workspace=root / "ws", agent="main", environ={}, home=root / "home", flags={"provider": "none"}
            ),
        )

    memory = loaded()
    memory.sync()
    memory.close()
    file.write_text(file.read_text() + "include_tools = true\n")
    memory = loaded()
    report = memory.sync()
    assert paths(memory, root) == [NOTE, OPENCLAW, PI]
    assert "held back" in (report.warning or "")
    assert memory.changed_files() == 0
    memory.close()

    trust_workspace_file(file, environ={}, home=root / "home")
    memory = loaded()
    assert memory.sync().warning is None
    assert paths(memory, root) == [NOTE, OPENCLAW, PI]
    memory.close()
