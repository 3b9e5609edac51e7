"""Transcripts for people and tools: views, raw records, ranges; masked and bounded, also of huge files."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from core.settings.model import Sessions
from core.sources.redaction import Redactor
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.ranges import render_stored
from core.sources.transcripts.reader import SessionReader
from core.sources.transcripts.view import SHOWN_CHARACTERS
from tests.shelf import said

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
SECRET = "sk-proj-abcdefghijklmnop1234567890"
MEBIBYTE = 1 << 20
OPENCLAW = "sessions/openclaw/7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl"


@pytest.fixture
def reader_of(tmp_path: Path) -> Callable[..., SessionReader]:
    def make(*samples: str) -> SessionReader:
        for sample in samples:
            shutil.copytree(SAMPLES / sample, tmp_path, dirs_exist_ok=True)
        agents = ("openclaw", "claude-code", "codex", "pi", "gemini", "opencode")
        finder = Finder(Sessions(agents=agents), home=tmp_path, environ={}, agent_id="main")
        return SessionReader(finder, Redactor())

    return make


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., str]:
    """Writes a session of pi and gives the path of its document."""

    def write(*messages: tuple[str, object]) -> str:
        path = tmp_path / ".pi/agent/sessions/--w--/2026-11-03T09-10-00-000Z_s1.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            for role, content in messages:
                message = {"role": role, "content": content, "toolCallId": "c"}
                file.write(json.dumps({"type": "message", "message": message}) + "\n")
        return "sessions/pi/s1.jsonl"

    return write


@pytest.mark.parametrize("sample", ["openclaw-jsonl", "openclaw-sqlite"])
def test_view_has_all_roles_with_their_lines(sample: str, reader_of: Callable[..., SessionReader]) -> None:
    view = reader_of(sample).read_session(OPENCLAW)

    assert [(message.role, message.line_start) for message in view.messages()] == [
        ("user", 3),
        ("thinking", 4),
        ("assistant", 4),
        ("tool", 4),
        ("tool", 5),
        ("summary", 6),
        ("assistant", 7),
    ]
    assert view.session.title == "Kiln"
    assert view.message(6).ts == 1793697040000


@pytest.mark.parametrize(("line", "seq"), [(1, 0), (3, 0), (4, 2), (5, 4), (7, 6), (99, 6)])
def test_hit_opens_at_the_message_of_its_line(line: int, seq: int, reader_of: Callable[..., SessionReader]) -> None:
    assert reader_of("openclaw-jsonl").read_session(OPENCLAW).at_line(line) == seq


@pytest.mark.parametrize("sample", ["openclaw-jsonl", "openclaw-sqlite"])
def test_raw_record_is_shown_indented(sample: str, reader_of: Callable[..., SessionReader]) -> None:
    raw = reader_of(sample).read_session(OPENCLAW).raw(6)

    assert '"type": "compaction"' in raw
    assert raw.count("\n") > 5


def test_raw_record_of_a_packed_file_is_found(reader_of: Callable[..., SessionReader]) -> None:
    view = reader_of("codex").read_session("sessions/codex/019a0001-2222-7333-8444-555566667777.jsonl")

    assert "Ramp 60C per hour" in view.raw(4)
    assert view.raw(99) == ""


def test_raw_of_a_store_without_records_shows_what_is_known(reader_of: Callable[..., SessionReader]) -> None:
    raw = reader_of("opencode").read_session("sessions/opencode/ses_5c2f01a7cffeKilnDemo0000001.jsonl").raw(2)

    assert "Lower ki to 0.25" in raw
    assert "rg -n ki pid.py" in raw


def test_everything_shown_is_masked(reader_of: Callable[..., SessionReader], talk: Callable[..., str]) -> None:
    path = talk(("user", f"API_KEY={SECRET}"), ("toolResult", f'{{"token": "{SECRET}"}}'))
    reader = reader_of()
    view = reader.read_session(path)

    shown = [*(message.text for message in view.messages()), view.whole(0), view.raw(1), view.raw(2)]

    assert all(SECRET not in text for text in shown)
    assert SECRET not in reader.render_range(path).text


@pytest.mark.parametrize("shift", range(0, 700, 50))
def test_secret_at_the_cut_of_a_long_message_is_not_shown_in_half(
    shift: int, reader_of: Callable[..., SessionReader], talk: Callable[..., str]
) -> None:
    words = "kiln " * 1000
    path = talk(("user", words[: SHOWN_CHARACTERS + 650 - shift] + f" {SECRET} " + words))
    view = reader_of().read_session(path)

    for text in (view.message(0).text, view.raw(1, most=SHOWN_CHARACTERS)):
        assert "sk-proj-abc" not in text


def test_long_message_is_cut_and_given_whole_on_demand(
    reader_of: Callable[..., SessionReader], talk: Callable[..., str]
) -> None:
    text = "kiln " * 5000
    view = reader_of().read_session(talk(("user", text), ("assistant", "short")))

    assert view.message(0).cut
    assert len(view.message(0).text) <= SHOWN_CHARACTERS
    assert view.whole(0) == text
    assert not view.message(1).cut


def test_view_follows_a_file_that_grows(
    reader_of: Callable[..., SessionReader], talk: Callable[..., str], tmp_path: Path
) -> None:
    path = talk(("user", "one"))
    reader = reader_of()
    first = reader.read_session(path)
    assert reader.read_session(path) is first

    talk(("user", "one"), ("assistant", "two"))

    assert len(reader.read_session(path)) == 2


def test_view_follows_a_store_that_grows(reader_of: Callable[..., SessionReader], tmp_path: Path) -> None:
    reader = reader_of("openclaw-sqlite")
    before = len(reader.read_session(OPENCLAW))
    with sqlite3.connect(tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite") as store:
        event = json.dumps({"type": "message", "message": {"role": "user", "content": "more"}})
        store.execute(
            "INSERT INTO transcript_events SELECT session_id, 7, ?, 1, NULL, 9, NULL FROM session_windows", (event,)
        )
    store.close()

    assert len(reader.read_session(OPENCLAW)) == before + 1


def test_what_was_said_stands_on_its_physical_line(reader_of: Callable[..., SessionReader]) -> None:
    assert reader_of("openclaw-jsonl").said_by_line(OPENCLAW) == [
        "",
        "",
        "User: Why does the kiln overshoot at 1060C?",
        "Assistant: I will read the PID gains.",
        "",
        "",
        "Assistant: Lower ki to 0.25; the integral term winds up during the ramp.",
    ]


def test_huge_lines_cost_no_memory(reader_of: Callable[..., SessionReader], talk: Callable[..., str]) -> None:
    image = [{"type": "image", "data": "iVBORw0KGgo+" * MEBIBYTE}, {"type": "text", "text": "see"}]
    path = talk(("user", image), ("assistant", "kiln " * MEBIBYTE), ("user", "after"))
    reader = reader_of()

    tracemalloc.start()
    view = reader.read_session(path)
    raw = view.raw(1), view.raw(2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [len(message.text) <= SHOWN_CHARACTERS for message in view.messages()] == [True] * 3
    assert all(len(text) < 21_000 for text in raw)
    assert "[base64]" in raw[0]
    assert peak < 80 * MEBIBYTE


def test_missing_session_is_an_error(reader_of: Callable[..., SessionReader]) -> None:
    with pytest.raises(FileNotFoundError):
        reader_of().read_session("sessions/pi/none.jsonl")


# -- ranges


def test_range_gives_the_messages_of_the_physical_lines(reader_of: Callable[..., SessionReader]) -> None:
    reader = reader_of("openclaw-jsonl")

    result = reader.render_range(OPENCLAW, 4, 4)

    assert result.text == (
        "Assistant: I will read the PID gains.\n"
        "Assistant: Lower ki to 0.25; the integral term winds up during the ramp."
    )
    assert (result.status, result.from_line, result.lines) == ("ok", 4, 4)
    assert (result.truncated, result.next_from) == (True, 8)


def test_range_without_messages_is_empty_and_says_where_more_follows(reader_of: Callable[..., SessionReader]) -> None:
    result = reader_of("openclaw-jsonl").render_range(OPENCLAW, 1, 2)

    assert (result.status, result.next_from) == ("empty", 3)
    assert reader_of().render_range(OPENCLAW, 99).next_from is None


@pytest.mark.parametrize(("from_line", "lines"), [(0, None), (-1, None), (1, 0)])
def test_ranges_that_cannot_be_are_refused(
    from_line: int, lines: int | None, reader_of: Callable[..., SessionReader]
) -> None:
    assert reader_of("openclaw-jsonl").render_range(OPENCLAW, from_line, lines).status == "not_allowed"


def test_range_is_bounded_and_goes_on_with_a_whole_message(
    reader_of: Callable[..., SessionReader], talk: Callable[..., str]
) -> None:
    path = talk(*(("user", f"turn {number} " + "kiln " * 500) for number in range(20)))
    reader = reader_of()
    seen = []
    next_from: int | None = 1
    while next_from is not None:
        result = reader.render_range(path, next_from)
        assert len(result.text) <= 12_000
        seen.extend(line for line in result.text.split("\n") if line.startswith("User: turn"))
        next_from = result.next_from

    assert [line.split()[2] for line in seen] == [str(number) for number in range(20)]


def test_one_huge_message_is_bounded(reader_of: Callable[..., SessionReader], talk: Callable[..., str]) -> None:
    result = reader_of().render_range(talk(("user", "kiln " * 100_000), ("user", "after")))

    assert len(result.text) <= 12_000
    assert (result.truncated, result.lines, result.next_from) == (True, 1, 2)


def test_range_of_a_large_file_reads_only_its_lines(
    reader_of: Callable[..., SessionReader], talk: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk(
        *(("user" if number % 2 else "toolResult", f"turn {number} " + "kiln " * 4000) for number in range(500))
    )
    reader = reader_of()
    from core.sources.transcripts import parser

    seen: list[bytes] = []
    parse = parser.parse_record
    monkeypatch.setattr(parser, "parse_record", lambda data: (seen.append(data), parse(data))[1])

    result = reader.render_range(path, 400, 2)

    assert result.text.startswith("User: turn 399 ")
    assert len(seen) == 2


def test_text_of_a_transcript_that_is_gone_comes_from_the_chunks() -> None:
    lines = [f"User: turn {number} kiln ramp" for number in range(30)]
    lines[10] = "Assistant: two " + "x" * 900
    numbers = [3 + number // 2 for number in range(30)]
    chunks = said(lines, numbers, tokens=60, overlap=30)
    assert sum(chunk.text.count("\n") + 1 for chunk in chunks) > len(lines) + 10

    whole = render_stored("sessions/pi/s.jsonl", chunks)
    part = render_stored("sessions/pi/s.jsonl", chunks, 5, 4)

    assert whole.text.split("\n") == lines
    assert part.text.split("\n") == lines[4:12]
    assert part.next_from == 9
