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
from hypothesis import given, settings
from hypothesis import strategies as st

from core.chunking import chunk_document
from core.settings import settings_of
from core.settings.model import SessionSync
from core.store.database import Database
from core.store.documents import Documents
from core.sync.growth import (
    GROWTH,
    Growth,
    StoredSessions,
    details_of,
    settled_chunks,
)
from core.sync.session_counter import SessionCounter
from core.sync.session_deltas import Added, SessionDeltas, added_to
from core.sync.session_intake import SessionDocument, SessionIntake
from core.text.tokens import TokenCounter

COUNTER = TokenCounter()
SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
FILES = {
    "claude-code": ".claude/projects/-w/sess-0001.jsonl",
    "pi": ".pi/agent/sessions/--w--/2026-11-03T09-10-00-000Z_s1.jsonl",
    "codex": ".codex/sessions/2026/11/03/rollout-2026-11-03T10-10-00-019a4c01-2222-7333-8444-555566667777.jsonl",
    "openclaw": ".openclaw/agents/main/sessions/abcd.jsonl",
}


class Index:
    """An index that is brought in step with one agent's transcripts, document by document as the worker does it."""

    def __init__(self, home: Path, agent: str, name: str = "index.sqlite", **sessions: object) -> None:
        self.home = home
        self.path = home / name
        self.settings = settings_of({"sessions": {"agents": [agent], **sessions}})
        self.database = Database.open(self.path, vector_extension=False)
        self.documents = Documents(self.database)
        self.resumed = 0
        self.restart()

    def restart(self) -> None:
        """Go on with nothing in memory."""
        self.intake = SessionIntake(
            self.settings, home=self.home, environ={}, counter=COUNTER, index=StoredSessions(self.path)
        )

    def sync(self) -> None:
        for file in self.intake.scan().files:
            row = self.documents.stat_keys("sessions").get(("sessions", file.path))
            document = self.intake.read(file)
            assert isinstance(document, SessionDocument)
            self.resumed += bool(document.kept)
            with self.database.transaction():
                if row is not None and row.hash == document.hash and row.build == self.intake.build:
                    self.documents.touch("sessions", file.path, document.stat, 1)
                    continue
                prepared = self.intake.prepare(document)
                self.outcome = self.documents.replace(
                    prepared.document,
                    prepared.chunks,
                    build=self.intake.build,
                    scanned_ns=1,
                    now_ms=1,
                    embed_hashes=prepared.embed_hashes,
                )

    def rows(self) -> tuple[object, ...]:
        """All that the index holds, without the ids of its rows."""
        return (
            self.database.rows(
                "SELECT path, absolute, hash, build, size, lines, chunks, date_ms, warning, dialect, title, details "
                "FROM files ORDER BY path"
            ),
            self.database.rows(
                "SELECT ordinal, start_line, end_line, heading, text, embed_hash, line_map, observed_ms FROM chunks "
                "ORDER BY file_id, ordinal"
            ),
        )

    def texts(self) -> list[str]:
        return [str(row[0]) for row in self.database.rows("SELECT text FROM chunks ORDER BY file_id, ordinal")]

    def chunk_ids(self) -> list[int]:
        return self.database.numbers("SELECT id FROM chunks ORDER BY file_id, ordinal")

    @property
    def details(self) -> dict[str, object]:
        return details_of(str(self.database.value("SELECT details FROM files")))

    def close(self) -> None:
        self.database.close()


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


# -- any split of the bytes in time

WORDS = ["kiln", "ramp", "ki", "glaze", "会议室", "cone-6", "API_KEY=sk-proj-abcdefghijklmnop123", "`code`", "é"]


def some_text(chance: random.Random) -> str:
    return " ".join(f"{chance.choice(WORDS)}{chance.randrange(30)}" for _ in range(chance.choice([2, 20, 150, 400])))


