"""What qmd prints, as it was seen, and what is read out of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.backends.qmd_output import (
    error_words,
    parse_hits,
    split_address,
    split_snippet,
    update_counts,
)
from core.errors import BackendError

HIT = {
    "docid": "#636183",
    "score": 0.64,
    "file": "qmd://memory-dir-main/Über Notiz (1).md?index=memdeck",
    "line": 4,
    "title": "Netz",
    "snippet": "@@ -3,3 @@ (2 before, 0 after)\nDie Üb (1) des Caches.\nhow to cache git credentials\n",
}
ANSWER = json.dumps([HIT], ensure_ascii=False, indent=2)


def test_a_hit_knows_its_place_its_lines_and_its_score() -> None:
    (hit,) = parse_hits(ANSWER, index="memdeck")

    assert (hit.collection, hit.path) == ("memory-dir-main", "Über Notiz (1).md")
    assert (hit.line, hit.first, hit.count) == (4, 3, 3)
    assert hit.snippet == ("Die Üb (1) des Caches.", "how to cache git credentials", "")
    assert hit.score == 0.64


@pytest.mark.parametrize(
    "noise",
    [
        "[node-llama-cpp] Using CPU only\n{}",
        "Warning: 4 documents (100%) need embeddings.\n{}\nTip: run [qmd embed]",
        "\x1b[36m[1/2]\x1b[0m Searching\x1b[K\n{}",
        "\x1b]0;title\x07{}",
        "models: []\n{}",
        '["a", 1] [2] [[3]] {{"x": [4]}}\n{}',
    ],
)
def test_noise_around_the_answer_is_left_out(noise: str) -> None:
    (hit,) = parse_hits(noise.replace("{{", "{").replace("}}", "}").replace("{}", ANSWER), index="memdeck")

    assert hit.path == "Über Notiz (1).md"


@pytest.mark.parametrize("output", ["[]", "\x1b[2mnoise\x1b[0m\n[]\n", "No results found.", "no results found above x"])
def test_nothing_found_is_no_hit(output: str) -> None:
    assert parse_hits(output, index="memdeck") == []


@pytest.mark.parametrize("output", ["", "   \n", "Segmentation fault", '[{"file": "qmd://a/b.md"', "{}"])
def test_an_answer_without_json_is_an_error_that_quotes_it(output: str) -> None:
    with pytest.raises(BackendError) as caught:
        parse_hits(output, index="memdeck")

    assert " ".join(output.split())[:40] in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"file": None},
        {"file": "x.md"},
        {"file": "qmd:///x.md"},
        {"file": "qmd://c/"},
        {"file": "qmd://c/a\0.md"},
        {"file": "qmd://c/\ud83d.md"},
    ],
)
def test_an_entry_without_a_place_is_left_out(wrong: dict[str, object]) -> None:
    hits = parse_hits(json.dumps([{**HIT, **wrong}, HIT]), index="memdeck")

    assert [hit.path for hit in hits] == ["Über Notiz (1).md"]


@pytest.mark.parametrize(
    ("score", "read"), [(7, 1.0), (-1, 0.0), (float("nan"), 0.0), ("x", 0.0), (None, 0.0), (0, 0.0)]
)
def test_a_score_lies_between_0_and_1(score: object, read: float) -> None:
    (hit,) = parse_hits(json.dumps([{**HIT, "score": score}]), index="memdeck")

    assert hit.score == read


def test_half_a_surrogate_pair_at_the_cut_of_a_snippet_is_replaced() -> None:
    (hit,) = parse_hits(json.dumps([{**HIT, "snippet": "@@ -1,1 @@\nend \ud83d..."}]), index="memdeck")

    assert hit.snippet == ("end \ufffd...",)


@given(st.text(max_size=200))
def test_any_text_in_a_note_comes_back_as_it_is(note: str) -> None:
    answer = json.dumps([{**HIT, "snippet": f"@@ -1,9 @@ (0 before, 0 after)\n{note}"}])

    (hit,) = parse_hits(f"[noise]\n{answer}", index="memdeck")

    assert "\n".join(hit.snippet).replace("\r", "") == note.replace("\0", "\ufffd").replace("\r", "")


def test_a_snippet_without_a_range_has_no_lines() -> None:
    assert split_snippet("plain text") == (1, 0, ("plain text",))
    assert split_snippet("@@ -0,3 @@\nx") == (1, 0, ("x",))
    assert split_snippet("@@ -7 @@ (6 before, 0 after)\nx\r\ny") == (7, 1, ("x", "y"))


def test_only_the_index_name_is_taken_off_an_address() -> None:
    assert split_address("qmd://c/sub/a b?c.md?index=memdeck", index="memdeck") == ("c", "sub/a b?c.md")
    assert split_address("qmd://c/100%25.md", index="memdeck") == ("c", "100%25.md")


def test_the_counts_of_all_collections_are_summed() -> None:
    output = (
        "[1/2] a (MEMORY.md)\nIndexed: 1 new, 0 updated, 2 unchanged, 0 removed\n"
        "[2/2] b (**/*.md)\nIndexed: 0 new, 3 updated, 4 unchanged, 5 removed\n✓ All collections updated.\n"
    )

    counts = update_counts(output, "⚠ Skipped unreadable file: sub/x.md (EACCES)\n")

    assert (counts.new, counts.updated, counts.unchanged, counts.removed) == (1, 3, 6, 5)
    assert counts.unreadable == ("sub/x.md (EACCES)",)


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("Collection not found: nope\n", "Collection not found: nope"),
        (
            'file:///opt/qmd/dist/llm.js:1198\n            throw new Error("LLM");\n                  ^\n\n'
            "Error: LLM operations are disabled in CI (set CI=true)\n    at LlamaCpp (x.js:1:2)\n\nNode.js v24.9.0\n",
            "LLM operations are disabled in CI (set CI=true)",
        ),
        ("SqliteError: file is not a database\n    at x\n", "file is not a database"),
        ("[TypeError: fetch failed] {\n  cause: 1\n}", "fetch failed"),
        ("\x1b[31mUsage:\x1b[0m qmd search\n", "Usage: qmd search"),
        ("", ""),
    ],
)
def test_a_complaint_is_told_without_its_stack(stderr: str, words: str) -> None:
    assert error_words(stderr) == words
