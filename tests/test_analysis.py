"""How text is compared, and what the keyword index is given."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.analysis import fold, index_head, index_text, joins_words, spell, split_scripts, words
from core.text.stopwords import languages, stop_words


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Café", "cafe"),
        ("re\u0301sume\u0301", "résumé"),
        ("ＧＰＴ－４", "gpt-4"),
        ("STRASSE", "straße"),
        ("ﬁle", "file"),
        ("don’t", "don't"),
        ("“quoted”", '"quoted"'),
        ("a\u2011b", "a-b"),
        ("İstanbul IŞIK", "istanbul ışık"),
        ("Đà Nẵng", "da nang"),
        ("ΟΔΟΣ", "οδός"),
        ("ёлка", "елка"),
        ("كِتَاب", "كتاب"),
        ("١٢٣", "123"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("\u1112\u1161\u11a8", "학"),
        ("soft\u00adware", "software"),
        ("two \t\n lines", "two lines"),
    ],
)
def test_folding_looks_past_case_accents_width_and_composition(first: str, second: str) -> None:
    assert fold(first) == fold(second)


@pytest.mark.parametrize("sign", ["≠", "∉", "≮", "↮", "⊬"])
def test_a_mark_on_a_sign_is_no_accent(sign: str) -> None:
    assert fold(sign) == fold(unicodedata.normalize("NFD", sign)) == sign


@pytest.mark.parametrize(("first", "second"), [("мой", "мои"), ("їхати", "іхати"), ("がき", "かき"), ("C++", "C")])
def test_folding_keeps_what_makes_another_word(first: str, second: str) -> None:
    assert fold(first) != fold(second)


def test_folding_a_character_twice_is_folding_it_once() -> None:
    odd = [code for code in range(0x2FA20) if fold(fold(chr(code))) != fold(chr(code))]
    assert odd == []


@given(st.text())
def test_folding_never_fails_and_is_idempotent(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert "\x00" not in folded
    assert "  " not in folded


@given(st.text(alphabet=st.characters(categories=["L", "M", "N", "Z"])))
def test_composed_and_decomposed_text_fold_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


def test_lone_surrogates_become_replacement_characters() -> None:
    assert fold("a\udc80b") == "a\ufffdb"


def test_cjk_is_written_as_characters_and_pairs() -> None:
    assert index_text("评审会").split() == ["评", "评审", "审", "审会", "会"]


def test_latin_beside_cjk_stays_a_word() -> None:
    assert index_text("重跑gen-itgc后").split() == ["重", "重跑", "跑", "gen-itgc", "后"]


def test_part_of_a_cjk_run_is_a_phrase_within_the_run() -> None:
    whole, part = index_text("项目评审会议"), index_text("评审会").strip()
    assert part in whole


def test_hangul_words_are_found_without_their_particle() -> None:
    assert "학점" in index_text("학점을").split()


def test_thai_is_written_as_pairs() -> None:
    assert index_text("ไทย").split() == ["ไท", "ทย"]


def test_hindi_words_keep_their_marks() -> None:
    assert words(fold("हिन्दी में")) == ["हिन्दी", "में"]


def test_words_are_runs_of_letters_digits_marks_and_underscores() -> None:
    assert words("don't use hours_digit, c++ v1.2") == ["don", "t", "use", "hours_digit", "c", "v1", "2"]


def test_scripts_are_told_apart_in_order() -> None:
    assert list(split_scripts("ab 会议 cd ไทย")) == [
        ("ab ", "word"),
        ("会议", "cjk"),
        (" cd ", "word"),
        ("ไทย", "unspaced"),
    ]


@given(st.text())
def test_spelling_keeps_what_has_blanks_and_never_fails(text: str) -> None:
    folded = fold(text)
    latin = [word for run, script in split_scripts(folded) if script == "word" for word in words(run)]
    spelled = words(spell(folded))
    assert [word for word in spelled if word in latin] or not latin
    assert "".join(run for run, _ in split_scripts(folded)) == folded


def test_the_head_holds_headings_and_the_words_of_the_path() -> None:
    head = words(fold(index_head(["Café Plans", "2026"], "memory/trip_notes.md")))
    assert head == ["cafe", "plans", "2026", "memory", "trip", "notes", "md"]


@pytest.mark.parametrize(
    ("character", "joins"), [("a", True), ("7", True), ("ि", True), ("_", False), ("会", False), ("-", False)]
)
def test_which_characters_make_one_word_with_a_letter(character: str, joins: bool) -> None:
    assert joins_words(character) is joins


def test_stop_lists_are_written_as_folding_writes_them() -> None:
    assert all(word == fold(word) for listed in languages().values() for word in listed)


@pytest.mark.parametrize(
    ("query", "stopped"),
    [
        ("how many points did the panthers score", {"how", "did", "the"}),
        ("wie viele punkte gab die verteidigung ab", {"wie", "viele", "die"}),
        ("war crimes", set()),
        ("die hard", set()),
        ("которые города были в списке", {"которые", "были", "в"}),
        ("भारत की राजधानी क्या है", {"की", "क्या", "है"}),
    ],
)
def test_stop_words_are_those_of_the_query_s_language(query: str, stopped: set[str]) -> None:
    assert stop_words(fold(query).split()) == {fold(word) for word in stopped}
