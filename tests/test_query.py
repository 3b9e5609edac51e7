"""What was asked: text, phrases and filters."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.search.query import MAX_LENGTH, Filters, Query, parse_query

TODAY = date(2026, 6, 15)


def parsed(text: str) -> Query:
    return parse_query(text, today=lambda: TODAY)


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\t\n", '""', '"', '" "', "\ud800"])
def test_blank_queries_are_blank(text: str) -> None:
    assert parsed(text).blank


@pytest.mark.parametrize(
    "text", ['"hello', "NOT drill", "AND", "NEAR(", "(", "^", "*", "a AND b", "col:x", "-x", "{a b}"]
)
def test_search_syntax_is_text(text: str) -> None:
    query = parsed(text)
    assert query.text == text
    assert not query.filters


def test_quoted_text_is_a_phrase_and_an_unpaired_quote_is_text() -> None:
    query = parsed('"a" "b')
    assert query.phrases == ("a",)
    assert query.text == '"a" "b'
    assert query.semantic_text == 'a "b'


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('find "quick fox" now', ("quick fox",)),
        ("“typographic quotes”", ("typographic quotes",)),
        ('5" disk and 6" disk', ()),
        ('项目"评审会议"吗', ("评审会议",)),
        ('print("hello world")', ("hello world",)),
        ('"same" "same"', ("same",)),
    ],
)
def test_phrases_stand_in_quotes_around_whole_words(text: str, phrases: tuple[str, ...]) -> None:
    assert parsed(text).phrases == phrases


def test_a_query_of_phrases_alone_is_told_from_one_with_words() -> None:
    assert parsed('"a b" "c"').only_phrases
    assert not parsed('"a b" c').only_phrases
    assert not parsed("a b").only_phrases


def test_filters_leave_the_text() -> None:
    query = parsed('source:sessions roadmap path:"my notes/2026" dialect:Codex after:2026-01-01 before:2026-02')
    assert query.text == query.semantic_text == "roadmap"
    assert query.filters == Filters(
        sources=("sessions",),
        paths=("my notes/2026",),
        dialects=("codex",),
        after=date(2026, 1, 1),
        before=date(2026, 2, 1),
    )
    assert query.typed_filters[0] == "source:sessions"
    assert len(query.typed_filters) == 5


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026", date(2026, 1, 1)),
        ("2026-3", date(2026, 3, 1)),
        ("today", TODAY),
        ("yesterday", date(2026, 6, 14)),
        ("7d", date(2026, 6, 8)),
        ("2w", date(2026, 6, 1)),
    ],
)
def test_days_may_be_named_in_several_ways(value: str, day: date) -> None:
    assert parsed(f"x after:{value}").filters.after == day


@pytest.mark.parametrize(
    "word",
    [
        "after:2026-13-01",
        "after:soon",
        "source:elsewhere",
        "source:",
        "path:",
        "http://x.y/z",
        "std::vec",
        "12:30",
        "foo:bar",
    ],
)
def test_a_word_with_a_colon_that_is_no_filter_is_text(word: str) -> None:
    query = parsed(f"look {word}")
    assert query.text == f"look {word}"
    assert not query.filters


def test_a_filter_inside_a_phrase_is_text() -> None:
    query = parsed('"the path:foo option"')
    assert query.phrases == ("the path:foo option",)
    assert not query.filters


def test_filters_alone_ask_for_nothing() -> None:
    query = parsed("source:memory")
    assert query.blank
    assert query.filters.sources == ("memory",)


def test_of_several_days_the_narrowest_counts() -> None:
    query = parsed("x after:2026-01-01 after:2026-03-01 before:2027 before:2026-12")
    assert (query.filters.after, query.filters.before) == (date(2026, 3, 1), date(2026, 12, 1))


def test_nul_is_left_out_and_control_characters_part_words() -> None:
    assert parsed("a\x00b\x1b[2Jc").text == "ab [2Jc"


def test_a_pasted_log_is_read_up_to_a_bound() -> None:
    assert len(parsed("word " * MAX_LENGTH).text) <= MAX_LENGTH


@given(st.text())
def test_any_text_is_a_query(text: str) -> None:
    query = parsed(text)
    assert query.blank == (query.text == "")
    assert not any(ord(character) < 32 for character in query.text)


@given(
    st.lists(
        st.sampled_from(['"', "a", "b c", "source:memory", "path:x", "after:2026", "“", "”", " ", "会议", "\x00", ":"])
    )
)
def test_any_mixture_of_quotes_and_filters_is_a_query(parts: list[str]) -> None:
    query = parsed(" ".join(parts))
    assert all(phrase in query.text for phrase in query.phrases)
