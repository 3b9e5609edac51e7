"""Tokens are counted as tiktoken counts them, whatever the text."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

import pytest
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MemdeckError
from core.text import tokens
from core.text.tokens import TokenCounter
from tests.costs import costs_at_most

COUNTER = TokenCounter()
PIECES = st.sampled_from(
    ["word", " ", "  ", "\n", "\n\n", "\t", "\r", "!", "...", "))", "---", "'s", "123456", "<|endoftext|>", "会议", "é",
     "👩‍💻", "\u3000", "\u2028", "x" * 40, "=" * 70, " " * 90, "। ", "。"]
)  # fmt: skip
MIXED = st.lists(PIECES, max_size=60).map("".join)


def test_the_pattern_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *args, **kwargs: {})
    assert tiktoken_ext.openai_public.cl100k_base()["pat_str"] == tokens._PATTERN


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("お誕生日おめでとう", 9),
    ],
)
def test_known_counts(text: str, count: int) -> None:
    assert COUNTER.count(text) == count


def test_special_token_text_is_ordinary() -> None:
    assert COUNTER.count("<|endoftext|>") == 7
    assert COUNTER.counts(["<|endofprompt|>", "a"]) == [COUNTER.count("<|endofprompt|>"), 1]


@pytest.mark.parametrize("run", [" ", "\u3000", "\t", "a", "=", "\n"])
def test_a_run_that_the_encoder_cannot_take_is_counted(run: str) -> None:
    count = COUNTER.count(run * 1_200_000 + "x")
    assert 1_200_000 / tokens.LONGEST_TOKEN <= count <= 1_200_001 * 3


def test_long_text_is_counted_exactly() -> None:
    text = "some words, then a line\n  and (another) one…\n" * 30_000
    assert len(text) > 1_000_000
    assert COUNTER.count(text) == COUNTER.count(text[:45]) * 30_000


@given(MIXED | st.text(), st.integers(4, 60))
def test_pieces_are_within_the_budget_and_lose_nothing(text: str, budget: int) -> None:
    pieces = COUNTER.split(text, budget)
    assert "".join(pieces) == text
    assert all(0 < COUNTER.count(piece) <= budget for piece in pieces)


@pytest.mark.parametrize("budget", [0, 1])
def test_a_character_is_never_cut(budget: int) -> None:
    assert COUNTER.split("👩会x", budget) == ["👩", "会", "x"]


def test_pieces_end_where_sentences_end() -> None:
    text = "This is a sentence of some words. " * 40
    pieces = COUNTER.split(text, 100)
    assert all(piece.endswith(". ") for piece in pieces)
    assert min(map(len, pieces)) > max(map(len, pieces)) / 2
    assert all(piece.endswith("。") for piece in COUNTER.split("明天下午三点开项目评审会议。" * 40, 100))


@given(st.lists(MIXED.filter(lambda text: "\r" not in text), max_size=12))
def test_counts_at_line_starts_add_up(parts: list[str]) -> None:
    text = "\n".join(parts)
    lines = text.split("\n")
    starts = [len("\n".join(lines[:i])) + (1 if i else 0) for i, line in enumerate(lines) if line.strip()]
    counts = COUNTER.line_counts(text, starts, 10**6)
    ends = [*starts, len(text)][1:]
    assert counts == [COUNTER.count(text[start:end]) for start, end in zip(starts, ends, strict=True)]
    if starts:
        assert sum(counts) == COUNTER.count(text[starts[0] :])


ASCII = st.lists(
    st.one_of(
        st.text(st.characters(max_codepoint=127), max_size=12),
        st.sampled_from(["  ", " \n", "\n\n", "\r\n", "\t", "\x0b\x0c", "\x1c", "'ll", "'S", "1234567", "...\n", " ("]),
        st.sampled_from(["the", " of", "a" * 60, "=" * 40, " " * 50, "é", "日本語", "\u2028", "ſ"]),
    ),
    max_size=40,
).map("".join)


@settings(max_examples=400)
@given(ASCII)
def test_a_count_is_the_encoders_own(text: str) -> None:
    assert COUNTER.count(text) == len(COUNTER._encode(text))


@settings(max_examples=400)
@given(st.lists(ASCII.map(lambda line: f"x{line}\n"), min_size=1, max_size=8))
def test_counts_of_lines_are_the_encoders_own(parts: list[str]) -> None:
    text = "".join(parts)
    starts = [0, *accumulate(map(len, parts))][:-1]
    assert sum(COUNTER.line_counts(text, starts, 10_000)) == len(COUNTER._encode(text))
    if "\r" not in text:
        assert COUNTER.line_counts(text, starts, 10_000) == [len(COUNTER._encode(part)) for part in parts]


def test_counts_stay_right_when_pieces_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MOST_PIECES", 3)
    counter = TokenCounter()
    text = "the kiln cools, the glaze sets, the shelf waits"
    assert [counter.count(text) for _ in range(3)] == [len(counter._encode(text))] * 3
    assert len(counter._pieces) <= 3


def test_counts_far_beyond_the_limit_are_not_made() -> None:
    text = "short\n" + "x" * 5_000_000 + "\nshort\n"
    counts = COUNTER.line_counts(text, [0, 6, 5_000_007], 100)
    assert counts == [2, 101, 2]


@pytest.mark.parametrize("run", ["a", " ", "=", "会", "\ufffd", "\u0301"])
def test_splitting_a_long_run_costs_little_more_than_counting_it(run: str) -> None:
    text = run * 200_000
    costs_at_most(5, lambda: COUNTER.split(text, 400), lambda: COUNTER.count(text))


def test_threads_share_a_counter() -> None:
    counter = TokenCounter()
    together = threading.Barrier(8)

    def count(_: int) -> int:
        together.wait()
        return counter.count("hello world")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(8))) == [2] * 8


def test_nothing_is_fetched_or_left_behind(tmp_path: Path) -> None:
    script = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "from core.text.tokens import TokenCounter\n"
        "print(TokenCounter().count('hello world'))\n"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "2", run.stderr
    assert list(tmp_path.iterdir()) == []


def test_loading_waits_for_the_first_use() -> None:
    script = "import sys, core.text.tokens as t; t.TokenCounter(); print('tiktoken' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "False", run.stderr


def test_damaged_ranks_are_named(tmp_path: Path) -> None:
    damaged = tmp_path / "ranks"
    damaged.write_bytes(b"IQ== 0\n")
    with pytest.raises(MemdeckError, match="damaged"):
        TokenCounter(damaged).count("x")
    with pytest.raises(MemdeckError, match="cannot be read"):
        TokenCounter(tmp_path / "none").count("x")
