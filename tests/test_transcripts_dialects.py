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
from core.sources.transcripts.model import ROLES, Role, Session
from core.sources.transcripts.parser import facts_from_json, facts_to_json, read_lines
from core.sources.transcripts.reading import PARSERS, SessionSource, read_file, session_of
from core.sources.transcripts.records import Line
from core.sources.transcripts.render import render, wrapped
from core.sources.transcripts.wrappers import claude_user, codex_user, openclaw_assistant, openclaw_user, without_tags

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
Json = dict[str, object]


def read(dialect: str, path: Path, *records: Json) -> Session:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_file(dialect, str(path), ROLES)


def said(session: Session, *roles: Role) -> list[tuple[str, str]]:
    wanted = roles or ("user", "assistant")
    return [(message.role, message.text) for message in session.messages if message.active and message.role in wanted]


def all_sessions(home: Path, *agents: str, paths: tuple[str, ...] = ()) -> dict[str, Session]:
    found, _ = Finder(Sessions(agents=agents, paths=paths), home=home, environ={}, agent_id="main").look()
    source = SessionSource()
    return {one.path: session_of(source.read(one, ROLES)) for one in found}


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


def openclaw_store(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "openclaw-sqlite", tmp_path, dirs_exist_ok=True)
    return tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"


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


# -- Claude Code


def claude(kind: str, uuid: str, text: object, **more: object) -> Json:
    message: Json = {"role": kind, "content": text}
    if "reply" in more:
        message["id"] = more.pop("reply")
    return {"type": kind, "uuid": uuid, "sessionId": "s", "cwd": "/w", "message": message, **more}


def block(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


def test_records_of_one_reply_become_one_message_even_around_a_tool(tmp_path: Path) -> None:
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "out"}]
    session = read(
        "claude-code",
        tmp_path / "s.jsonl",
        claude("user", "u1", "Ask"),
        claude("assistant", "a1", block("First."), reply="m1"),
        claude("assistant", "a2", [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}], reply="m1"),
        claude("user", "u2", result),
        claude("assistant", "a3", block("Second."), reply="m1"),
        claude("assistant", "a4", block("Other."), reply="m2"),
    )

    assert said(session) == [("user", "Ask"), ("assistant", "First.\nSecond."), ("assistant", "Other.")]
    assert (session.messages[1].line_start, session.messages[1].line_end) == (2, 5)


def test_line_of_a_merged_reply_is_where_its_text_begins(tmp_path: Path) -> None:
    session = read(
        "claude-code",
        tmp_path / "s.jsonl",
        claude("assistant", "a1", block("kiln " * 150), reply="m1"),
        claude("assistant", "a2", block("ramp " * 150), reply="m1"),
    )

    rendered = render(session.messages, Redactor())

    assert rendered.line_map == [1, 2]
    assert all(line.startswith("Assistant: ") for line in rendered.lines)


@pytest.mark.parametrize(
    "record",
    [
        claude("user", "u", "said by the program", isMeta=True),
        claude("user", "u", "<system-reminder>\nsetup\n</system-reminder>"),
        claude("user", "u", "<command-name>/compact</command-name><command-args>now</command-args>"),
        claude("user", "u", "<local-command-stdout>done</local-command-stdout>"),
        claude("user", "u", "[Request interrupted by user]"),
        claude("user", "u", "<task-notification>x</task-notification>", origin={"kind": "task"}),
        claude("user", "u", "queued by the program", promptSource="system"),
        claude("assistant", "a", block("API Error"), reply="m", isApiErrorMessage=True),
        {"type": "attachment", "uuid": "x", "attachment": {"type": "prompt_snapshot", "systemPrompt": ["long"]}},
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "system", "subtype": "turn_duration"},
    ],
    ids=lambda record: str(record.get("type")),
)
def test_claude_code_records_that_nobody_said_are_left_out(tmp_path: Path, record: Json) -> None:
    session = read("claude-code", tmp_path / "s.jsonl", record)

    assert said(session) == []
    assert session.unknown == {}


def test_claude_code_prompt_that_waited_in_the_queue_is_the_users(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "And the glaze?", "commandMode": "prompt"}
    session = read("claude-code", tmp_path / "s.jsonl", {"type": "attachment", "uuid": "x", "attachment": queued})

    assert said(session) == [("user", "And the glaze?")]


