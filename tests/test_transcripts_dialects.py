"""What each dialect does beyond the samples: branches, forks, doubled records, wrappers, unknown records."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.settings.model import Sessions
from core.sources.redaction import Redactor
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.model import ROLES
from core.sources.transcripts.parser import facts_from_json, facts_to_json, read_lines
from core.sources.transcripts.reading import PARSERS
from core.sources.transcripts.records import Line
from core.sources.transcripts.render import render
from core.sources.transcripts.wrappers import openclaw_assistant, openclaw_user
from tests.transcript_text import SAMPLES, Json, all_sessions, openclaw_store, read, said

# -- pi and OpenClaw: a tree


def entry(number: int, parent: int | None, role: str = "user", **more: object) -> Json:
    text = f"text {number}"
    record: Json = {"type": "message", "id": f"e{number}", "message": {"role": role, "content": text}, **more}
    return {**record, "parentId": None if parent is None else f"e{parent}"}


def test_branch_that_was_left_is_not_active(tmp_path: Path) -> None:
    session = read("pi", tmp_path / "s.jsonl", entry(1, None), entry(2, 1), entry(3, 2), entry(4, 1), entry(5, 4))

    assert [text for _, text in said(session)] == ["text 1", "text 4", "text 5"]
    assert [message.text for message in session.messages if not message.active] == ["text 2", "text 3"]


def test_entry_whose_parent_is_lost_follows_the_one_before(tmp_path: Path) -> None:
    session = read("pi", tmp_path / "s.jsonl", entry(1, None), entry(2, 1), entry(4, 3))

    assert [text for _, text in said(session)] == ["text 1", "text 2", "text 4"]


def test_entries_that_all_have_no_parent_follow_each_other(tmp_path: Path) -> None:
    session = read("openclaw", tmp_path / "s.jsonl", entry(1, None), entry(2, None), entry(3, None))

    assert [text for _, text in said(session)] == ["text 1", "text 2", "text 3"]


def test_entries_without_ids_follow_each_other(tmp_path: Path) -> None:
    records = [{"type": "message", "message": {"role": "user", "content": f"text {number}"}} for number in range(3)]

    assert len(said(read("pi", tmp_path / "s.jsonl", *records))) == 3


def test_parents_that_go_in_a_circle_end_somewhere(tmp_path: Path) -> None:
    assert said(read("pi", tmp_path / "s.jsonl", entry(1, 2), entry(2, 1), entry(1, 2)))


def test_fork_holds_only_what_its_origin_does_not(tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/--w--"
    header = {"type": "session", "version": 3, "timestamp": "2026-11-03T09:10:00Z", "cwd": "/w"}
    origin = folder / "2026-11-03T09-10-00-000Z_aaa.jsonl"
    read("pi", origin, {**header, "id": "aaa"}, entry(1, None), entry(2, 1))
    fork = {**header, "id": "bbb", "parentSession": str(origin)}
    read("pi", folder / "2026-11-03T10-10-00-000Z_bbb.jsonl", fork, entry(1, None), entry(2, 1), entry(3, 2))

    sessions = all_sessions(tmp_path, "pi")

    assert [text for _, text in said(sessions["sessions/pi/aaa.jsonl"])] == ["text 1", "text 2"]
    assert [text for _, text in said(sessions["sessions/pi/bbb.jsonl"])] == ["text 3"]
    assert sessions["sessions/pi/bbb.jsonl"].parent == "aaa"
    assert sessions["sessions/pi/bbb.jsonl"].repeated == 2


def test_unknown_records_are_counted_by_type(tmp_path: Path) -> None:
    session = read("pi", tmp_path / "s.jsonl", {"type": "hologram"}, {"type": "hologram"}, {"odd": 1}, entry(1, None))

    assert session.unknown == {"hologram": 2, "(no type)": 1}
    assert len(said(session)) == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[Wed 2026-02-18 11:21 GMT+1] Fire the kiln", "Fire the kiln"),
        ("[Telegram Ana (@ana) id:42 +3m 2026-02-18 11:21 UTC] Fire the kiln\n[message_id: 77]", "Fire the kiln"),
        ('Conversation info (untrusted metadata):\n```json\n{"a": 1}\n```\n\nFire the kiln', "Fire the kiln"),
        (
            "Conversation info (untrusted metadata):\n```json\n{}\n```\n\nSender (untrusted metadata):\n```json\n"
            '{\n"n": 1\n}\n```\n\nFire\nthe kiln',
            "Fire\nthe kiln",
        ),
        ("System: [2026-02-18 11:21] Node connected\n\nFire the kiln", "Fire the kiln"),
        ("System (untrusted): [2026-02-18] Exec completed", ""),
        ("[cron:abc daily] Water the plants", ""),
        ("Read HEARTBEAT.md if it exists", ""),
        ("A new session was started via /new or /reset. Greet the user.", ""),
        ("[x] is a checkbox, [Mon] is a day", "[x] is a checkbox, [Mon] is a day"),
        ("System: is a word", "System: is a word"),
    ],
)
def test_openclaw_envelopes_are_stripped(text: str, left: str) -> None:
    assert openclaw_user(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("NO_REPLY", ""),
        (" HEARTBEAT_OK\n", ""),
        ("[[reply_to_current]] Yes", "Yes"),
        ("NO_REPLY, why?", "NO_REPLY, why?"),
    ],
)
def test_openclaw_silent_replies_are_none(text: str, left: str) -> None:
    assert openclaw_assistant(text) == left


def test_openclaw_messages_between_sessions_and_results_without_a_call_are_left_out(tmp_path: Path) -> None:
    sent = {"role": "user", "content": "from another session", "provenance": {"kind": "inter_session"}}
    result = {"role": "toolResult", "content": "of no call"}
    session = read(
        "openclaw", tmp_path / "s.jsonl", {"type": "message", "message": sent}, {"type": "message", "message": result}
    )

    assert session.messages == ()


def test_openclaw_sessions_of_the_program_itself_are_skipped_by_name(tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw/agents/main/sessions"
    read("openclaw", folder / "aaaa.jsonl", entry(1, None))
    read("openclaw", folder / "bbbb.jsonl", entry(1, None))
    keys = {"agent:main:cron:nightly": {"sessionId": "aaaa"}, "agent:main:main": {"sessionId": "bbbb"}}
    (folder / "sessions.json").write_text(json.dumps(keys))

    found, listing = Finder(Sessions(agents=("openclaw",)), home=tmp_path, environ={}, agent_id="main").look()

    assert [one.id for one in found] == ["bbbb"]
    assert [(skip.path.rpartition("/")[2], skip.kind) for skip in listing.skipped] == [("aaaa.jsonl", "program")]


# -- OpenClaw's archives and store


def test_openclaw_archive_repeats_nothing_that_the_live_file_holds(tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw/agents/main/sessions"
    read("openclaw", folder / "abc.jsonl", entry(1, None), entry(2, 1))
    read("openclaw", folder / "abc.jsonl.deleted.2026-10-28T07-01-00.000Z", entry(1, None), entry(9, 1))

    sessions = all_sessions(tmp_path, "openclaw")

    assert [text for _, text in said(sessions["sessions/openclaw/abc.jsonl"])] == ["text 1", "text 2"]
    archive = sessions["sessions/openclaw/abc.deleted.2026-10-28T07-01-00.000Z.jsonl"]
    assert [text for _, text in said(archive)] == ["text 9"]


@pytest.mark.parametrize(
    "name",
    [
        "abc.jsonl.bak.1",
        "abc.jsonl.lock",
        "abc.trajectory.jsonl",
        "abc.checkpoint.0b1c.jsonl",
        "abc.jsonl.full.bak",
        "sessions.json",
    ],
)
def test_openclaw_files_that_are_no_transcripts_are_left_out(tmp_path: Path, name: str) -> None:
    folder = tmp_path / ".openclaw/agents/main/sessions"
    read("openclaw", folder / name, entry(1, None))

    assert all_sessions(tmp_path, "openclaw") == {}


def test_openclaw_reads_only_the_agent_that_is_asked_for(tmp_path: Path) -> None:
    read("openclaw", tmp_path / ".openclaw/agents/other/sessions/abc.jsonl", entry(1, None))

    assert all_sessions(tmp_path, "openclaw") == {}


def test_openclaw_store_takes_the_place_of_the_files_it_was_made_from(tmp_path: Path) -> None:
    openclaw_store(tmp_path)
    session = "7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10"
    read("openclaw", tmp_path / f".openclaw/agents/main/sessions/{session}.jsonl", entry(1, None))

    sessions = all_sessions(tmp_path, "openclaw")

    assert list(sessions) == [f"sessions/openclaw/{session}.jsonl"]
    assert "kiln overshoot" in sessions[f"sessions/openclaw/{session}.jsonl"].messages[0].text


def test_openclaw_store_tells_itself_which_events_are_active(tmp_path: Path) -> None:
    with sqlite3.connect(openclaw_store(tmp_path)) as store:
        store.execute("DELETE FROM session_transcript_active_events WHERE event_seq = 6")
    store.close()

    (session,) = all_sessions(tmp_path, "openclaw").values()

    assert [text for _, text in said(session)] == [
        "Why does the kiln overshoot at 1060C?",
        "I will read the PID gains.",
    ]


def test_openclaw_store_that_is_written_to_is_read_with_its_log(tmp_path: Path) -> None:
    store = sqlite3.connect(openclaw_store(tmp_path))
    store.execute("PRAGMA journal_mode = wal")
    event = json.dumps({"type": "message", "message": {"role": "user", "content": "in the log"}})
    session = "7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10"
    store.execute("INSERT INTO transcript_events VALUES (?, 7, ?, 1, NULL, 9, NULL)", (session, event))
    store.execute("INSERT INTO session_transcript_active_events VALUES (?, 6, 7, NULL)", (session,))
    store.commit()

    (read_session,) = all_sessions(tmp_path, "openclaw").values()
    store.close()

    assert said(read_session)[-1] == ("user", "in the log")
    assert read_session.messages[-1].line_start == 8


def test_openclaw_session_of_a_schedule_in_the_store_is_skipped_by_name(tmp_path: Path) -> None:
    with sqlite3.connect(openclaw_store(tmp_path)) as store:
        store.execute("UPDATE session_windows SET session_key = 'cron:nightly'")
    store.close()

    found, listing = Finder(Sessions(agents=("openclaw",)), home=tmp_path, environ={}, agent_id="main").look()

    assert found == []
    assert [skip.kind for skip in listing.skipped] == ["program"]


# -- Gemini, OpenCode, Aider


def test_gemini_rewind_and_whole_new_lists(tmp_path: Path) -> None:
    def turn(number: int, kind: str, text: str) -> Json:
        return {"id": f"g{number}", "timestamp": "2026-11-03T09:10:00Z", "type": kind, "content": text}

    session = read(
        "gemini",
        tmp_path / "session-2026-11-03T09-10-aaaaaaaa.jsonl",
        {"sessionId": "s", "projectHash": "p"},
        turn(1, "user", "Ask"),
        turn(2, "gemini", "Wrong"),
        {"$rewindTo": "g2"},
        turn(3, "gemini", "Answ"),
        turn(3, "gemini", "Answer"),
        {"$set": {"messages": [turn(1, "user", "Ask"), turn(3, "gemini", "Answer"), turn(4, "user", "More")]}},
        turn(5, "user", "/quit"),
    )

    assert [(message.line_start, message.text) for message in session.messages] == [
        (2, "Ask"),
        (6, "Answer"),
        (7, "More"),
    ]


def test_gemini_resumed_session_is_the_larger_of_its_two_files(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini/tmp/kiln/chats"
    meta = {"sessionId": "5d2f7c1a-9b3e", "projectHash": "p"}
    said_then = {"id": "g1", "type": "user", "content": "Ask"}
    read("gemini", folder / "session-2026-11-03T09-10-5d2f7c1a.jsonl", meta, said_then)
    read("gemini", folder / "session-2026-11-04T09-10-5d2f7c1a.jsonl", meta)

    sessions = all_sessions(tmp_path, "gemini")

    assert list(sessions) == ["sessions/gemini/5d2f7c1a-9b3e.jsonl"]
    assert said(sessions["sessions/gemini/5d2f7c1a-9b3e.jsonl"]) == [("user", "Ask")]


def test_opencode_reverted_and_synthetic_texts_are_not_active(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "opencode", tmp_path, dirs_exist_ok=True)
    with sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db") as store:
        part = json.dumps({"type": "text", "text": "put in by the program", "synthetic": True})
        session = "ses_5c2f01a7cffeKilnDemo0000001"
        store.execute("INSERT INTO part VALUES ('prt_a00', 'msg_a01', ?, 1, 1, ?)", (session, part))
        store.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": "msg_a02"}),))
    store.close()

    (read_session,) = all_sessions(tmp_path, "opencode").values()

    assert said(read_session) == [("user", "Why does the kiln overshoot at 1060C?")]


def test_aider_chats_of_one_file_are_sessions_of_their_own(tmp_path: Path) -> None:
    history = tmp_path / "repo/.aider.chat.history.md"
    history.parent.mkdir()
    history.write_text(
        "# aider chat started at 2026-11-03 09:10:00\n\n#### Ask  \n\nAnswer with code:\n\n```md\n#### not asked\n"
        "> not a tool\n```\n\n> Tokens: 3k  \n\n# aider chat started at 2026-11-04 09:10:00\n\n#### Again  \n"
    )

    first, second = all_sessions(tmp_path, paths=(str(tmp_path / "repo"),)).values()

    assert said(first) == [
        ("user", "Ask"),
        ("assistant", "Answer with code:\n```md\n#### not asked\n> not a tool\n```"),
    ]
    assert [(message.line_start, message.text) for message in second.messages] == [(16, "Again")]


# -- whatever stands in the records


def sample_records(dialect: str) -> list[Json]:
    """All records of a dialect's samples."""
    names = {"openclaw": "openclaw-jsonl"}
    found = sorted((SAMPLES / names.get(dialect, dialect)).rglob("*.jsonl*"))
    lines = [line for path in found if not path.name.endswith(".zst") for line in path.read_text().split("\n")]
    return [json.loads(line) for line in lines if line.strip()]


