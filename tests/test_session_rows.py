"""The rows of the sessions list, rows of wrapped text, and the way from hit to hit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from core import Hit, ScoreParts, SearchResult, SessionInfo
from tui.session_rows import families, narrowed
from tui.trail import Trail, request_within
from tui.wrapping import wrapped


def info(name: str, **more: object) -> SessionInfo:
    plain = SessionInfo(
        path=f"sessions/pi/{name}.jsonl", dialect="pi", title=name, session=name, cwd="/src", model="", started=0,
        ended=0, messages=1, size=1, chunks=1, kind="main", parent="", source="/x",
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def hit(line: int, path: str = "sessions/pi/a.jsonl") -> Hit:
    return Hit(line, "sessions", path, line, line, line, 0.5, ScoreParts(0.5), "")


def test_subagents_of_subagents_stand_under_the_outermost_session() -> None:
    sessions = [
        info("main"),
        info("sub", kind="subagent", parent="sessions/pi/main.jsonl"),
        info("subsub", kind="subagent", parent="sessions/pi/sub.jsonl"),
        info("lost", kind="subagent", parent="sessions/pi/nobody.jsonl"),
    ]
    found = families(sessions, None)
    assert [(one.row.title, [child.title for child in one.children]) for one in found] == [
        ("main", ["sub", "subsub"]),
        ("lost", []),
    ]


def test_subagents_that_name_each_other_are_shown_all_the_same() -> None:
    sessions = [
        info("a", kind="subagent", parent="sessions/pi/b.jsonl"),
        info("b", kind="subagent", parent="sessions/pi/a.jsonl"),
    ]
    found = families(sessions, None)
    assert {row.title for one in found for row in (one.row, *one.children)} == {"a", "b"}


def test_a_fork_stands_by_itself() -> None:
    assert len(families([info("main"), info("fork", parent="sessions/pi/main.jsonl")], None)) == 2


@pytest.mark.parametrize(
    ("query", "opened", "titles"),
    [
        ("", set(), ["main", "other"]),
        ("", {"sessions/pi/main.jsonl"}, ["main", "sub", "other"]),
        ("SUB", set(), ["main", "sub"]),
        ("main", set(), ["main"]),
        ("other pi", set(), ["other"]),
        ("none", set(), []),
    ],
)
def test_words_narrow_the_list(query: str, opened: set[str], titles: list[str]) -> None:
    sessions = [info("main"), info("sub", kind="subagent", parent="sessions/pi/main.jsonl"), info("other")]
    assert [row.title for row in narrowed(families(sessions, None), query, opened)] == titles


@given(st.text(st.sampled_from("ab  \n日本é\u0301👨‍👩‍👧Z"), max_size=200), st.integers(4, 30))
def test_rows_fit_and_lose_no_word(text: str, cells: int) -> None:
    rows = wrapped(text, cells)
    assert all(cell_len(row) <= cells for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one two three", ["one two", "three"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("", [""]),
        ("a\n\nb", ["a", "", "b"]),
        ("日本語の文章です", ["日本語の", "文章です"]),
        ("    indented line", ["    inde", "nted", "line"]),
    ],
)
def test_text_breaks_at_blanks(text: str, rows: list[str]) -> None:
    assert wrapped(text, 8) == rows


def test_hits_of_one_transcript_are_walked_through_by_line_and_around_the_ends() -> None:
    result = SearchResult("q", hits=(hit(30), hit(5, "sessions/pi/b.jsonl"), hit(10), hit(20)), terms=("q",))
    trail = Trail.of("sessions/pi/a.jsonl", "q", result)

    def lines(first: int, last: int) -> list[int]:
        return [found.line for by in (1, -1) if (found := trail.step(first, last, by)) is not None]

    assert lines(10, 10) == [20, 30]
    assert lines(11, 19) == [20, 10]
    assert lines(30, 30) == [10, 20]
    assert (trail.number(15, 22), trail.number(11, 12)) == (2, 0)
    assert Trail.of("x", "q", result).step(1, 1, 1) is None


def test_a_search_within_a_transcript_leaves_out_filters_for_other_places() -> None:
    request = request_within(
        "sessions/pi/a.jsonl", "path:memory kiln after:2026-01-01", "hybrid", ("path:memory", "after:2026-01-01")
    )
    assert request.query == 'kiln after:2026-01-01 path:"sessions/pi/a.jsonl"'
    assert request.sources == ("sessions",)
