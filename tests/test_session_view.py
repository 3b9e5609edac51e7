"""Views of transcripts of any size: little is held, a part opens at once, what grew is read on, texts are the same."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import SyncCancelled
from core.settings.model import Sessions
from core.sources.redaction import Redactor
from core.sources.transcripts import parser, reader, view
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.model import cut_words
from core.sources.transcripts.reader import SessionReader

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
AGENTS = ("openclaw", "claude-code", "codex", "pi", "gemini", "opencode")
PI = "sessions/pi/s1.jsonl"
CLAUDE = "sessions/claude-code/00000001-0000-4000-8000-00000000c1a0.jsonl"
SECRET = "sk-proj-abcdefghijklmnop1234567890"


@pytest.fixture
def reader_of(tmp_path: Path) -> Callable[..., SessionReader]:
    def make(*samples: str) -> SessionReader:
        for sample in samples:
            shutil.copytree(SAMPLES / sample, tmp_path, dirs_exist_ok=True)
        finder = Finder(Sessions(agents=AGENTS), home=tmp_path, environ={}, agent_id="main")
        return SessionReader(finder, Redactor())

    return make


@pytest.fixture
def pi(tmp_path: Path) -> Callable[..., Path]:
    """Writes a session of pi, or adds to it."""

    def write(messages: Iterable[tuple[str, str]], *, first: int = 0, mode: str = "w") -> Path:
        path = tmp_path / ".pi/agent/sessions/--w--/2026-11-03T09-10-00-000Z_s1.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            for number, (role, text) in enumerate(messages, first):
                entry = {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
                message = {"role": role, "content": [{"type": "text", "text": text}], "toolCallId": "c"}
                file.write(json.dumps({"type": "message", **entry, "message": message}) + "\n")
        return path

    return write


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A session whose replies stand on several lines, with tools between them."""
    path = tmp_path / ".claude/projects/-w" / CLAUDE.rpartition("/")[2]
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        for number in range(40):
            common = {"sessionId": path.stem, "timestamp": f"2026-03-01T10:{number:02}:00Z"}
            file.write(json.dumps({**common, "type": "user", "uuid": f"u{number}",
                                   "message": {"role": "user", "content": f"question {number}"}}) + "\n")  # fmt: skip
            for part, block in enumerate(
                (
                    {"type": "text", "text": f"first {number}"},
                    {"type": "tool_use", "name": "Read", "input": {"file": f"{number}.py"}},
                    {"type": "tool_use", "name": "Read", "input": {"file": f"{number}-b.py"}},
                    {"type": "text", "text": f"second {number}"},
                )
            ):
                message = {"id": f"m{number}", "role": "assistant", "content": [block]}
                file.write(json.dumps({**common, "type": "assistant", "uuid": f"a{number}-{part}",
                                       "message": message}) + "\n")  # fmt: skip
    return path


def shown(one: view.SessionView) -> list[tuple[object, ...]]:
    return [(m.role, m.text, m.line_start, m.line_end, m.name, m.active) for m in one.messages()]


@pytest.mark.parametrize("sample", ["openclaw-jsonl", "openclaw-sqlite", "claude-code", "codex", "pi"])
def test_texts_that_are_not_held_are_read_again_from_their_lines(
    sample: str, reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = reader_of(sample)
    paths = [one.path for one in held._finder.look()[0] if not one.absolute.endswith(".zst")]
    expected = {path: shown(held.read_session(path)) for path in paths}
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 0)

    again = reader_of()

    assert {path: shown(again.read_session(path)) for path in paths} == expected
    assert any(again.read_session(path)._messages[0].text == "" for path in paths)


def test_a_reply_on_several_lines_is_read_again_as_one(
    claude: Path, reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shown(reader_of().read_session(CLAUDE))
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 0)

    session = reader_of().read_session(CLAUDE)

    assert shown(session) == expected
    assert ("assistant", "first 7\nsecond 7", 37, 40) in [row[:4] for row in expected]
    assert session.lines_of([row[1] for row in expected].index("first 7\nsecond 7")) == (37, 40)


@pytest.mark.parametrize("sample", ["gemini", "codex"])
def test_what_cannot_be_picked_out_shows_its_beginning_and_is_whole_on_demand(
    sample: str, reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = reader_of(sample)
    (path,) = [one.path for one in held._finder.look()[0] if one.absolute.endswith((".zst", "5d2f7c1a.jsonl"))]
    whole = [held.read_session(path).whole(seq) for seq in range(len(held.read_session(path)))]
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 0)
    monkeypatch.setattr(view, "HELD_CHARACTERS", 0)
    monkeypatch.setattr(reader, "LEAN_CHARACTERS", 12)

    session = reader_of().read_session(path)

    assert all(len(message.text) <= 12 for message in session.messages())
    assert [session.whole(seq) for seq in range(len(session))] == whole


