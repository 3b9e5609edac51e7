"""Chunks: whole lines within the budget, and what heading they stand under."""

from __future__ import annotations

import hashlib
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.chunking import chunk_document, embedding_hash, embedding_text
from core.text.lines import scrub, split_lines
from core.text.tokens import TokenCounter
from core.types import Chunk
from tests.costs import costs_at_most

COUNTER = TokenCounter()
FIXTURES = Path(__file__).parent / "fixtures" / "text"

LINE = st.sampled_from(
    [
        "", "", " ", "\t", "\u3000", "\x1c", "plain words of a note", "    indented", "\rreturn first", "return last\r",
        "- item)", "ends with marks...", "))}};", "# One", "## Two", "### Three ###", "```", "~~~", "Title", "---",
        "===", "<|endoftext|><|fim_prefix|>", "明天下午三点开项目评审会议。重跑后清零！", "👩‍💻👩‍💻", "x" * 300,
        "long words " * 60, "会" * 150, "one\x0ctwo \u2028 three \u0085 four", " " * 200 + "x", "\ufffd" * 50,
        "नमस्ते दुनिया",
    ]
)  # fmt: skip
TEXT = st.lists(LINE | st.text(max_size=20).map(lambda text: scrub(text.replace("\n", ""))), max_size=40).map("\n".join)
BUDGET = st.integers(8, 120)


def chunked(text: str, tokens: int = 400, overlap: int = 80) -> list[Chunk]:
    return chunk_document(text, tokens=tokens, overlap=overlap, counter=COUNTER)


def ranges(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in chunks]


@settings(max_examples=300)
@given(TEXT, BUDGET, st.integers(0, 140))
@example("a)\n\r b\n\r c\n" * 9, 8, 4)
@example("x\n" + "\n" * 500 + "y", 8, 7)
@example("\x85<|endoftext|>=\x0ca", 10, 0)
@example("word word)\nword word)", 6, 0)
def test_no_chunk_exceeds_its_budget(text: str, tokens: int, overlap: int) -> None:
    for chunk in chunked(text, tokens, overlap):
        assert COUNTER.count(chunk.text) <= tokens
        assert chunk.text.strip()


@settings(max_examples=200)
@given(TEXT, BUDGET, st.integers(0, 140))
def test_chunks_are_the_lines_they_cite(text: str, tokens: int, overlap: int) -> None:
    lines = split_lines(text)
    chunks = chunked(text, tokens, overlap)
    pieces: dict[int, str] = {}
    for chunk in chunks:
        cited = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        if chunk.text != cited:
            assert chunk.start_line == chunk.end_line
            pieces[chunk.start_line] = pieces.get(chunk.start_line, "") + chunk.text
    for number, joined in pieces.items():
        if re.search(r"\s{100}", lines[number - 1]) is None:  # blank pieces are left out
            assert joined == lines[number - 1]
    if chunks:
        cited_lines = {number for first, last in ranges(chunks) for number in range(first, last + 1)}
        assert {number for number, line in enumerate(lines, 1) if line.strip()} <= cited_lines


@settings(max_examples=100)
@given(TEXT, BUDGET, st.integers(0, 140))
def test_chunks_go_forward(text: str, tokens: int, overlap: int) -> None:
    chunks = chunked(text, tokens, overlap)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for before, after in pairwise(chunks):
        assert before.start_line <= after.start_line
        assert before.end_line <= after.end_line
        assert (before.start_line, before.end_line, before.text) != (after.start_line, after.end_line, after.text) or (
            before.start_line == before.end_line
        )


@settings(max_examples=100)
@given(TEXT, BUDGET, st.integers(0, 60))
def test_chunking_is_deterministic(text: str, tokens: int, overlap: int) -> None:
    assert chunked(text, tokens, overlap) == chunk_document(
        text, tokens=tokens, overlap=overlap, counter=TokenCounterOf(COUNTER)
    )


