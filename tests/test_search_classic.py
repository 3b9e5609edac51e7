"""The rule of OpenClaw: weights, least score and the places that stay free."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shelf import NORTH, Shelf, at_cosine

CLASSIC = {"rule": "classic"}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_an_exact_word_with_cosine_0_is_returned(shelf: Shelf) -> None:
    shelf.pad(10).put("memory/exact.md", "ticket ZX-7781 is open\n", vector=at_cosine(0.0))
    assert shelf.paths("ZX-7781", NORTH, **CLASSIC) == ["memory/exact.md"]


def test_an_exact_word_pushes_no_strict_hit_out(shelf: Shelf) -> None:
    for number in range(6):
        shelf.put(f"memory/near{number}.md", f"text {number}\n", vector=at_cosine(0.9 - number / 100))
    shelf.put("memory/exact.md", "ticket ZX-7781 is open\n", vector=at_cosine(0.0))
    assert shelf.paths("ZX-7781", NORTH, **CLASSIC) == [f"memory/near{number}.md" for number in range(6)]


def test_under_the_standard_rule_the_exact_word_is_first(shelf: Shelf) -> None:
    for number in range(6):
        shelf.put(f"memory/near{number}.md", f"text {number}\n", vector=at_cosine(0.9 - number / 100))
    shelf.put("memory/exact.md", "ticket ZX-7781 is open\n", vector=at_cosine(0.0))
    expected = ["memory/exact.md", *(f"memory/near{number}.md" for number in range(5))]
    assert shelf.paths("ZX-7781", NORTH) == expected


def test_nonsense_finds_nothing(shelf: Shelf) -> None:
    shelf.pad(10, vector=at_cosine(0.1))
    assert shelf.hits("qwfpgj", NORTH, **CLASSIC) == ()


def test_the_score_is_the_weighted_sum(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1)).put("memory/a.md", "lantern\n", vector=at_cosine(0.8))
    hit = shelf.hits("lantern", NORTH, **CLASSIC)[0]
    assert hit.parts.vector is not None
    assert hit.parts.text is not None
    assert hit.score == pytest.approx(0.7 * hit.parts.vector + 0.3 * hit.parts.text)


def test_weights_are_divided_by_their_sum(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/a.md", "lantern\n", vector=at_cosine(0.8))
    hit = shelf.hits("lantern", NORTH, **CLASSIC, hybrid={"vector_weight": 1.0, "text_weight": 1.0})[0]
    assert hit.score == pytest.approx((hit.parts.vector or 0) / 2 + (hit.parts.text or 0) / 2)


def test_by_words_alone_the_score_is_the_text_score(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/a.md", "lantern\n")
    hit = shelf.hits("lantern", **CLASSIC)[0]
    assert hit.score == hit.parts.text


def test_all_words_are_required_while_any_text_has_them(shelf: Shelf) -> None:
    shelf.pad(60).fill({"memory/1.md": "lantern\n", "memory/2.md": "lantern oil\n"})
    assert shelf.paths("lantern oil", **CLASSIC) == ["memory/2.md"]


def test_where_no_text_has_all_words_each_keyword_is_tried(shelf: Shelf) -> None:
    shelf.pad(60).fill({"memory/1.md": "lantern\n", "memory/2.md": "oil\n"})
    assert set(shelf.paths("lantern oil", **CLASSIC)) == {"memory/1.md", "memory/2.md"}


def test_the_least_score_is_a_setting(shelf: Shelf) -> None:
    shelf.pad(10).put("memory/a.md", "something\n", vector=at_cosine(0.45))
    assert shelf.hits("lantern", NORTH, **CLASSIC) == ()
    assert len(shelf.hits("lantern", NORTH, **CLASSIC, min_score=0.3)) == 1
