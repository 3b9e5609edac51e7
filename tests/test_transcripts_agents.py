"""The transcripts of Claude Code and Codex, record by record."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.sources.redaction import Redactor
from core.sources.transcripts.model import ROLES
from core.sources.transcripts.render import render
from core.sources.transcripts.wrappers import claude_user, codex_user, without_tags
from tests.transcript_text import Json, all_sessions, read, said

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
