"""Parts of words: every text that holds a piece of text is found, whatever the piece is cut from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import StoreError
from core.search import literal, parts
from core.search.literal import Literals, holds
from core.search.rows import FoldedTexts, Rows
from core.search.terms import Tokenizer, Vocabulary
from core.store import word_rows
from core.store.database import Database
from core.store.word_rows import WordRows
from core.text.analysis import blank_signs, fold, joins_words, split_scripts, words
from tests.shelf import Shelf

TEXTS = (
    "The lighthouse keeper indexes every ship; indexing is slow.",
    "pip install foo_bar-baz==1.2.3 && ./run --now",
    "const camelCase = fooBar.bazQux(a => a.b->c);",
    "c++ and c# and f(x) != g(x), `a::b::c`",
    "修复索引 then ok 検索エンジン v2.0 한국어검색이다",
    "ภาษาไทยไม่มีช่องว่าง และ english",
    "CAFÉ résumé naïve Straße ŁÓDŹ",
    "हिन्दी में खोज 42% done, Привет-мир Йод",
    "- [ ] todo\n- [x] done --- *** ===>",
    "/usr/share/doc/x_y/z.md#L12-L20 https://example.org/a?b=c",
    "𞤀𞤣𞤤𞤢𞤥 a script that came late",
    "tabs\tand  double  blanks\r\nand lines",
)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path_factory.mktemp("parts"))
    for number, text in enumerate(TEXTS):
        shelf.put(f"memory/{number:02}.md", text)
    yield shelf
    shelf.database.close()


def literals(database: Database, allowed: Sequence[int] | None = None) -> Literals:
    connection = database.connection
    rows = Rows(connection, FoldedTexts())
    return Literals(connection, Vocabulary(connection, Tokenizer(connection)), rows, allowed)


def holders(needle: str, *, whole_words: bool) -> list[int]:
    """By reading every text: those that hold a needle at the borders of words, else those that hold it at all."""
    folded = [fold(text) for text in TEXTS]
    whole = [number for number, text in enumerate(folded, 1) if holds(text, needle)]
    if whole or whole_words:
        return whole
    return [number for number, text in enumerate(folded, 1) if stands_in(text, needle)]


def stands_in(text: str, needle: str) -> bool:
    """Whether a text holds a needle, in its words too unless all in the needle is shorter than three letters."""
    runs = "".join(character if joins_words(character) else " " for character in needle).split()
    is_other = any(script != "word" for _, script in split_scripts(needle))
    return needle in text if is_other or max(map(len, runs), default=3) > 2 else holds(text, needle)


@st.composite
def cuttings(draw: st.DrawFn) -> str:
    text = fold(draw(st.sampled_from(TEXTS)))
    start = draw(st.integers(0, len(text) - 1))
    return text[start : start + draw(st.integers(1, 14))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400, deadline=None)
@given(needle=cuttings(), whole_words=st.booleans())
def test_whatever_is_cut_from_a_text_is_found_in_all_that_hold_it(shelf: Shelf, needle: str, whole_words: bool) -> None:
    needle = fold(needle)
    found = literals(shelf.database).chunks_with(needle, whole_words=whole_words)
    is_short = len(needle) < 3 and all(map(joins_words, needle))
    is_sentence = len(words(needle)) > 4 and blank_signs(needle) == needle
    if found is not None and not is_short and not (is_sentence and not whole_words):
        assert sorted(found) == holders(needle, whole_words=whole_words)


@pytest.mark.parametrize(
    ("needle", "chunk"),
    [
        ("ighthous", 1),
        ("ndexin", 1),
        ("oo_bar-ba", 2),
        ("ooBar.bazQ", 3),
        (".b->c", 3),
        ("f(", 4),
        ("el>", None),
        ("c++", 4),
        ("::b::", 4),
        ("索引 the", 5),
        ("v2", 5),
        ("文字", None),
        ("ไม่มี", 6),
        ("aïv", 7),
        ("न्दी", 8),
        ("вет-ми", 8),
        ("[ ]", 9),
        ("===", 9),
        ("x_y/z", 10),
        ("#L12-L", 10),
        ("𞤣𞤤𞤢", 11),
        ("double blanks and", 12),
    ],
)
def test_parts_in_every_way_of_writing(shelf: Shelf, needle: str, chunk: int | None) -> None:
    found = literals(shelf.database).chunks_with(needle, whole_words=False)
    assert (found or []) == ([] if chunk is None else [chunk])


@pytest.mark.parametrize("query", ["2.0.1", "release 2.0.1", '2.0.1 "release"'])
def test_a_version_is_found_without_its_letter(tmp_path: Path, query: str) -> None:
    shelf = Shelf(tmp_path)
    for number in range(80):
        shelf.put(
            f"memory/{number}.md", f"Release {number} of 12.0.1 took 2 days, 0 faults and 1 hour; 2.0.{number + 10}"
        )
    shelf.put("memory/there.md", "It is called v2.0.1 since today, says the release note.")
    assert shelf.hits(query)[0].path == "memory/there.md"


@pytest.mark.parametrize(
    ("needle", "chunks"),
    [("2.0.1", [1]), ("1.21", [2]), ("12.0.1", [3]), ("3.11", []), ("0.1", [1, 3]), ("2.0.11", [])],
)
def test_a_version_is_no_part_of_a_longer_number(tmp_path: Path, needle: str, chunks: list[int]) -> None:
    shelf = Shelf(tmp_path)
    for number, text in enumerate(("v2.0.1", "go1.21", "a v2 of 12.0.1 and v2.0.15", "v13.11 and 23.111")):
        shelf.put(f"memory/{number}.md", text)
    assert literals(shelf.database).chunks_with(needle, whole_words=False) == chunks


def test_only_what_is_allowed_is_found(shelf: Shelf) -> None:
    assert literals(shelf.database, [2, 3]).chunks_with("ighthous", whole_words=False) == []
    assert literals(shelf.database, [2, 3]).chunks_with("===", whole_words=False) == []
    assert literals(shelf.database, [1, 9]).chunks_with("===", whole_words=False) == [9]


def test_what_is_in_too_many_texts_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_WORDS", 5)
    shelf = Shelf(tmp_path)
    for number in range(12):
        shelf.put(f"memory/{number}.md", f"harbour{number}light and sea{number}")
    shelf.put("memory/rare.md", "a harbour9.sea9x")
    found = literals(shelf.database)
    assert found.chunks_with("rbour", whole_words=False) is None
    assert found.chunks_with("ur9.se", whole_words=False) == [13]
    assert found.chunks_with("our3li", whole_words=False) == [4]


def test_more_chunks_than_are_looked_at_are_too_many(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal, "MOST_LOOKED_AT", 0)
    assert literals(shelf.database).chunks_with("ighthous", whole_words=False) is None


def test_a_word_leaves_with_the_last_text_that_has_it(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.put("memory/a.md", "kestrel and heron")
    shelf.put("memory/b.md", "herons")
    shelf.documents.remove("memory", "memory/a.md")
    assert WordRows(shelf.database).settle()
    words = {str(word) for (word,) in shelf.database.rows("SELECT word FROM words")}
    assert words == {"heron", "herons"}  # the shorter one stands in the longer one's text
    assert literals(shelf.database).chunks_with("estre", whole_words=False) == []


def test_a_word_of_which_many_texts_have_another_form_is_settled_exactly_where_it_must_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_rows, "_MOST_TEXTS", 3)
    shelf = Shelf(tmp_path)
    for number in range(9):
        shelf.put(f"memory/{number}.md", f"kestrel {number}")
    shelf.put("memory/gone.md", "kestrels")
    shelf.documents.remove("memory", "memory/gone.md")
    for exactly in (False, True):
        assert WordRows(shelf.database).settle(exactly=exactly)
        count = shelf.database.count("SELECT count(*) FROM words WHERE word = 'kestrels'")
        assert count == (0 if exactly else 1)


def test_a_damaged_keyword_table_is_told_as_what_it_is(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.put("memory/a.md", "kestrel")
    shelf.database.run("UPDATE words SET doubtful = 1")
    shelf.database.run("UPDATE chunks_fts_data SET block = x'ffffffffffffffff' WHERE id > 10")
    with pytest.raises(StoreError):
        WordRows(shelf.database).settle()
