"""A large transcript by its physical lines: the same text as when it is read whole, but only where one looks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.settings.model import Sessions
from core.sources.redaction import Redactor
from core.sources.transcripts import reader as reading
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.reader import SessionReader
from core.sources.transcripts.said import READ_AT_ONCE, SaidLines
from core.sources.transcripts.view import SAID_CHARACTERS

PATH = "sessions/pi/s1.jsonl"
SECRET = "sk-proj-abcdefghijklmnop1234567890"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[SessionReader, SaidLines]]:
    """Writes a session of pi, (role, text) on each line, and opens it as a large one."""

    def write(*messages: tuple[str, str]) -> tuple[SessionReader, SaidLines]:
        path = tmp_path / ".pi/agent/sessions/--w--/2026-11-03T09-10-00-000Z_s1.jsonl"
        path.parent.mkdir(parents=True)
        with path.open("w") as file:
            for role, text in messages:
                content = [{"type": "text", "text": text}]
                message = {"role": role, "content": content, "toolCallId": "c"}
                file.write(json.dumps({"type": "message", "message": message}) + "\n")
        monkeypatch.setattr(reading, "_SMALL_FILE", 0)
        reader = SessionReader(Finder(Sessions(agents=("pi",)), home=tmp_path, environ={}, agent_id="main"), Redactor())
        source = reader.said_lines(PATH)
        assert isinstance(source, SaidLines)
        return reader, source

    return write


TALK = (
    ("user", "first\nwords"),
    ("toolResult", "not said"),
    ("assistant", f"the key is {SECRET} 日本語"),
    ("toolResult", "x" * 100_000),
    ("user", "long " * 3000),
    ("assistant", "last"),
)


def test_lines_are_those_of_a_transcript_that_is_read_whole(
    said: Callable[..., tuple[SessionReader, SaidLines]],
) -> None:
    reader, source = said(*TALK)
    assert source.lines(1, 99) == reader.said_by_line(PATH)
    assert [source.line(number) for number in (1, 2, 6)] == ["User: first words", "", "Assistant: last"]


def test_secrets_are_masked_also_where_a_long_message_is_cut(
    said: Callable[..., tuple[SessionReader, SaidLines]],
) -> None:
    _, source = said(
        ("user", "w " * (SAID_CHARACTERS // 2 - 5) + SECRET),
        ("user", "w " * (SAID_CHARACTERS // 2 + 292) + SECRET + " x" * 9000),
    )
    text = "".join(piece.text for piece in source.pieces())
    assert "abcdefghij" not in text
    assert len(source.line(1)) <= SAID_CHARACTERS + 10


def test_only_the_lines_that_are_asked_for_are_read(said: Callable[..., tuple[SessionReader, SaidLines]]) -> None:
    _, source = said(*(("user", f"turn {number}") for number in range(1000)))
    read: list[int] = []
    pread = source._read
    source._read = lambda offset, length: read.append(length) or pread(offset, length)
    assert source.line(500) == "User: turn 499"
    assert source.line(500) == "User: turn 499"
    assert sum(read) == source.line_bytes(500)


def test_of_long_lines_only_so_much_is_kept(
    said: Callable[..., tuple[SessionReader, SaidLines]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.sources.transcripts.said._CHARACTERS_KEPT", 50_000)
    _, source = said(*(("user", f"turn {number} " + "word " * 4000) for number in range(8)))
    lines = source.lines(1, 99)
    assert [len(line) > 20_000 for line in lines] == [True] * 8
    assert list(source._said) == [7, 8]
    assert source._held == sum(map(len, source._said.values()))
    assert source.lines(1, 99) == lines


@pytest.mark.parametrize("size", [1, 500, 1 << 20])
def test_pieces_together_are_all_lines(said: Callable[..., tuple[SessionReader, SaidLines]], size: int) -> None:
    _, source = said(*TALK)
    pieces = list(source.pieces(2, 5, size=size))
    assert "".join(piece.text for piece in pieces) == "".join(f"{line}\n" for line in source.lines(2, 4))
    assert sum(piece.size for piece in pieces) == source.span_bytes(2, 5)


def test_a_large_record_is_not_read_while_drawing_until_it_was_read(
    said: Callable[..., tuple[SessionReader, SaidLines]],
) -> None:
    _, source = said(*TALK)
    assert source.line_bytes(4) > READ_AT_ONCE
    assert [source.ready(number) for number in (1, 4)] == [True, False]
    source.line(4)
    assert source.ready(4)


def test_a_part_of_a_line_is_found_again(said: Callable[..., tuple[SessionReader, SaidLines]]) -> None:
    _, source = said(("user", "日本語" * 900 + "needle"))
    offset = source.offset_of(1, 0, source.line(1).index("needle"))
    assert source.part(1, offset, 6) == "needle"


def test_a_small_transcript_knows_the_branches_that_were_left(
    said: Callable[..., tuple[SessionReader, SaidLines]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = said(*TALK)
    monkeypatch.setattr(reading, "_SMALL_FILE", 1 << 30)
    source = reader.said_lines(PATH)
    assert not isinstance(source, SaidLines)
    assert source.lines(1, 99) == reader.said_by_line(PATH)
