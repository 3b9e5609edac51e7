"""Nothing that a terminal acts on is shown as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.visible import visible

ANY_TEXT = st.text(alphabet=st.characters(blacklist_categories=()))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in BIDI or character == "\ufeff"


def test_clean_text_is_returned_as_it_is() -> None:
    text = "Grüße, 会议, नमस्ते, 👩‍💻 and [/] markup"
    assert visible(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x1b]52;c;QUFB\x07", "␛]52;c;QUFB␇"),
        ("\x1b]0;t\x07", "␛]0;t␇"),
        ("\x1b]8;;http://x\x1b\\", "␛]8;;http://x␛\\"),
        ("\x1bPq\x1b\\", "␛Pq␛\\"),
        ("\x1bc", "␛c"),
        ("\x1b[6n", "␛[6n"),
        ("\x1b]0;unterminated", "␛]0;unterminated"),
        ("\x9b2J", "⟦U+009B⟧2J"),
        ("\x9d0;t", "⟦U+009D⟧0;t"),
        ("a\rb", "a␍b"),
        ("a\bb", "a␈b"),
        ("\x00", "␀"),
        ("\x7f", "␡"),
        ("txt.\u202egnp", "txt.⟦U+202E⟧gnp"),
        ("a\u2028b\u2029c", "a⟦U+2028⟧b⟦U+2029⟧c"),
        ("a\ufeffb", "a⟦U+FEFF⟧b"),
        ("bad\udcfcname", "bad⟦U+DCFC⟧name"),
        ("a\nb", "a␊b"),
        ("a\tb", "a␉b"),
        ("a\U000e0041b", "a⟦U+E0041⟧b"),
    ],
)
def test_each_becomes_a_mark(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), *map(ord, BIDI)])
def test_every_control_becomes_visible(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert not any(map(is_control, shown))
    assert len(shown) >= 3


def test_newlines_are_kept_on_request() -> None:
    assert visible("a\nb\r\nc\rd\x1b", keep_newlines=True) == "a\nb\nc␍d␛"


def test_tabs_reach_the_next_column() -> None:
    assert visible("a\tb\x1b\tc", tab_size=4) == "a   b␛  c"
    assert visible("ab\tc\n\td", tab_size=4, keep_newlines=True) == "ab  c\n    d"
    assert visible("ab\tc\nd", tab_size=4) == "ab  c␊d"


@given(ANY_TEXT)
def test_no_control_character_is_left(text: str) -> None:
    assert not any(map(is_control, visible(text)))


@given(ANY_TEXT, st.integers(0, 8))
def test_only_newlines_are_left(text: str, tab_size: int) -> None:
    shown = visible(text, keep_newlines=True, tab_size=tab_size)
    assert not any(is_control(character) for character in shown if character != "\n")
    assert shown.count("\n") == text.count("\n")


@given(ANY_TEXT)
def test_marks_are_stable(text: str) -> None:
    assert visible(visible(text)) == visible(text)