ODD = st.sampled_from(
    [None, True, 0, -1, 10**30, 1e308, "", "x", [], {}, [None], ["a"], [[]], {"type": 1}, {"text": {}}]
)


def spoiled(value: object, chance: random.Random, odd: object) -> object:
    """`value` with something odd in place of a part of it."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(sorted(value))
        return {**value, key: spoiled(value[key], chance, odd)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        number = chance.randrange(len(value))
        return [spoiled(item, chance, odd) if at == number else item for at, item in enumerate(value)]
    return odd


@pytest.mark.parametrize("dialect", ["openclaw", "pi", "claude-code", "codex", "gemini"])
@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), odds=st.lists(ODD, min_size=1, max_size=6))
def test_odd_values_in_records_stop_no_file(dialect: str, seed: int, odds: list[object]) -> None:
    chance = random.Random(seed)
    records: list[object] = list(sample_records(dialect))
    for odd in odds:
        number = chance.randrange(len(records))
        records[number] = spoiled(records[number], chance, odd)
    parser = PARSERS[dialect](ROLES)
    lines = (Line(number, number, json.dumps(record).encode()) for number, record in enumerate(records, 1))

    reading = read_lines(parser, lines)

    assert [bad.why for bad in reading.facts.bad if not bad.why.startswith("not a JSON object")] == []
    assert reading.lines == len(records)
    assert render(reading.messages, Redactor()).lines is not None
    assert facts_from_json(json.loads(json.dumps(facts_to_json(reading.facts)))) == reading.facts
