"""The best line of a hit and the text shown around it."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.search.query import Query, parse_query
from core.search.snippet import SNIPPET_CHARACTERS, Match, find_match, original_position, snippet
from core.search.terms import Terms, Tokenizer, Vocabulary
from core.store.schema import TABLES
from core.text.analysis import fold

CONNECTION = apsw.Connection(":memory:")
CONNECTION.execute(TABLES)
TOKENIZER = Tokenizer(CONNECTION)


def asked(text: str) -> tuple[Query, Terms]:
    query = parse_query(text)
    return query, Vocabulary(CONNECTION, TOKENIZER).terms(query.text, chunks=1000)


def matched(text: str, query: str) -> Match:
    return find_match(text, *asked(query))


def shown(text: str, query: str) -> str:
    return snippet(text, matched(text, query))


LONG = "\n".join(f"Line {number} is about gravel and lichen on the northern slope." for number in range(100))


def test_the_line_with_the_whole_query_is_the_best() -> None:
    assert matched("review the plan\nplan\nthe plan review is on Monday", "plan review").line == 2


def test_the_line_with_more_of_the_words_is_better() -> None:
    assert matched("the quick dog\nquick and brown\nbrown", "quick brown fox").line == 1


def test_a_word_counts_in_another_form() -> None:
    match = matched("nothing\nthey were deploying it\nnothing", "deployments")
    assert match.line == 1
    assert match.matched == ("deployments",)


def test_a_word_counts_in_cjk_text() -> None:
    match = matched("明天下午三点开项目评审会议\n重跑gen-itgc后清零", "itgc 清零")
    assert match.line == 1


def test_a_literal_that_spans_lines_counts_where_it_begins() -> None:
    assert matched("one\ncannot open\nthe file\nlast", "open the file").line == 1


def test_without_a_word_of_the_query_the_first_line_stands() -> None:
    match = matched("alpha\nbeta", "gamma")
    assert (match.line, match.found, match.matched) == (0, False, ())


def test_a_short_text_is_shown_whole() -> None:
    assert shown("alpha\nbeta\n", "beta") == "alpha\nbeta"


def test_the_snippet_is_around_the_match_and_not_the_start() -> None:
    text = LONG.replace("Line 80 is", "Line 80 mentions zebra,")
    cut = shown(text, "zebra")
    assert "zebra" in cut
    assert len(cut) <= SNIPPET_CHARACTERS
    assert not cut.startswith("Line 0 ")
    assert cut in text


def test_a_long_line_is_cut_between_words_around_the_match() -> None:
    text = "word " * 1000 + "needle " + "word " * 1000
    cut = shown(text, "needle")
    assert "needle" in cut
    assert len(cut) <= SNIPPET_CHARACTERS
    assert set(cut.split()) == {"word", "needle"}


def test_what_is_shown_is_the_original_text() -> None:
    text = "Ａ　long ＬＩＮＥ. " * 60 + "Ré\u0301sume\u0301 here." + " tail" * 300
    cut = shown(text, "résumé here")
    assert "sume\u0301 here" in cut
    assert cut in text


@given(st.text(max_size=60), st.integers(0, 80))
def test_a_folded_position_lies_within_the_original(line: str, position: int) -> None:
    assert 0 <= original_position(line, position) <= len(line)


@pytest.mark.parametrize(
    "line", ["Ｘ needle", "ﬁ ﬂ needle", "e\u0301e\u0301e\u0301 needle", "   needle", "a\t\tb needle", "ß needle"]
)
def test_a_folded_position_points_at_the_same_word(line: str) -> None:
    assert line[original_position(line, fold(line).index("needle")) :].startswith("needle")


WORDS = st.sampled_from(
    ["alpha", "Beta", "gamma delta", "会议", "项目评审", "ไทย", "naïve", "x" * 90, "foo_bar", "", "C++"]
)


@given(
    st.lists(st.lists(WORDS, max_size=30).map(" ".join), min_size=1, max_size=25).map("\n".join),
    st.lists(WORDS, min_size=1, max_size=3),
)
def test_a_snippet_is_part_of_the_text_within_the_limit_and_holds_the_match(text: str, wanted: list[str]) -> None:
    query, terms = asked(" ".join(wanted))
    match = find_match(text, query, terms)
    cut = snippet(text, match)
    assert cut in text
    assert len(cut) <= SNIPPET_CHARACTERS
    assert 0 <= match.line < len(text.split("\n"))
    if match.matched:
        folded = fold(cut)
        assert any(word in folded or terms_stem in folded for word, terms_stem in _forms(terms, match))


def _forms(terms: Terms, match: Match) -> list[tuple[str, str]]:
    return [(term.word, term.tokens[0]) for term in terms.asked if term.word in match.matched]


@given(st.text(max_size=3000), st.text(max_size=60))
def test_any_text_and_any_query_give_a_snippet(text: str, wanted: str) -> None:
    query, terms = asked(wanted)
    assert len(snippet(text, find_match(text, query, terms))) <= SNIPPET_CHARACTERS
