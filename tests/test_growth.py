"""Transcripts that grow: what is read again, what keeps its rows, and when a sync is due."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.settings import settings_of
from core.settings.model import SessionSync
from core.sync.growth import (
    GROWTH,
    Growth,
    StoredSessions,
)
from core.sync.session_deltas import Added, SessionDeltas, added_to
from core.sync.session_intake import SessionDocument
from tests.growing import FILES, SAMPLES, Index, codex_record, tree_record, user


@pytest.fixture
def index_of(tmp_path: Path) -> Iterator[Callable[..., Index]]:
    made: list[Index] = []

    def make(agent: str, **sessions: object) -> Index:
        (tmp_path / FILES[agent]).parent.mkdir(parents=True, exist_ok=True)
        made.append(Index(tmp_path, agent, **sessions))
        return made[-1]

    yield make
    for index in made:
        index.close()


def long_talk(path: Path, turns: int = 40) -> None:
    path.write_text("".join(user(f"turn {number} " + "kiln ramp glaze " * 20, number) for number in range(turns)))


def test_appended_message_leaves_the_chunks_before_it_alone(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("claude-code")
    long_talk(tmp_path / FILES["claude-code"])
    index.sync()
    before = index.chunk_ids()

    with (tmp_path / FILES["claude-code"]).open("a") as file:
        file.write(user("needle appended", 99))
    index.sync()

    assert index.resumed == 1
    assert index.chunk_ids()[: len(before) - 1] == before[:-1]
    assert index.outcome.new <= 2
    assert "needle appended" in index.texts()[-1]


def test_only_the_new_part_is_read(
    index_of: Callable[..., Index], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_of("claude-code")
    path = tmp_path / FILES["claude-code"]
    long_talk(path)
    index.sync()
    with path.open("a") as file:
        file.write(user("needle", 99))
    from core.sources.transcripts import parser

    seen: list[bytes] = []
    parse = parser.parse_record
    monkeypatch.setattr(parser, "parse_record", lambda data: (seen.append(data), parse(data))[1])
    index.sync()

    assert len(seen) == 1


def test_state_survives_a_restart(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("pi")
    path = tmp_path / FILES["pi"]
    long_talk(path)
    path.write_text("".join(tree_record(random.Random(number), number) + "\n" for number in range(40)))
    index.sync()

    index.restart()
    message = {"role": "user", "content": "needle"}
    with path.open("a") as file:
        file.write(json.dumps({"type": "message", "message": message}) + "\n")
    index.sync()

    assert index.resumed == 1
    assert "User: needle" in index.texts()[-1]


def test_half_written_line_is_found_once_when_it_is_whole(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("openclaw")
    path = tmp_path / FILES["openclaw"]
    line = '{"type":"message","message":{"role":"user","content":"needle-t-会-end"}}\n'.encode()
    first = b'{"type":"message","message":{"role":"user","content":"one"}}\n'

    for cut in (50, line.index("会".encode()) + 1, len(line)):
        path.write_bytes(first + line[:cut])
        index.restart()
        index.sync()

    assert "\n".join(index.texts()).count("needle-t-会-end") == 1
    assert index.database.rows("SELECT warning FROM files") == [(None,)]


@pytest.mark.parametrize("how", ["truncated", "rewritten in place", "replaced", "shorter then longer"])
def test_file_that_is_no_longer_the_one_that_was_read_is_read_anew(
    how: str, index_of: Callable[..., Index], tmp_path: Path
) -> None:
    index = index_of("claude-code")
    path = tmp_path / FILES["claude-code"]
    long_talk(path)
    index.sync()
    size = path.stat().st_size

    if how == "truncated":
        os.truncate(path, 5 * size // 40)
    elif how == "rewritten in place":
        path.write_text(path.read_text().replace("turn 0 ", "TURN 0 ") + user("more", 99))
    elif how == "replaced":
        (tmp_path / "new").write_text(path.read_text().replace("turn 20 ", "TURN 20 ") + user("more", 99))
        (tmp_path / "new").replace(path)
    else:
        path.write_text("".join(user(f"other {number} " + "oven " * 100, number) for number in range(60)))
    index.sync()
    whole = Index(tmp_path, "claude-code", "whole.sqlite")
    whole.sync()

    assert index.resumed == 0
    assert index.rows() == whole.rows()
    whole.close()


def test_other_settings_read_everything_anew(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("claude-code")
    long_talk(tmp_path / FILES["claude-code"])
    index.sync()
    index.settings = settings_of({"sessions": {"agents": ["claude-code"], "redact_patterns": ["glaze"]}})
    index.restart()
    with (tmp_path / FILES["claude-code"]).open("a") as file:
        file.write(user("more", 99))
    index.sync()

    assert index.resumed == 0
    assert "glaze" not in "\n".join(index.texts())


def test_fresh_reading_trusts_nothing_that_is_remembered(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("claude-code")
    long_talk(tmp_path / FILES["claude-code"])
    index.sync()
    with (tmp_path / FILES["claude-code"]).open("a") as file:
        file.write(user("more", 99))
    (file_found,) = index.intake.scan().files

    document = index.intake.read(file_found, fresh=True)

    assert isinstance(document, SessionDocument)
    assert document.base == ""


def test_packed_file_that_takes_the_place_of_a_plain_one_changes_no_text(
    index_of: Callable[..., Index], tmp_path: Path
) -> None:
    import zstandard

    index = index_of("codex")
    path = tmp_path / FILES["codex"]
    path.write_text("".join(codex_record(random.Random(number), number) + "\n" for number in range(30)))
    index.sync()
    before = index.chunk_ids()

    Path(f"{path}.zst").write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    path.unlink()
    index.sync()

    assert index.chunk_ids() == before
    assert index.details["source_file"] == f"{path}.zst"


def test_store_goes_on_after_the_last_event(index_of: Callable[..., Index], tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "openclaw-sqlite", tmp_path, dirs_exist_ok=True)
    index = index_of("openclaw")
    session = "7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10"
    store = sqlite3.connect(tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite")

    def say(seq: int, text: str) -> None:
        message = {"role": "user", "content": text}
        event = {"type": "message", "id": f"n{seq}", "parentId": f"n{seq - 1}", "message": message}
        if seq == 7:
            event["parentId"] = "5f607182-1111-4222-8333-444455556666"
        store.execute(
            "INSERT INTO transcript_events VALUES (?, ?, ?, 1, NULL, 9, NULL)", (session, seq, json.dumps(event))
        )
        store.execute("INSERT INTO session_transcript_active_events VALUES (?, ?, ?, NULL)", (session, seq - 1, seq))
        store.commit()

    for seq in range(7, 27):
        say(seq, "kiln ramp glaze " * 20)
    index.sync()
    say(27, "needle")
    index.sync()
    store.close()

    assert index.resumed == 1
    assert index.texts()[-1].endswith("User: needle")
    assert index.database.value("SELECT max(end_line) FROM chunks") == 28


def test_growth_keeps_no_secret(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("claude-code")
    secret = "sk-proj-abcdefghijklmnop1234567890"
    (tmp_path / FILES["claude-code"]).write_text(user(f"title {secret}") + user(f"tail API_KEY={secret}", 1))
    index.sync()

    index.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert GROWTH in index.details
    assert secret.encode() not in index.path.read_bytes()


@pytest.mark.parametrize("value", [None, 1, {}, {"form": 1}, {"form": 1, "offset": "x", "anchor": None}, {"form": 0}])
def test_growth_of_another_form_is_none(value: object) -> None:
    assert Growth.from_json(value) is None


# -- thresholds

RULES = SessionSync(delta_bytes=1000, delta_messages=5)


@pytest.mark.parametrize(
    ("added", "rules", "due"),
    [
        (Added(999, 4), RULES, False),
        (Added(1000, 0), RULES, True),
        (Added(10, 5), RULES, True),
        (Added(at_once=True), RULES, True),
        (Added(1, 0), SessionSync(delta_bytes=0), True),
        (Added(0, 0), SessionSync(delta_bytes=0, delta_messages=0), False),
    ],
)
def test_either_threshold_is_enough(added: Added, rules: SessionSync, due: bool) -> None:
    assert added.reaches(rules) is due


def test_what_was_added_is_measured_against_the_index(index_of: Callable[..., Index], tmp_path: Path) -> None:
    index = index_of("claude-code")
    path = tmp_path / FILES["claude-code"]
    path.write_text(user("one"))
    index.sync()
    stored = StoredSessions(index.path)

    with path.open("a") as file:
        file.write(user("two", 1) + user("three", 2))

    assert added_to(str(path), stored, enough_bytes=10**6) == Added(len(user("two", 1) + user("three", 2)), 2)
    path.write_text(user("x"))
    assert added_to(str(path), stored, enough_bytes=10**6) == Added(len(user("x")), 1)
    path.unlink()
    assert added_to(str(path), stored, enough_bytes=10**6).at_once


@pytest.mark.parametrize(
    "name", ["a.jsonl.reset.2026-10-30T18-20-11.402Z", "a.jsonl.deleted.2026-10-30T18-20-11.402Z.zst"]
)
def test_archives_pass_every_threshold(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(user("one"))

    assert added_to(str(tmp_path / name), StoredSessions(tmp_path / "none"), enough_bytes=10**6).at_once


def test_events_that_a_store_has_gained_are_counted(index_of: Callable[..., Index], tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "openclaw-sqlite", tmp_path, dirs_exist_ok=True)
    index = index_of("openclaw")
    index.sync()
    path = tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    stored = StoredSessions(index.path)
    assert added_to(str(path), stored, enough_bytes=10**6) == Added(0, 0)

    with sqlite3.connect(path) as store:
        store.execute(
            "INSERT INTO transcript_events SELECT session_id, 7, '{}', 1, NULL, 321, NULL FROM session_windows"
        )
    store.close()

    assert added_to(str(path), stored, enough_bytes=10**6) == Added(321, 1)


def test_transcripts_that_grew_enough_are_delivered_together_after_the_pause(tmp_path: Path) -> None:
    large, small = tmp_path / "large.jsonl", tmp_path / "small.jsonl"
    large.write_text(user("x" * 2000))
    small.write_text(user("one"))
    delivered: list[tuple[str, ...]] = []
    told = threading.Event()

    def deliver(paths: tuple[str, ...]) -> None:
        delivered.append(paths)
        told.set()

    deltas = SessionDeltas(RULES, StoredSessions(tmp_path / "none"), deliver, seconds=0.05)
    deltas.changed([str(large)])
    deltas.changed([str(small), str(large)])
    assert told.wait(5)
    deltas.close()

    assert delivered == [(str(large),)]


def test_change_of_a_write_ahead_log_is_one_of_its_store(tmp_path: Path) -> None:
    store = tmp_path / "openclaw-agent.sqlite"
    store.write_bytes(b"")
    deltas = SessionDeltas(RULES, StoredSessions(tmp_path / "none"), lambda paths: None, seconds=60)
    deltas.changed([f"{store}-wal"])

    assert deltas.due() == (str(store),)
    deltas.close()