def test_claude_code_summary_of_a_compaction_is_no_users_text(tmp_path: Path) -> None:
    session = read("claude-code", tmp_path / "s.jsonl", claude("user", "u", "Long story", isCompactSummary=True))

    assert said(session, *ROLES) == [("summary", "Long story")]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<ide_selection>code</ide_selection>\nWhat does this do?", "What does this do?"),
        ("What is <system-reminder> for?", "What is <system-reminder> for?"),
        ("a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>c", "abc"),
        ("<bash-inputs>kept</bash-inputs>", "<bash-inputs>kept</bash-inputs>"),
    ],
)
def test_claude_code_tags_are_stripped_and_their_names_in_prose_stay(text: str, left: str) -> None:
    assert claude_user(text) == left


def test_many_tags_that_are_never_closed_cost_little() -> None:
    text = "<bash-input>" * 50_000

    assert without_tags(text, ["bash-input"]) == text


def test_claude_code_titles_win_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-w"
    asked = claude("user", "u1", "First words")
    read("claude-code", folder / "sess-0001.jsonl", asked)
    assert all_sessions(tmp_path, "claude-code")["sessions/claude-code/sess-0001.jsonl"].title == "First words"

    ai, custom = {"type": "ai-title", "aiTitle": "By the model"}, {"type": "custom-title", "customTitle": "By Ana"}
    read("claude-code", folder / "sess-0001.jsonl", asked, ai, custom, {"type": "custom-title", "customTitle": "Last"})
    assert all_sessions(tmp_path, "claude-code")["sessions/claude-code/sess-0001.jsonl"].title == "Last"

    (folder / "sess-0001").mkdir()
    (folder / "sess-0001/custom-title.json").write_text('{"customTitle": "Beside"}')
    assert all_sessions(tmp_path, "claude-code")["sessions/claude-code/sess-0001.jsonl"].title == "Beside"


def test_claude_code_fork_is_counted_once(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-w"
    shared = [claude("user", "u1", "Ask"), claude("assistant", "a1", block("Answer"), reply="m1")]
    read("claude-code", folder / "aaaa-0001.jsonl", *shared, claude("user", "u2", "Go on here"))
    read("claude-code", folder / "bbbb-0002.jsonl", {"type": "mode"}, *shared, claude("user", "u3", "Go on there"))

    sessions = all_sessions(tmp_path, "claude-code")

    assert said(sessions["sessions/claude-code/aaaa-0001.jsonl"])[-1] == ("user", "Go on here")
    assert said(sessions["sessions/claude-code/bbbb-0002.jsonl"]) == [("user", "Go on there")]
    assert sessions["sessions/claude-code/bbbb-0002.jsonl"].title == "Go on there"


def test_claude_code_subagents_of_equal_short_names_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-w"
    for parent in ("aaaa-0001", "bbbb-0002"):
        asked = claude("user", "u", f"for {parent}", agentId="a1", isSidechain=True)
        read("claude-code", folder / parent / "subagents/agent-a1.jsonl", asked)

    sessions = all_sessions(tmp_path, "claude-code")

    assert list(sessions) == ["sessions/claude-code/agent-a1.bbbb-0002.jsonl", "sessions/claude-code/agent-a1.jsonl"]
    assert {session.parent for session in sessions.values()} == {"aaaa-0001", "bbbb-0002"}


# -- Codex


def item(role: str, text: str, kind: str = "input_text", **more: object) -> Json:
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}
    return {"timestamp": "2026-11-03T09:10:00Z", "type": "response_item", "payload": payload}


def event(kind: str, **payload: object) -> Json:
    return {"timestamp": "2026-11-03T09:10:00Z", "type": "event_msg", "payload": {"type": kind, **payload}}


@pytest.mark.parametrize("order", [1, -1])
def test_codex_doubled_records_count_once_in_any_order(tmp_path: Path, order: int) -> None:
    doubled = [item("user", "Ask"), event("user_message", message="Ask")][::order]
    session = read("codex", tmp_path / "s.jsonl", *doubled, item("assistant", "Answer", "output_text"))

    assert said(session) == [("user", "Ask"), ("assistant", "Answer")]
    assert session.counts == {"user": 1, "assistant": 1}


def test_codex_events_count_where_there_are_no_items(tmp_path: Path) -> None:
    completed = event("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "Answer"}]})
    session = read("codex", tmp_path / "s.jsonl", event("user_message", message="Ask"), completed)

    assert said(session) == [("user", "Ask"), ("assistant", "Answer")]


def test_codex_trusts_the_provenance_of_a_text(tmp_path: Path) -> None:
    def passed(kind: str) -> Json:
        metadata = [{"provenance": [{"type": kind}]}]
        return {"internal_chat_message_metadata_passthrough": {"content_item_metadata": metadata}}

    session = read(
        "codex",
        tmp_path / "s.jsonl",
        item("user", "Looks like a question", **passed("harness")),
        item("user", "# AGENTS.md is what I ask about", **passed("user")),
    )

    assert said(session) == [("user", "# AGENTS.md is what I ask about")]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<environment_context>\n<cwd>/w</cwd>", ""),
        ("# AGENTS.md instructions for /w", ""),
        ("<turn_aborted>", ""),
        ("# Context from my IDE setup:\n## Open tabs\n## My request for Codex:\nFix it", "Fix it"),
        ("Read AGENTS.md", "Read AGENTS.md"),
    ],
)
def test_codex_harness_texts_are_left_out(text: str, left: str) -> None:
    assert codex_user(text) == left