def claude_record(chance: random.Random, number: int) -> str:
    common = {"sessionId": "s", "uuid": f"u{number}", "cwd": "/w", "timestamp": f"2026-11-03T09:{number % 60:02}:01Z"}
    kind = chance.choice(["user", "assistant", "assistant", "result", "skip", "bad", "blank", "title", "unknown"])
    text = some_text(chance)
    if kind == "user":
        return json.dumps({**common, "type": "user", "message": {"role": "user", "content": text}})
    if kind == "assistant":
        message = {"id": f"m{number // 3}", "content": [{"type": "text", "text": text}]}
        return json.dumps({**common, "type": "assistant", "message": message}, ensure_ascii=False)
    if kind == "result":
        return json.dumps(
            {**common, "type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}}
        )
    if kind == "skip":
        return json.dumps({**common, "type": "attachment", "attachment": {"type": "prompt_snapshot"}})
    if kind == "title":
        return json.dumps({"type": "custom-title", "customTitle": text})
    return {"bad": '{"a":1}{"b":2}', "blank": "", "unknown": json.dumps({"type": f"new{number % 3}"})}[kind]


def tree_record(chance: random.Random, number: int) -> str:
    if number == 0:
        return json.dumps({"type": "session", "id": "s", "timestamp": "2026-11-03T09:10:00Z", "cwd": "/w"})
    parent: str | None = f"e{number - 1}" if number > 1 else None
    if chance.random() < 0.06:
        parent = chance.choice([f"e{chance.randrange(number)}", None, "lost"])
    kind = chance.choice(["user", "assistant", "toolResult", "compaction", "custom", "bad"])
    common = {"id": f"e{number}", "parentId": parent, "timestamp": f"2026-11-03T09:{number % 60:02}:01Z"}
    if kind == "bad":
        return "oops{"
    if kind in ("compaction", "custom"):
        return json.dumps({**common, "type": kind, "summary": some_text(chance)})
    message = {"role": kind, "toolCallId": "c", "content": [{"type": "text", "text": some_text(chance)}]}
    return json.dumps({**common, "type": "message", "message": message}, ensure_ascii=False)


def codex_record(chance: random.Random, number: int) -> str:
    kind = chance.choice(["user", "assistant", "user_message", "agent_message", "call"])
    payload: dict[str, object] = {"type": kind, "message": some_text(chance)}
    top = "event_msg"
    if kind in ("user", "assistant"):
        top = "response_item"
        block = {"type": "input_text" if kind == "user" else "output_text", "text": some_text(chance)}
        payload = {"type": "message", "role": kind, "content": [block]}
    elif kind == "call":
        top, payload = "response_item", {"type": "function_call", "name": "exec", "arguments": "{}"}
    return json.dumps({"timestamp": f"2026-11-03T09:{number % 60:02}:01Z", "type": top, "payload": payload})


RECORDS = {"claude-code": claude_record, "pi": tree_record, "openclaw": tree_record, "codex": codex_record}


@settings(max_examples=60)
@given(
    agent=st.sampled_from(sorted(RECORDS)),
    seed=st.integers(0, 10**6),
    size=st.integers(3, 50),
    cuts=st.lists(st.floats(0, 1), max_size=8),
    at_lines=st.booleans(),
    restarts=st.booleans(),
    all_roles=st.booleans(),
)
def test_any_split_of_the_bytes_in_time_gives_the_same_index(
    tmp_path_factory: pytest.TempPathFactory,
    agent: str,
    seed: int,
    size: int,
    cuts: list[float],
    at_lines: bool,
    restarts: bool,
    all_roles: bool,
) -> None:
    home = tmp_path_factory.mktemp("home")
    chance = random.Random(seed)
    data = "\n".join(RECORDS[agent](chance, number) for number in range(size)).encode()
    data += b"\n" if chance.random() < 0.5 else b""
    path = home / FILES[agent]
    path.parent.mkdir(parents=True)
    points = sorted(int(cut * len(data)) for cut in cuts)
    if at_lines:
        points = [data.rfind(b"\n", 0, point) + 1 for point in points]

    grown = Index(home, agent, "grown.sqlite", include_tools=all_roles, include_thinking=all_roles)
    written = 0
    with path.open("wb") as file:
        for point in (*points, len(data)):
            file.write(data[written:point])
            file.flush()
            written = point
            if restarts:
                grown.restart()
            grown.sync()
    whole = Index(home, agent, "whole.sqlite", include_tools=all_roles, include_thinking=all_roles)
    whole.sync()

    assert grown.rows() == whole.rows()
    grown.close()
    whole.close()
    shutil.rmtree(home)


# -- what growth costs


def user(text: str, number: int = 0) -> str:
    message = {"role": "user", "content": text}
    return json.dumps({"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message}) + "\n"


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
    assert document.kept == ()


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


# -- chunks and counting


@given(
    lines=st.lists(st.sampled_from(["kiln " * 3, "ramp " * 60, "x" * 3000, "会议" * 40]), min_size=1, max_size=30),
    settled=st.integers(0, 30),
)
@settings(max_examples=150)
def test_settled_chunks_stay_whatever_follows(lines: list[str], settled: int) -> None:
    lines = [f"User: {line}".strip() for line in lines]
    settled = min(settled, len(lines))
    cut = chunk_document("\n".join(lines), tokens=60, overlap=12, counter=COUNTER, markdown=False)
    kept, begin = settled_chunks(cut, lines, settled)

    following = [*lines[:settled], "Assistant: something else " * 9, "User: more"]
    again = chunk_document("\n".join(following), tokens=60, overlap=12, counter=COUNTER, markdown=False)
    tail = chunk_document("\n".join(following[begin:]), tokens=60, overlap=12, counter=COUNTER, markdown=False)

    assert [chunk.text for chunk in again] == [chunk.text for chunk in (*cut[:kept], *tail)]


PIECES = st.sampled_from(
    [
        "kiln",
        "don't",
        "v1.2.3",
        "...",
        "项目评审会议",
        "12345678",
        "foo_bar(x)",
        "--flag",
        "A" * 50,
        "é",
        "👩‍🔧",
        "<|endoftext|>",
        "a\u0301b",
    ]
)


@given(st.lists(st.lists(PIECES, min_size=1, max_size=60).map(" ".join), min_size=1, max_size=4), st.integers(20, 60))
def test_counter_of_rendered_text_gives_what_the_counter_behind_it_gives(lines: list[str], budget: int) -> None:
    counter = SessionCounter(COUNTER)
    text = "".join(f"{line}\n" for line in lines)
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]

    assert counter.line_counts(text, starts, 10_000) == COUNTER.line_counts(text, starts, 10_000)
    assert [counter.count(line) for line in lines] == [COUNTER.count(line) for line in lines]
    pieces = counter.split(lines[0], budget)
    assert "".join(pieces) == lines[0]
    assert all(COUNTER.count(piece) <= budget for piece in pieces)


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
