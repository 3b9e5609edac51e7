"""Growth: any split of the bytes in time gives the same index, and chunks go on where they were."""

from __future__ import annotations

import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.chunking import chunk_document
from core.sync import session_intake
from core.sync.session_counter import SessionCounter
from core.sync.session_cuts import Cut, cut_lines, settled_cuts
from tests.growing import COUNTER, FILES, Index, claude_record, codex_record, tree_record
from tests.shelf import said

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
    at_once=st.sampled_from([1, 700, 5000, 1 << 22]),
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
    at_once: int,
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

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", at_once)
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
    monkeypatch.undo()
    whole = Index(home, agent, "whole.sqlite", include_tools=all_roles, include_thinking=all_roles)
    whole.sync()

    assert grown.rows() == whole.rows()
    grown.close()
    whole.close()
    shutil.rmtree(home)


# -- cutting and counting


def cut(lines: list[str], tokens: int, overlap: int) -> list[Cut]:
    return cut_lines(lines, SessionCounter(COUNTER), tokens, overlap)


def text_of(lines: list[str], one: Cut) -> str:
    return "\n".join(lines[one.first : one.last + 1]) if one.piece is None else one.piece


@given(
    lines=st.lists(st.sampled_from(["kiln " * 3, "ramp " * 60, "x" * 3000, "会议" * 40]), min_size=1, max_size=30),
    settled=st.integers(0, 30),
)
@settings(max_examples=150)
def test_settled_cuts_stay_whatever_follows(lines: list[str], settled: int) -> None:
    lines = [f"User: {line}".strip() for line in lines]
    settled = min(settled, len(lines))
    before = cut(lines, 60, 12)
    kept, begin = settled_cuts(before, settled)

    following = [*lines[:settled], "Assistant: something else " * 9, "User: more"]
    again = [text_of(following, one) for one in cut(following, 60, 12)]
    tail = [text_of(following[begin:], one) for one in cut(following[begin:], 60, 12)]

    assert again == [*(text_of(lines, one) for one in before[:kept]), *tail]


def test_a_line_map_carries_chunks_to_physical_lines() -> None:
    lines = [f"User: message number {number}" for number in range(12)]
    physical = [2, 2, 3, 5, 8, 8, 9, 12, 13, 13, 13, 20]
    times = [None, 10, 30, 20, None, None, 50, 60, 70, 80, 90, 100]
    chunks = said(lines, physical, times, tokens=20, overlap=0)
    first = 0
    for chunk in chunks:
        last = first + chunk.text.count("\n") + 1
        assert chunk.line_map == tuple(physical[first:last])
        assert (chunk.start_line, chunk.end_line) == (physical[first], physical[last - 1])
        known = [time for time in times[first:last] if time is not None]
        assert chunk.observed_ms == max(known, default=None)
        assert chunk.observed_from_ms == (min(known) if len(set(known)) > 1 else None)
        first = last
    assert first == 12


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


LINES = st.lists(st.lists(PIECES, min_size=1, max_size=60).map(" ".join), min_size=1, max_size=12)


@given(LINES, st.integers(5, 200), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_cuts_are_the_chunks_of_the_same_text(lines: list[str], tokens: int, overlap: int) -> None:
    chunks = chunk_document("\n".join(lines), tokens=tokens, overlap=overlap, counter=COUNTER, markdown=False)
    cuts = cut(lines, tokens, overlap)
    whole = [(one.first + 1, one.last + 1, text_of(lines, one)) for one in cuts if one.piece is None]
    assert whole == [
        (chunk.start_line, chunk.end_line, chunk.text)
        for chunk in chunks
        if chunk.start_line != chunk.end_line or chunk.text == lines[chunk.start_line - 1]
    ]
    assert {one.first + 1 for one in cuts if one.piece is not None} == {
        chunk.start_line
        for chunk in chunks
        if chunk.start_line == chunk.end_line and chunk.text != lines[chunk.start_line - 1]
    }


@given(LINES, st.integers(20, 60))
def test_counter_of_rendered_lines_gives_what_the_counter_behind_it_gives(lines: list[str], budget: int) -> None:
    counter = SessionCounter(COUNTER)
    costs, bare = counter.line_costs(lines, 10_000)

    assert bare == [COUNTER.count(line) for line in lines]
    assert costs == [COUNTER.count(f"{line}\n") for line in lines]
    pieces = counter.split(lines[0], budget)
    assert "".join(pieces) == lines[0]
    assert all(COUNTER.count(piece) <= budget for piece in pieces)


def test_a_line_beyond_all_budgets_is_not_counted() -> None:
    costs, bare = SessionCounter(COUNTER).line_costs(["word " * 10_000], 100)
    assert costs == bare == [101]
