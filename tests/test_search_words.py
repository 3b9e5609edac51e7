"""Which words of a query a text needs to hold: all of a few, most of a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shelf import NORTH, Shelf, at_cosine

LONG = "long " * 250


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.mark.parametrize("pad", [0, 60])
def test_a_text_that_lacks_a_word_never_outranks_one_that_has_all(shelf: Shelf, pad: int) -> None:
    shelf.pad(pad).fill({"memory/1.md": "quick brown fox\n", "memory/2.md": "quick ok done\n"})
    assert shelf.paths("quick ok")[:2] == ["memory/2.md", "memory/1.md"]


@pytest.mark.parametrize(
    ("query", "lacking", "whole"),
    [
        ("quick ok", "quick quick quick quick quick\n", f"the ok one was {LONG}and quick\n"),
        ("quick ok then", "quick quick quick then then then\n", f"ok {LONG}quick, then\n"),
        ("修复 ok", "修复修复,修复!修复?修复\n", f"ok {LONG}修复\n"),
        ("quick gravel", "quick quick quick quick quick\n", f"gravel {LONG}quick\n"),
    ],
    ids=["two", "three", "two scripts", "one common"],
)
def test_a_rare_word_that_comes_often_does_not_outweigh_one_that_is_missing(
    shelf: Shelf, query: str, lacking: str, whole: str
) -> None:
    also_ok = {f"memory/ok{number}.md": f"ok {number}\n" for number in range(15)}
    also_then = {f"memory/then{number}.md": f"then {number}\n" for number in range(5)}
    shelf.pad(60, vector=at_cosine(0.1)).fill({**also_ok, **also_then})
    shelf.put("memory/lacking.md", lacking, vector=at_cosine(0.9))
    shelf.put("memory/whole.md", whole, vector=at_cosine(0.2))
    for vector in (None, NORTH):
        assert shelf.paths(query, vector=vector)[0] == "memory/whole.md"


def test_all_words_are_found_behind_many_texts_with_one_of_them(shelf: Shelf) -> None:
    shelf.pad(600).fill({f"memory/quick{number:03}.md": "quick quick quick\n" for number in range(120)})
    shelf.put("memory/whole.md", f"ok {LONG}quick\n")
    assert shelf.paths("quick ok")[0] == "memory/whole.md"


def test_of_a_question_a_word_may_be_missing(shelf: Shelf) -> None:
    shelf.pad(60).fill({"memory/all.md": f"alpha {LONG}beta gamma delta\n"})
    shelf.fill({"memory/most.md": "alpha beta gamma, alpha beta gamma\n"})
    assert shelf.paths("alpha beta gamma delta")[0] == "memory/most.md"


def test_every_word_is_weighed_by_itself_in_mixed_scripts(shelf: Shelf) -> None:
    shelf.fill({"memory/1.md": "修复了问题\n", "memory/2.md": "ok then\n", "memory/3.md": "修复 ok\n"})
    assert shelf.paths("修复 ok")[0] == "memory/3.md"