def test_a_view_of_a_large_file_holds_little(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pi(("user", f"turn {number} " + "kiln " * 5000) for number in range(1500))
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 200_000)
    tracemalloc.start()
    session = reader_of().read_session(PI)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert file.stat().st_size > 32 << 20
    assert held < 4 << 20
    assert peak < 12 << 20
    assert session.message(1400).text.startswith("turn 1400 kiln")
    assert session.message(1400).cut
    assert session.whole(1400, most=10_000).startswith("turn 1400 kiln")


def test_a_large_file_opens_near_a_line_and_reads_no_more_than_that(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    pi(("user" if number % 2 else "assistant", f"turn {number} " + "kiln " * 4000) for number in range(600))
    parsed: list[bytes] = []
    parse = parser.parse_record
    monkeypatch.setattr(parser, "parse_record", lambda data: (parsed.append(data), parse(data))[1])

    part = reader_of().read_near(PI, 301)

    seq = part.at_line(301)
    assert seq is not None
    assert part.is_part
    assert part.message(seq).text.startswith("turn 300 kiln")
    assert part.line_count == 600
    assert 20 < len(parsed) < 200
    assert 0 < seq < len(part) - 1


@pytest.mark.parametrize("line", [1, 600, 9999])
def test_a_part_at_the_ends_begins_and_ends_there(
    line: int, pi: Callable[..., Path], reader_of: Callable[..., SessionReader]
) -> None:
    pi(("user", f"turn {number} " + "kiln " * 4000) for number in range(600))

    part = reader_of().read_near(PI, line)

    assert part.place(0 if line == 1 else len(part) - 1) == ((1, 1) if line == 1 else (600, 600))


def test_a_part_and_the_whole_know_each_others_messages(
    claude: Path, reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_SMALL_FILE", 0)
    part = reader_of().read_near(CLAUDE, 100)
    whole = reader_of().read_session(CLAUDE)

    for seq in range(len(part)):
        same = whole.same_as(part, seq)
        assert same is not None
        assert whole.message(same).text == part.message(seq).text
    assert whole.same_as(reader_of().read_session(CLAUDE), 3) == 3


def test_a_small_file_and_one_that_was_read_are_given_whole(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    pi([("user", "one"), ("assistant", "two")])
    sessions = reader_of()
    assert not sessions.read_near(PI, 1).is_part

    monkeypatch.setattr(reader, "_SMALL_FILE", 0)

    assert sessions.read_near(PI, 2) is sessions.read_session(PI)


def test_a_store_of_many_events_opens_near_one(
    reader_of: Callable[..., SessionReader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = reader_of("openclaw-sqlite")
    with sqlite3.connect(tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite") as store:
        for seq in range(7, 900):
            event = json.dumps({"type": "message", "message": {"role": "user", "content": f"more {seq}"}})
            store.execute(
                "INSERT INTO transcript_events SELECT session_id, ?, ?, 1, NULL, 9, NULL FROM session_windows",
                (seq, event),
            )
    store.close()
    monkeypatch.setattr(reader, "_SMALL_STORE", 10)

    part = sessions.read_near("sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl", 500)

    seq = part.at_line(500)
    assert seq is not None
    assert (part.is_part, part.message(seq).text, part.line_count) == (True, "more 499", 900)


def test_only_what_was_added_is_read(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    pi([("user", f"turn {number}") for number in range(50)])
    sessions = reader_of()
    before = sessions.read_session(PI)
    parsed: list[bytes] = []
    parse = parser.parse_record
    monkeypatch.setattr(parser, "parse_record", lambda data: (parsed.append(data), parse(data))[1])

    for number in (50, 51):
        pi([("assistant", f"turn {number}")], first=number, mode="a")
        assert not before.is_current
        before = sessions.read_session(PI)

    assert len(parsed) == 2
    assert [message.text for message in before.messages(48)] == ["turn 48", "turn 49", "turn 50", "turn 51"]
    assert shown(before) == shown(reader_of().read_session(PI))


@pytest.mark.parametrize("dialect", ["claude", "branch"])
def test_a_view_that_was_read_on_is_the_one_that_is_read_at_once(
    dialect: str, pi: Callable[..., Path], claude: Path, reader_of: Callable[..., SessionReader]
) -> None:
    """A reply that goes on, and a branch that leaves messages behind, change what was there before."""
    pi([("user", f"turn {number}") for number in range(5)])
    file, path = (claude, CLAUDE) if dialect == "claude" else (pi([("user", "a"), ("assistant", "b")]), PI)
    lines = file.read_bytes().splitlines(keepends=True)
    if dialect == "branch":
        entry = {"type": "message", "id": "z", "parentId": None, "message": {"role": "user", "content": "other"}}
        lines.append(json.dumps(entry).encode() + b"\n")
    sessions = reader_of()
    for end in (1, len(lines) // 2 + 1, len(lines) - 1, len(lines)):
        file.write_bytes(b"".join(lines[: end - 1]) + lines[end - 1][:10])
        with file.open("ab") as out:
            out.write(lines[end - 1][10:])
        assert shown(sessions.read_session(path)) == shown(reader_of().read_session(path))


def test_a_file_that_was_rewritten_is_read_anew(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader]
) -> None:
    pi([("user", "one"), ("assistant", "two")])
    sessions = reader_of()
    sessions.read_session(PI)
    pi([("user", "uno"), ("assistant", "due"), ("user", "tre")])

    assert [message.text for message in sessions.read_session(PI).messages()] == ["uno", "due", "tre"]


def test_a_deleted_file_can_be_read_on_in_an_open_view(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 0)
    file = pi([("user", "one"), ("assistant", "two")])
    session = reader_of().read_session(PI)
    session.message(0)
    file.unlink()

    assert session.is_gone
    assert session.message(1).text == "two"
    assert '"two"' in session.raw(2)


def test_reading_can_be_given_up(pi: Callable[..., Path], reader_of: Callable[..., SessionReader]) -> None:
    pi([("user", f"turn {number}") for number in range(3000)])
    cancel = threading.Event()
    cancel.set()

    with pytest.raises(SyncCancelled):
        reader_of().read_session(PI, cancel)


def test_the_cost_of_a_message_is_known_before_it_is_read(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "HELD_CHARACTERS", 0)
    pi([("user", "one"), ("assistant", "kiln " * 50_000)])
    session = reader_of().read_session(PI)

    assert session.cost(0) == -1  # the file is not open yet
    session.message(0)
    assert session.cost(0) == 0
    assert session.cost(1) > 250_000
    session.message(1)
    assert session.cost(1) == 0


def test_a_session_is_found_again_without_another_search(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    pi([("user", "one")])
    sessions = reader_of()
    sessions.read_session(PI)
    looked: list[object] = []
    look = Finder.look
    monkeypatch.setattr(Finder, "look", lambda self, *given, **how: (looked.append(1), look(self, *given, **how))[1])

    pi([("assistant", "two")], first=1, mode="a")

    assert len(sessions.read_session(PI)) == 2
    assert not looked


def test_base64_is_one_mark_in_messages_and_records(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader]
) -> None:
    pi([("user", "see " + "iVBORw0KGgo" * 300_000 + " there")])
    session = reader_of().read_session(PI)

    assert session.message(0).text == "see [base64] there"
    assert session.raw(1).count("[base64]") == 1


# -- where text is cut


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("one two three", 20, "one two three"),
        ("one two three", 9, "one two "),
        ("one two three", 7, "one two"),
        ("日本語のテキスト", 3, "日本語"),
    ],
)
def test_a_cut_goes_through_no_word(text: str, most: int, kept: str) -> None:
    assert cut_words(text, most) == kept


def test_a_cut_through_a_very_long_word_takes_what_follows_its_last_delimiter() -> None:
    text = '{"a":' + '"b",' * 300 + f'"key":"{SECRET}"}}'

    assert cut_words(text, text.index(SECRET) + 8) == text[: text.index(SECRET)]


def test_a_long_text_without_blanks_still_shows_its_beginning(
    pi: Callable[..., Path], reader_of: Callable[..., SessionReader]
) -> None:
    rows = json.dumps([{"n": number, "key": SECRET} for number in range(400)], separators=(",", ":"))
    pi([("toolResult", rows)])

    message = reader_of().read_session(PI).message(0)

    assert message.cut
    assert len(message.text) > 2500
    assert "sk-proj-abc" not in message.text
    assert replace(message, text="").line_start == 1
