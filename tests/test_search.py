"""Searches over real indexes: what is found, in which order, and where."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import SearchCancelled
from core.types import SearchRequest
from tests.shelf import NORTH, Shelf, at_cosine


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture(scope="module")
def odd_shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    texts = {
        "memory/a.md": "# Drill\nNOT a drill, said the café's owner.\n",
        "memory/zh.md": "明天下午三点开项目评审会议\n重跑gen-itgc后清零\n",
        "memory/code.md": 'Use `C++` and "gpt-4" at src/main.py:12, v1.2.3 -- don\'t.\n',
        "memory/th.md": "การประชุมโครงการวันนี้ 🎉\n",
    }
    return Shelf(tmp_path_factory.mktemp("odd")).fill(texts).pad(60, vector=at_cosine(0.1))


@pytest.mark.parametrize("query", ["RFC-0042", '"RFC-0042"', "rfc 0042"])
def test_an_identifier_is_found_however_it_is_written(shelf: Shelf, query: str) -> None:
    shelf.put("memory/ids.md", "Decision RFC-0042 replaces DEC-0054.\n")
    (hit,) = shelf.hits(query)
    assert (hit.path, hit.line) == ("memory/ids.md", 1)


def test_an_identifier_that_is_nowhere_finds_nothing(shelf: Shelf) -> None:
    shelf.put("memory/ids.md", "Decision RFC-0042 replaces DEC-0054.\n")
    assert shelf.hits("gpt-4") == ()


SIGNS = ["≠", "=", "∉", "👩‍💻", "👨‍👩‍👧‍👦", "❤️‍🔥", "＋＋", "￥", "−−", "a ≠ b", "a = b"]


@pytest.mark.parametrize("query", [*SIGNS, *(f'"{sign}"' for sign in SIGNS)])
def test_signs_are_found_where_they_stand_and_nowhere_else(shelf: Shelf, query: str) -> None:
    texts = {f"memory/{number:02}.md": f"Here is {sign} as a sign.\n" for number, sign in enumerate(SIGNS[:9])}
    shelf.fill(texts).put("memory/98.md", "Given a ≠ b, it holds.\n")
    shelf.put("memory/99.md", "Given a = b, it holds.\n")
    shelf.pad(60)
    sign = query.strip('"')
    wanted = {path for path, text in texts.items() if sign in text} | {
        path for path, text in (("memory/98.md", "a ≠ b"), ("memory/99.md", "a = b")) if sign in text
    }
    assert {hit.path for hit in shelf.hits(query) if hit.parts.literal} == wanted


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("++", "＋＋"),
        ("＋＋", "++"),
        ("¥", "￥"),
        ("￥", "¥"),
        ("👩💻", "👩‍💻"),
        ("❤🔥", "❤️‍🔥"),
        ("≠", "=\u0338"),
        ("=\u0338", "≠"),
        ("--", "−\u00ad–"),
        ("...", "…"),
        ("…", "..."),
    ],
)
def test_signs_are_found_however_they_are_spelled(shelf: Shelf, query: str, text: str) -> None:
    shelf.put("memory/signs.md", f"Here is {text} as a sign.\n")
    shelf.put("memory/others.md", "Here is = and + and 👩 and - as a sign.\n")
    assert [hit.path for hit in shelf.hits(query)] == ["memory/signs.md"]


SYNTAX = [
    '"hello',
    '"a" "b',
    "NOT",
    "NOT drill",
    "AND",
    "NEAR(",
    "(",
    "^",
    "*",
    '""',
    "",
    "   ",
    "\x00",
    "a\x00b",
    "body:x",
    "{x y}: z",
    "-",
    "a OR",
    "col : b",
    "\ud800",
    "'",
    ";--",
    "%",
    "_",
]


@pytest.mark.parametrize("query", SYNTAX)
@pytest.mark.parametrize("options", [{}, {"rule": "classic"}])
def test_no_query_is_an_error(odd_shelf: Shelf, query: str, options: dict[str, object]) -> None:
    odd_shelf.search(query, **options)
    odd_shelf.search(query, NORTH, **options)


def test_operators_are_words(odd_shelf: Shelf) -> None:
    assert odd_shelf.paths("NOT drill")[0] == "memory/a.md"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40), classic=st.booleans(), mmr=st.booleans())
def test_any_text_can_be_searched_for(odd_shelf: Shelf, query: str, classic: bool, mmr: bool) -> None:
    result = odd_shelf.search(
        query, NORTH, rule="classic" if classic else "standard", mmr={"enabled": mmr}, min_score=0.0
    )
    scores = [hit.score for hit in result.hits]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert all(hit.start_line <= hit.line <= hit.end_line for hit in result.hits)
    assert all(len(hit.snippet) <= 700 for hit in result.hits)


def test_a_blank_query_does_no_work(shelf: Shelf) -> None:
    shelf.put("memory/a.md", "text\n")
    asked: list[str] = []
    shelf.database.connection.trace_v2(1, lambda event: asked.append(str(event)))
    assert shelf.hits("   ") == ()
    shelf.database.connection.trace_v2(0, None)
    assert asked == []


@pytest.mark.parametrize(
    ("query", "line"), [("项目评审", 1), ("评审会议", 1), ("gen", 2), ("itgc", 2), ("会", 1), ("清零", 2)]
)
@pytest.mark.parametrize("source", ["memory", "sessions"])
def test_parts_of_cjk_lines_are_found_with_their_line(shelf: Shelf, source: str, query: str, line: int) -> None:
    path = "memory/zh.md" if source == "memory" else "sessions/pi/zh.jsonl"
    shelf.put(path, "明天下午三点开项目评审会议\n重跑gen-itgc后清零\n", source=source)  # type: ignore[arg-type]
    (hit,) = shelf.hits(query)
    assert (hit.path, hit.line) == (path, line)


def test_cjk_is_found_in_a_large_index_too(odd_shelf: Shelf) -> None:
    assert odd_shelf.paths("项目评审会议") == ["memory/zh.md"]


def test_thai_is_found_by_a_part_of_a_sentence(odd_shelf: Shelf) -> None:
    assert odd_shelf.paths("ประชุมโครงการ") == ["memory/th.md"]


@pytest.mark.parametrize(
    "query", ["🎉", "C++", "c++", "gpt-4", "src/main.py", "main.py:12", "v1.2.3", "don't", "--", "don’t"]
)
def test_signs_are_found_as_they_stand(odd_shelf: Shelf, query: str) -> None:
    assert odd_shelf.hits(query)[0].parts.literal


@pytest.mark.parametrize("query", ["café résumé", "cafe\u0301 re\u0301sume\u0301", "CAFE RESUME"])
def test_composed_and_decomposed_text_find_each_other(shelf: Shelf, query: str) -> None:
    decomposed = "cafe\u0301 re\u0301sume\u0301"
    shelf.fill({"memory/학점_nfc.md": "café résumé\n", "memory/b.md": f"{decomposed}\n"})
    found = {hit.path: hit.snippet for hit in shelf.hits(query)}
    assert found == {"memory/학점_nfc.md": "café résumé", "memory/b.md": decomposed}


@pytest.mark.parametrize("query", ["학점_nfd", "\u1112\u1161\u11a8\u110c\u1165\u11b7"])
def test_a_document_is_found_by_its_name_and_shown_as_it_is_stored(shelf: Shelf, query: str) -> None:
    stored = "memory/\u1112\u1161\u11a8\u110c\u1165\u11b7_nfd.md"
    shelf.put(stored, "nothing of it\n")
    assert shelf.paths(query) == [stored]


def test_a_literal_match_comes_first(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1))
    shelf.put("memory/near.md", "The words error and handler and retry, handler error retry.\n", vector=at_cosine(0.9))
    shelf.put(
        "memory/exact.md",
        "One line says: retry handler error in passing, and much more text follows.\n",
        vector=at_cosine(0.0),
    )
    first = shelf.hits("retry handler error", NORTH)[0]
    assert first.path == "memory/exact.md"
    assert first.parts.literal
    assert first.score >= 0.9


@pytest.mark.parametrize(
    "query", ["memory/trips/2026-05-01.md", "2026-05-01.md", "2026-05-01", "./memory/trips/2026-05-01.md"]
)
def test_a_document_that_the_query_names_comes_first(shelf: Shelf, query: str) -> None:
    shelf.pad(60).put("memory/trips/2026-05-01.md", "Gravel and lichen.\n")
    shelf.put("memory/other.md", "See trips, 2026, memory, 05, 01, md and md again.\n")
    assert shelf.paths(query)[0] == "memory/trips/2026-05-01.md"


def test_filters_without_words_say_what_is_missing(shelf: Shelf) -> None:
    shelf.put("memory/a.md", "text\n")
    result = shelf.search("source:memory")
    assert (result.hits, result.filters) == ((), ("source:memory",))
    assert result.warning is not None


def test_a_phrase_is_exact(shelf: Shelf) -> None:
    shelf.pad(60).fill(
        {"memory/1.md": "the quick brown fox\n", "memory/2.md": "the quick fox\n", "memory/3.md": "quick foxes\n"}
    )
    assert shelf.paths('"quick fox"') == ["memory/2.md"]


def test_a_phrase_that_is_nowhere_finds_nothing(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/1.md", "the quick brown fox\n", vector=NORTH)
    assert shelf.hits('"quick fox"', NORTH) == ()


def test_a_phrase_made_of_stop_words_is_found(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/1.md", "To be or not to be, that is it.\n")
    assert shelf.paths('"to be or not to be"') == ["memory/1.md"]


def test_words_beside_a_phrase_that_is_nowhere_are_found_with_a_warning(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/1.md", 'error: schema "pg_other" is unacceptable\n')
    result = shelf.search('unacceptable schema "pg_name"')
    assert [hit.path for hit in result.hits] == ["memory/1.md"]
    assert result.warning is not None


def test_common_words_of_a_question_do_not_count(shelf: Shelf) -> None:
    shelf.pad(60).fill(
        {
            "memory/1.md": "How is the what of the when and the why.\n",
            "memory/2.md": "Rotate the signing key each May.\n",
        }
    )
    assert shelf.paths("when is the signing key rotated")[0] == "memory/2.md"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Verteidigungsministerium", "Der Verteidigungsminister sprach.\n"),
        ("городами", "Большие города росли.\n"),
    ],
)
def test_another_form_of_a_word_that_is_nowhere_is_found(shelf: Shelf, query: str, text: str) -> None:
    shelf.pad(60).put("memory/form.md", text)
    assert shelf.paths(query) == ["memory/form.md"]


def test_a_word_that_only_begins_alike_does_not_qualify(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/a.md", "A large quantity of oil.\n")
    assert shelf.hits("quantum") == ()


def test_nonsense_finds_nothing(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1))
    assert shelf.hits("xyzzyplugh qwfpgj", NORTH) == ()


def test_a_near_meaning_qualifies_without_a_word(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1)).put("memory/near.md", "Automobile repairs.\n", vector=at_cosine(0.7))
    (hit,) = shelf.hits("fixing cars", NORTH)
    assert (hit.path, hit.line, hit.parts.text) == ("memory/near.md", 1, None)
    assert hit.parts.vector == pytest.approx(0.7, abs=1e-3)


def test_semantic_mode_ranks_by_meaning_alone(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1))
    shelf.put("memory/words.md", "fixing cars fixing cars\n", vector=at_cosine(0.45))
    shelf.put("memory/near.md", "Automobile repairs.\n", vector=at_cosine(0.7))
    result = shelf.search("fixing cars", NORTH, request={"mode": "semantic"})
    assert [hit.path for hit in result.hits] == ["memory/near.md", "memory/words.md"]
    assert result.mode == "semantic"


def test_without_a_vector_a_search_is_by_words(shelf: Shelf) -> None:
    shelf.put("memory/a.md", "alpha\n", vector=NORTH)
    result = shelf.search("alpha")
    assert (result.mode, result.hits[0].parts.vector) == ("keyword", None)


@pytest.mark.parametrize("vector", [np.zeros(4, np.float32), np.full(4, np.nan, np.float32), np.ones(3, np.float32)])
def test_a_bad_query_vector_falls_back_to_words(shelf: Shelf, vector: np.ndarray) -> None:
    shelf.put("memory/a.md", "alpha\n", vector=NORTH)
    result = shelf.search("alpha", vector)
    assert [hit.path for hit in result.hits] == ["memory/a.md"]
    assert result.mode == "keyword"
    assert result.warning is not None


@pytest.mark.parametrize("with_matrix", [True, False])
def test_memory_and_file_give_the_same_hits(shelf: Shelf, with_matrix: bool) -> None:
    shelf.pad(60, vector=at_cosine(0.1, turn=2))
    for number in range(5):
        shelf.put(f"memory/{number}.md", f"lantern {number}\n", vector=at_cosine(0.3 + number / 10))
    request = SearchRequest("lantern", max_results=5)
    hits = shelf.searcher(with_matrix=with_matrix).search(request, NORTH).hits
    assert [hit.path for hit in hits] == [f"memory/{number}.md" for number in (4, 3, 2, 1, 0)]
    assert [hit.parts.vector for hit in hits] == pytest.approx([0.7, 0.6, 0.5, 0.4, 0.3], abs=1e-3)


def test_equal_texts_come_in_the_order_of_their_paths(shelf: Shelf) -> None:
    shelf.pad(60)
    for name in ("b", "c", "a"):
        shelf.put(f"memory/{name}.md", "The same lantern text.\n")
    assert shelf.paths("lantern") == ["memory/a.md", "memory/b.md", "memory/c.md"]


def test_neighbours_become_one_hit_and_the_place_is_filled_again(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, tokens=40, overlap=8).pad(60)
    shelf.put(
        "memory/long.md",
        "".join(f"The lantern number {number} hangs over the door of house {number}.\n" for number in range(6)),
    )
    shelf.put("memory/other.md", "A lantern elsewhere.\n")
    hits = shelf.hits("lantern house door", request={"max_results": 3})
    assert len({hit.path for hit in hits}) == len(hits) == 2
    long = next(hit for hit in hits if hit.path == "memory/long.md")
    assert long.end_line - long.start_line > 2
    assert long.start_line <= long.line <= long.end_line


def test_transcripts_never_crowd_out_every_memory_hit(shelf: Shelf) -> None:
    for number in range(80):
        shelf.put(f"sessions/pi/{number}.jsonl", f"User: lantern lantern lantern {number}\n", source="sessions")
    shelf.pad(60)
    shelf.put("memory/weak.md", "Among much other text about gravel, moss and the slope there was one lantern.\n" * 1)
    hits = shelf.hits("lantern")
    assert len(hits) == 6
    assert hits[-1].path == "memory/weak.md"


def test_a_transcript_s_lines_are_the_physical_ones(shelf: Shelf) -> None:
    shelf.put(
        "sessions/pi/s.jsonl",
        "User: hello\nAssistant: the needle-l is here\n",
        source="sessions",
        dialect="pi",
        line_map=(4, 6),
    )
    (hit,) = shelf.hits("needle-l")
    assert (hit.start_line, hit.end_line, hit.line, hit.dialect) == (4, 6, 6, "pi")


def test_a_cancelled_search_says_so(shelf: Shelf) -> None:
    shelf.pad(5)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SearchCancelled):
        shelf.searcher().search(SearchRequest("gravel"), None, cancel)


def test_a_search_that_was_cancelled_leaves_the_searcher_fit(shelf: Shelf) -> None:
    searcher = shelf.pad(5).searcher()
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SearchCancelled):
        searcher.search(SearchRequest("gravel"), None, cancel)
    assert searcher.search(SearchRequest("gravel")).hits


def test_an_empty_index_finds_nothing(shelf: Shelf) -> None:
    assert shelf.hits("anything", NORTH) == ()


def test_chunks_that_wait_for_a_vector_are_counted(shelf: Shelf) -> None:
    shelf.put("memory/a.md", "lantern\n")
    assert shelf.search("lantern").pending == 1
