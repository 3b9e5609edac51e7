"""How the messages of a transcript become lines."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from core.sources.redaction import Redactor
from core.sources.transcripts.render import render, wrapped
from tests.transcript_text import all_sessions, openclaw_store, read

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