class TokenCounterOf:
    """A counter that takes each line for itself: what the fast path must agree with."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def count(self, text: str) -> int:
        return self._counter.count(text)

    def line_counts(self, text: str, starts: list[int], limit: int) -> list[int]:
        if "\r" in text:
            return self._counter.line_counts(text, starts, limit)
        ends = [*starts[1:], len(text)]
        counts = [self._counter.count(text[start:end]) for start, end in zip(starts, ends, strict=True)]
        return [min(count, limit + 1) for count in counts]

    def split(self, text: str, budget: int) -> list[str]:
        return self._counter.split(text, budget)


@pytest.mark.parametrize(
    "text", ["", "\n", "\n\n \t\n\u3000\n", "---\ntitle: x\n---\n", "---\na: 1\nb:\n  - 2\n...\n\n\n"]
)
def test_blank_text_and_mere_front_matter_have_no_chunks(text: str) -> None:
    assert chunked(text) == []


@pytest.mark.parametrize("text", ["---\n\nrule above\n---\n", "---\nplain text\n---\n", "---\ntitle: x\nno end\n"])
def test_rules_are_not_taken_for_front_matter(text: str) -> None:
    assert len(chunked(text)) == 1


def test_front_matter_is_text() -> None:
    (chunk,) = chunked("---\ntitle: Deploy\n---\nbody\n")
    assert chunk.text == "---\ntitle: Deploy\n---\nbody"


def test_a_short_document_is_one_chunk() -> None:
    (chunk,) = chunked("\n\n# Title\n\nbody\n\n\n")
    assert (chunk.start_line, chunk.end_line, chunk.text) == (3, 5, "# Title\n\nbody")
    assert chunk.heading == ("Title",)


def test_neighbours_overlap_by_whole_lines() -> None:
    text = "\n".join(f"line {number:03} of the note" for number in range(100))
    chunks = chunked(text, 100, 20)
    for before, after in pairwise(chunks):
        shared = before.end_line - after.start_line + 1
        assert shared >= 1
        assert COUNTER.count("\n".join(text.split("\n")[after.start_line - 1 : before.end_line])) <= 20
    plain = chunked(text, 100, 0)
    assert all(after.start_line == before.end_line + 1 for before, after in pairwise(plain))


def test_a_heading_starts_a_chunk_once_the_one_before_is_reasonably_full() -> None:
    section = "some words of a section. " * 12
    text = f"# A\n{section}\n# B\n{section}\n# C\n{section}\n"
    chunks = chunked(text, 100, 20)
    assert [chunk.heading for chunk in chunks] == [("A",), ("B",), ("C",)]
    assert ranges(chunked(text, 1000, 20)) == [(1, 6)]


def test_a_full_chunk_ends_with_a_paragraph() -> None:
    paragraph = "words in a row of a paragraph\n" * 5
    chunks = chunked(f"{paragraph}\n" * 10, 80, 0)
    assert {chunk.text.count("\n") for chunk in chunks} == {10}


def test_a_heading_stays_with_its_text() -> None:
    filler = "words in a row of a paragraph\n" * 4
    text = f"{filler}## Head\n{filler * 3}"
    chunks = chunked(text, 40, 0)
    assert not any(chunk.text.endswith("## Head") for chunk in chunks)


def test_a_long_line_is_split_and_keeps_its_number() -> None:
    chunks = chunked("# H\n" + "words and more words. " * 500 + "\nafter\n", 100, 20)
    pieces = [chunk for chunk in chunks if chunk.start_line == 2]
    assert "".join(piece.text for piece in pieces) == "words and more words. " * 500
    assert {chunk.heading for chunk in pieces} == {("H",)}
    assert chunks[-1].text == "after"


def headings_by_line(text: str) -> dict[int, tuple[str, ...]]:
    """The heading path at each line that is not blank, from chunks of one line."""
    return {chunk.start_line: chunk.heading for chunk in chunked(text, 1, 0)}


def test_heading_paths_follow_the_document() -> None:
    text = (FIXTURES / "headings.md").read_text()
    found = headings_by_line(text)
    lines = text.split("\n")

    def at(line: str) -> tuple[str, ...]:
        return found[lines.index(line) + 1]

    assert at('title: "Deploy notes"') == ()
    assert at("Text before any heading.") == ()
    assert at("# Servers #") == ("Servers",)
    assert at("orion runs the database.") == ("Servers", "Hosts")
    assert at("## nor this") == ("Servers", "Hosts")
    assert at("#no-heading because no blank follows") == ("Servers", "Hosts")
    assert at("5432 is open.") == ("Servers", "Hosts", "Ports")
    assert at("Backups") == ("Backups",)
    assert at("Every night.") == ("Backups",)
    assert at("By hand.") == ("Backups", "Restore")
    assert at("that ends with a rule") == ("Backups", "Restore")
    assert at("- item") == ("Backups", "Restore")
    assert at("Under an empty heading.") == ("Backups",)
    assert at("####### seven marks are text") == ("Backups",)
    assert at("    # indented code") == ("Backups",)
    assert at("The end.") == ("Last",)


def test_plain_text_has_no_headings() -> None:
    (chunk,) = chunk_document("---\na: 1\n---\n# x\n", tokens=400, overlap=80, counter=COUNTER, markdown=False)
    assert chunk.heading == ()
    assert len(chunk_document("---\na: 1\n---\n", tokens=9, overlap=0, counter=COUNTER, markdown=False)) == 1


def test_a_very_long_heading_is_bounded() -> None:
    (chunk,) = chunked(f"# {'title ' * 90}\n")
    assert len(chunk.heading[0]) == 200
    assert embedding_text(chunk) == chunk.text


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="1 token or more"):
        chunked("x", 0, 0)


def test_what_sqlite_and_the_tokenizer_refuse_never_gets_through() -> None:
    (chunk,) = chunked("a\0b \ud800 c\n")
    assert chunk.text == "a\ufffdb \ufffd c"


def test_the_embedder_gets_the_heading_path_once() -> None:
    under = Chunk(0, 2, 3, "body\nmore", ("Servers", "Hosts"))
    assert embedding_text(under) == "Servers > Hosts\n\nbody\nmore"
    assert embedding_text(Chunk(0, 1, 2, "## Hosts ##\nbody", ("Servers", "Hosts"))) == "Servers\n\n## Hosts ##\nbody"
    assert embedding_text(Chunk(0, 1, 2, "# Hosts\nbody", ("Hosts",))) == "# Hosts\nbody"
    assert embedding_text(Chunk(0, 1, 1, "body")) == "body"
    assert embedding_hash("body") == hashlib.sha256(b"body").digest()


def test_an_edit_changes_only_the_chunks_around_it() -> None:
    lines = [f"## Section {number}\n" + f"text of section {number}\n" * 30 for number in range(30)]
    before = {embedding_text(chunk) for chunk in chunked("".join(lines), 200, 40)}
    lines[10] = "## Section 10\nedited\n" + lines[10]
    after = {embedding_text(chunk) for chunk in chunked("".join(lines), 200, 40)}
    assert len(after - before) <= 4


@pytest.mark.parametrize("run", ["a", " ", "=", "会", "#", "\r"])
def test_a_run_of_equal_characters_costs_little_more_than_text_of_its_size(run: str) -> None:
    words = random.Random(1).choices(["alpha", "beta", "gamma", "delta.", "epsilon,"], k=170_000)
    text = "\n".join(" ".join(words[start : start + 12]) for start in range(0, len(words), 12))
    assert len(text) > 1_000_000
    costs_at_most(4, lambda: chunked("x " + run * len(text) + " x\n"), lambda: chunked(text))


def test_chunking_costs_little_more_than_counting() -> None:
    text = (FIXTURES / "headings.md").read_text() * 400
    chunked("x")
    costs_at_most(4, lambda: chunked(text), lambda: COUNTER.count(text))