def codex_name(session: str) -> str:
    return f".codex/sessions/2026/11/03/rollout-2026-11-03T10-10-00-{session}.jsonl"


def test_codex_fork_begins_with_a_copy_that_counts_once(tmp_path: Path) -> None:
    one, two = "019a0000-aaaa-7000-8000-000000000001", "019a0000-aaaa-7000-8000-000000000002"
    meta = {"type": "session_meta", "payload": {"id": one, "cwd": "/w"}}
    said_first = [item("user", "Ask"), item("assistant", "Answer", "output_text")]
    read("codex", tmp_path / codex_name(one), meta, *said_first)
    forked = {"type": "session_meta", "payload": {"id": two, "forked_from_id": one, "cwd": "/w"}}
    copies = [{**record, "timestamp": "2026-11-04T09:10:00Z"} for record in said_first]
    read("codex", tmp_path / codex_name(two), forked, meta, *copies, item("user", "Go on"))

    sessions = all_sessions(tmp_path, "codex")

    assert said(sessions[f"sessions/codex/{one}.jsonl"]) == [("user", "Ask"), ("assistant", "Answer")]
    fork = sessions[f"sessions/codex/{two}.jsonl"]
    assert said(fork) == [("user", "Go on")]
    assert (fork.id, fork.parent, fork.repeated, fork.title) == (two, one, 2, "Go on")


def test_codex_plain_file_is_read_in_place_of_its_packed_copy(tmp_path: Path) -> None:
    session = "019a0000-aaaa-7000-8000-000000000001"
    read("codex", tmp_path / codex_name(session), item("user", "plain"))
    (tmp_path / f"{codex_name(session)}.zst").write_bytes(b"never read")

    assert said(all_sessions(tmp_path, "codex")[f"sessions/codex/{session}.jsonl"]) == [("user", "plain")]


def test_codex_archived_session_is_found_and_marked(tmp_path: Path) -> None:
    name = codex_name("019a0000-aaaa-7000-8000-000000000001").rpartition("/")[2]
    read("codex", tmp_path / ".codex/archived_sessions" / name, item("user", "Ask"))

    (session,) = all_sessions(tmp_path, "codex").values()

    assert (session.kind, said(session)) == ("archived", [("user", "Ask")])


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


# -- rendering


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ab cd ef", ["ab cd", "ef"]),
        ("abcdefgh", ["abcde", "fgh"]),
        ("abcde fgh", ["abcde", "fgh"]),
        ("abcd efghijk", ["abcd", "efghi", "jk"]),
        ("", []),
    ],
)
def test_lines_end_at_the_last_blank_within_the_width(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in wrapped(text, 5)] == pieces


def test_rendered_text_is_one_masked_line_for_each_message(tmp_path: Path) -> None:
    asked = {"type": "message", "message": {"role": "user", "content": "a\n\n b\tAPI_KEY=sk-proj-abcdefghij1234567890"}}
    session = read("pi", tmp_path / "s.jsonl", asked)

    assert render(session.messages, Redactor()).text == "User: a b API_KEY=sk-pro…7890\n"


def test_nul_and_half_surrogates_become_marks(tmp_path: Path) -> None:
    asked = {"type": "message", "message": {"role": "user", "content": "a\0b \ud800"}}
    session = read("pi", tmp_path / "s.jsonl", asked)

    assert render(session.messages, Redactor()).text == "User: a\ufffdb \ufffd\n"


def test_base64_in_a_message_costs_a_mark(tmp_path: Path) -> None:
    asked = {"type": "message", "message": {"role": "user", "content": "see " + "QUJD" * 1000 + " there"}}
    session = read("pi", tmp_path / "s.jsonl", asked)

    assert render(session.messages, Redactor()).text == "User: see [base64] there\n"


def test_nothing_is_left_beside_a_store_that_nobody_has_open(tmp_path: Path) -> None:
    path = openclaw_store(tmp_path)
    store = sqlite3.connect(path)
    store.execute("PRAGMA journal_mode = wal")
    store.close()
    before = sorted(path.parent.iterdir())

    assert all_sessions(tmp_path, "openclaw")
    assert sorted(path.parent.iterdir()) == before


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
