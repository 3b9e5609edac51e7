"""Rows and titles: widths in terminal cells, paths cut in the middle, words of the query marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.text import around_match, elided_citation, elided_path, fitted, shown, shown_path, term_spans

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Mn", "Me"]), max_size=60)


@given(words, st.integers(0, 90))
def test_fitted_text_takes_exactly_its_cells(text: str, cells: int) -> None:
    assert cell_len(fitted(text, cells)) == cells


@given(words, st.integers(1, 90))
def test_an_elided_path_never_takes_more(text: str, cells: int) -> None:
    assert cell_len(elided_path(text, cells)) <= cells


def test_a_long_path_keeps_its_file_name() -> None:
    assert elided_path("memory/projects/archive/2026/storage.md", 24) == "memory/proje…/storage.md"


@pytest.mark.parametrize("cells", [10, 20, 30])
def test_the_line_range_is_never_cut(cells: int) -> None:
    assert elided_citation("memory/a/very/long/folder/name.md", "#L12-L20", cells).endswith("#L12-L20")


@given(words, st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_marked_spans_are_in_order_and_inside(text: str, terms: list[str]) -> None:
    spans = term_spans(text, terms)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("text", "term", "found"),
    [
        ("it FAILS unfailingly", "fail", ["FAIL"]),
        ("a Café café", "cafe", ["Café", "café"]),
        ("ＦＵＬＬ width", "full", ["ＦＵＬＬ"]),
        ("記憶の検索は速い", "検索", ["検索"]),
        ("uses vec0 here", "vec0", ["vec0"]),
    ],
)
def test_words_are_marked_whatever_their_case_accents_and_width(text: str, term: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in term_spans(text, [term])] == found


def test_a_snippet_is_shown_around_its_first_match() -> None:
    text = "one two three four five six seven eight nine ten needle eleven"
    cut = around_match(text, ["needle"], 24)
    assert cut.startswith("…")
    assert "needle" in cut[:24]


def test_one_line_of_text_has_no_control_characters() -> None:
    line = shown("a\x1b[2J\r\nb\t\u202ec\x9b")
    assert all(character.isprintable() for character in line)
    assert "\x1b" not in line


def test_a_path_keeps_what_tells_it_from_others() -> None:
    assert shown_path("memory/a  b\n .md") == "memory/a  b␊ .md"
