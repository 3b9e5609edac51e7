"""The intake of transcripts: documents, details, what is unchanged, what is uncertain, what is watched."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from core.errors import SyncCancelled
from core.sync.growth import details_of
from core.sync.plan import plan_sync
from tests.session_bench import SAMPLES, Bench


@pytest.fixture
def bench_of(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*samples: str) -> Bench:
        for sample in samples:
            shutil.copytree(SAMPLES / sample, tmp_path, dirs_exist_ok=True)
        made.append(Bench(tmp_path))
        return made[-1]

    yield make
    for bench in made:
        bench.database.close()


ALL = ("claude-code", "codex", "gemini", "openclaw-sqlite", "opencode", "opencode-legacy", "pi")
CLAUDE = "sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl"
PI = "sessions/pi/019a4c00-1111-7222-8333-444455556666.jsonl"


def test_samples_of_all_agents_become_documents(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(*ALL)
    bench.sync()

    assert bench.paths == [
        CLAUDE,
        "sessions/claude-code/agent-a1b2c3.jsonl",
        "sessions/codex/019a0001-2222-7333-8444-555566667777.jsonl",
        "sessions/codex/019a4c01-2222-7333-8444-555566667777.jsonl",
        "sessions/gemini/5d2f7c1a-9b3e-4c6d-8a10-2f4e6b8d0c1f.jsonl",
        "sessions/gemini/77aa88bb-1111-4222-8333-444455556666.jsonl",
        "sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl",
        "sessions/opencode/ses_4a1100000001Legacy.jsonl",
        "sessions/opencode/ses_5c2f01a7cffeKilnDemo0000001.jsonl",
        PI,
    ]


def test_chunk_knows_the_physical_lines_and_when_they_were_said(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of("pi")
    bench.sync()
    document = bench.documents.get_document("sessions", PI)
    assert document is not None

    (stored,) = bench.documents.chunks_of(document.id)

    assert stored.chunk.line_map == (3, 4, 7)
    assert (stored.chunk.start_line, stored.chunk.end_line) == (3, 7)
    assert stored.chunk.observed_ms == 1793697040000
    assert document.date_ms == 1793697000000
    assert document.lines == 8


def test_sessions_screen_has_what_it_shows(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of("claude-code")
    bench.sync()

    info = bench.info(CLAUDE)

    assert (info.title, info.dialect, info.cwd) == ("Kiln overshoot", "claude-code", "/home/ana/src/kiln")
    assert (info.started, info.ended, info.messages) == (1793697001000, 1793697040000, 2)
    assert (info.kind, info.model, info.size) == ("main", "claude-sonnet-4-5", 3682)
    assert info.resume_command == ("cd /home/ana/src/kiln && claude --resume 3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77")
    assert bench.info("sessions/claude-code/agent-a1b2c3.jsonl").parent == CLAUDE


def test_nothing_changed_reads_nothing(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(*ALL)
    bench.sync()
    scan = bench.intake().scan()
    rows = bench.documents.stat_keys("sessions")

    plan = plan_sync(scan, rows, builds={"sessions": bench.intake().build})

    assert plan.changed == ()
    assert plan.gone == ()


def test_tools_and_thinking_are_indexed_only_when_switched_on(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of("pi")
    bench.sync()
    assert "rg -n" not in "\n".join(bench.lines(PI))
    assert "integral term first" not in "\n".join(bench.lines(PI))

    bench.options = {"include_tools": True, "include_thinking": True}
    bench.sync()
    text = "\n".join(bench.lines(PI))

    assert 'Tool: bash command: rg -n "ki *=" pid.py' in text
    assert "Thinking: Look at the integral term first." in text
    assert "Summary: User asked about kiln overshoot" in text


def test_other_redaction_rebuilds_the_rows(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of("pi")
    bench.sync()
    bench.options = {"redact_patterns": ["overshoot"]}
    bench.sync()

    assert "Why does the kiln *** at 1060C?" in bench.lines(PI)[0]


def test_no_secret_reaches_the_index(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code")
    path = tmp_path / ".claude/projects/-home-ana-src-kiln/aaaa-0001.jsonl"
    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    records = [
        {"type": "user", "uuid": "u1", "cwd": "/w", "message": {"role": "user", "content": f"API_KEY={secret}"}},
        {"type": "custom-title", "customTitle": f"Use {secret}"},
        {"type": secret},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + f"{{{secret}\n")
    bench.sync()
    bench.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    assert bench.info("sessions/claude-code/aaaa-0001.jsonl").title == "Use sk-ant…6789"
    assert secret.encode() not in bench.index.read_bytes()


def test_broken_lines_and_unknown_records_show_as_a_warning(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("pi")
    path = next((tmp_path / ".pi").rglob("*.jsonl"))
    path.write_text(path.read_text() + '{"a":1}{"b":2}\n[1]\n{"type":"hologram","id":"h","parentId":"60718293"}\n')
    bench.sync()
    document = bench.documents.get_document("sessions", PI)
    assert document is not None

    assert document.warning == "2 lines are no record (line 9, 10); records of unknown types: hologram ×1"
    assert details_of(document.details)["unknown"] == {"hologram": 1}
    assert details_of(document.details)["bad_lines"] == {
        "count": 2,
        "first": [[9, "not JSON: Extra data"], [10, "not a JSON object but a list"]],
    }


# -- what went away


def test_deleted_transcript_leaves_the_index(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code")
    bench.sync()
    next((tmp_path / ".claude/projects").rglob("agent-a1b2c3.jsonl")).unlink()
    bench.sync()

    assert bench.paths == [CLAUDE]


@pytest.mark.parametrize("how", ["gone", "empty", "a file"])
def test_vanished_tree_is_never_taken_for_deletion(how: str, bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of(*ALL)
    bench.sync()
    before = bench.paths
    for top in (".claude/projects", ".codex/sessions", ".gemini/tmp", ".pi/agent/sessions", ".local/share/opencode"):
        shutil.rmtree(tmp_path / top)
        if how == "empty":
            (tmp_path / top).mkdir()
        elif how == "a file":
            (tmp_path / top).write_text("")
    shutil.rmtree(tmp_path / ".openclaw/agents/main/agent")
    job = bench.sync()

    assert bench.paths == before
    assert job.warnings


def test_store_that_cannot_be_read_keeps_its_documents(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("opencode", "openclaw-sqlite")
    bench.sync()
    before = bench.paths
    (tmp_path / ".local/share/opencode/opencode.db").write_bytes(b"junk" * 5000)
    (tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite").write_bytes(b"")
    bench.sync()

    assert bench.paths == before


def test_session_that_left_its_store_leaves_the_index(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("opencode")
    bench.sync()
    with sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db") as store:
        store.execute(
            "INSERT INTO session SELECT 'ses_other', project_id, NULL, 'x', directory, 'Other', version, NULL, 1, 1, "
            "NULL, NULL FROM session"
        )
        store.execute("DELETE FROM session WHERE id <> 'ses_other'")
    store.close()
    bench.sync()

    assert bench.paths == ["sessions/opencode/ses_other.jsonl"]


def test_agent_that_is_no_longer_named_leaves_the_index(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of("claude-code", "pi")
    bench.sync()
    bench.agents = ["pi"]
    bench.sync()

    assert bench.paths == [PI]


# -- changes


def test_live_file_that_becomes_an_archive_stays_the_same_document(
    bench_of: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = bench_of("openclaw-jsonl")
    bench.sync()
    live = tmp_path / ".openclaw/agents/main/sessions/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl"
    archive = live.with_name(f"{live.name}.reset.2026-11-04T08-00-00.000Z")
    ids = bench.database.numbers("SELECT id FROM chunks")
    live.rename(archive)
    bench.sync(live)

    assert bench.database.numbers("SELECT id FROM chunks") == ids
    document = bench.documents.get_document("sessions", f"sessions/openclaw/{live.name}")
    assert document is not None
    assert document.absolute == str(archive)


def test_targeted_sync_looks_at_the_given_transcript_alone(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code", "pi")
    bench.sync()
    for path in (*(tmp_path / ".claude").rglob("3f*.jsonl"), *(tmp_path / ".pi").rglob("*.jsonl")):
        with path.open("a") as file:
            file.write("\n")
            file.write(
                json.dumps({"type": "user", "uuid": "n", "message": {"role": "user", "content": "needle"}}) + "\n"
            )
    job = bench.sync(next((tmp_path / ".claude").rglob("3f*.jsonl")))

    assert job.counts.indexed == 1
    assert "needle" in bench.lines(CLAUDE)[-1]


def test_title_that_changes_beside_the_transcript_is_seen(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code")
    bench.sync()
    title = next((tmp_path / ".claude").rglob("custom-title.json"))
    title.write_text('{"customTitle": "Renamed"}')
    bench.sync(title)

    assert bench.info(CLAUDE).title == "Renamed"


def test_store_shows_only_the_session_that_changed(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("openclaw-sqlite")
    path = tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    event = json.dumps({"type": "message", "message": {"role": "user", "content": "needle"}})
    store = sqlite3.connect(path)
    store.execute("INSERT INTO transcript_events VALUES ('other', 0, ?, 1, NULL, 9, NULL)", (event,))
    store.commit()
    bench.sync()
    intake = bench.intake()
    before = {file.path: file.stat for file in intake.scan().files}
    store.execute("INSERT INTO transcript_events VALUES ('other', 1, ?, 1, NULL, 9, NULL)", (event,))
    store.commit()
    store.close()

    after = {file.path: file.stat for file in intake.scan().files}

    assert [path for path in after if after[path] != before[path]] == ["sessions/openclaw/other.jsonl"]


def test_fork_whose_origin_goes_takes_the_shared_messages_over(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code")
    origin = next((tmp_path / ".claude/projects").rglob("3f*.jsonl"))
    fork = origin.with_name("ffff-0002.jsonl")
    more = {"type": "user", "uuid": "f1", "message": {"role": "user", "content": "only in the fork"}}
    fork.write_text(origin.read_text() + json.dumps(more) + "\n")
    bench.sync()
    assert bench.lines("sessions/claude-code/ffff-0002.jsonl") == ["User: only in the fork"]

    origin.unlink()
    bench.sync()

    assert "overshoot" in bench.lines("sessions/claude-code/ffff-0002.jsonl")[0]


def test_scan_can_be_given_up(bench_of: Callable[..., Bench]) -> None:
    cancel = threading.Event()
    cancel.set()

    with pytest.raises(SyncCancelled):
        bench_of("pi").intake().scan(cancel)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_folder_without_permission_keeps_its_documents(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of("claude-code")
    bench.sync()
    before = bench.paths
    folder = tmp_path / ".claude/projects/-home-ana-src-kiln"
    folder.chmod(0)
    bench.sync()
    folder.chmod(0o700)

    assert bench.paths == before


def test_watched_are_the_places_of_the_named_agents(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of(*ALL)

    roots = {str(Path(root.path).relative_to(tmp_path)): root for root in bench.intake().watch_roots()}

    assert set(roots) == {
        ".openclaw/agents/main/sessions",
        ".openclaw/agents/main/agent",
        ".claude/projects",
        ".codex/sessions",
        ".pi/agent/sessions",
        ".gemini/tmp",
        ".local/share/opencode",
        ".local/share/opencode/storage/session",
    }
    agent = roots[".openclaw/agents/main/agent"]
    names = ("openclaw-agent.sqlite", "openclaw-agent.sqlite-wal", "openclaw-agent.sqlite-shm", "other")
    assert [agent.counts(name) for name in names] == [True, True, False, False]
    assert roots[".claude/projects"].counts("aaaa.jsonl")
    assert not roots[".claude/projects"].counts("notes.md")


def test_changes_are_told_apart_by_their_place(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    intake = bench_of("pi").intake()

    assert intake.owns(str(tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite-wal"))
    assert intake.owns(str(tmp_path / ".claude/projects/-w"))
    assert not intake.owns(str(tmp_path / "workspace/memory/a.md"))


def test_cold_archive_of_openclaw_is_known_by_the_session_in_it(bench_of: Callable[..., Bench], tmp_path: Path) -> None:
    bench = bench_of()
    cold = tmp_path / ".openclaw/agents/main/sessions/cold" / f"{'ab' * 32}.jsonl.zst"
    cold.parent.mkdir(parents=True)
    header = {"type": "session", "version": 4, "id": "cold-1", "cwd": "/w"}
    said = {"type": "message", "message": {"role": "user", "content": "from the cold"}}
    cold.write_bytes(
        zstandard.ZstdCompressor().compress("".join(json.dumps(one) + "\n" for one in (header, said)).encode())
    )
    bench.sync()

    assert bench.paths == ["sessions/openclaw/cold-1.jsonl"]
