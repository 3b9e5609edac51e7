"""Where and when a search looks, what it leaves out, and what each hit says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from core.search.rows import FoldedTexts
from tests.shelf import NORTH, Shelf, at_cosine


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def at(day: str) -> int:
    return int(datetime.fromisoformat(day).timestamp() * 1000)


@pytest.fixture
def dated(shelf: Shelf) -> Shelf:
    shelf.pad(60)
    shelf.put("memory/2026-06-14.md", "lantern of june\n", date_ms=at("2026-06-14"))
    shelf.put("memory/2026-01-02.md", "lantern of january\n", date_ms=at("2026-01-02"))
    shelf.put("memory/undated.md", "lantern without date\n", mtime_ns=at("2025-05-05") * 1_000_000)
    shelf.put(
        "sessions/pi/a.jsonl",
        "User: lantern early\nUser: x\n",
        source="sessions",
        dialect="pi",
        line_times=(at("2024-03-03"), None),
    )
    shelf.put(
        "sessions/codex/b.jsonl",
        "User: lantern late\n",
        source="sessions",
        dialect="codex",
        line_times=(at("2026-06-10"),),
    )
    return shelf


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ("source:sessions", {"a.jsonl", "b.jsonl"}),
        ("source:memory", {"2026-06-14.md", "2026-01-02.md", "undated.md"}),
        ("dialect:codex", {"b.jsonl"}),
        ("path:2026-", {"2026-06-14.md", "2026-01-02.md"}),
        ("path:memory/*-14.md", {"2026-06-14.md"}),
        ("after:2026-06-01", {"2026-06-14.md", "b.jsonl"}),
        ("before:2026-01-02", {"undated.md", "a.jsonl"}),
        ("after:2026 before:2026-06-14", {"2026-01-02.md", "b.jsonl"}),
        ("after:2w source:memory", {"2026-06-14.md"}),
        ("dialect:nobody", set()),
    ],
)
def test_filters_say_where_to_look(dated: Shelf, filters: str, found: set[str]) -> None:
    assert {path.rpartition("/")[2] for path in dated.paths(f"lantern {filters}")} == found


def test_filters_are_part_of_retrieval(shelf: Shelf) -> None:
    for number in range(300):
        shelf.put(f"memory/many/{number}.md", "lantern lantern lantern\n", vector=at_cosine(0.9))
    shelf.put("memory/few/one.md", "At last, among more words than elsewhere, a lantern.\n", vector=at_cosine(0.5))
    assert shelf.paths("lantern path:few") == ["memory/few/one.md"]
    assert shelf.paths("lantern path:few", NORTH) == ["memory/few/one.md"]
    assert shelf.paths("lamp path:few", NORTH) == ["memory/few/one.md"]


def test_a_request_can_name_its_sources(dated: Shelf) -> None:
    paths = dated.paths("lantern", request={"sources": ("sessions",)})
    assert {path.split("/")[0] for path in paths} == {"sessions"}


def test_least_score_never_hides_a_hit_by_words(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1))
    shelf.put("memory/word.md", "one lantern among many other things\n", vector=at_cosine(0.0))
    shelf.put("memory/near.md", "no such word\n", vector=at_cosine(0.45))
    assert shelf.paths("lantern lamp wick oil", NORTH, request={"min_score": 0.99}) == ["memory/word.md"]


def test_age_lowers_scores_where_that_is_asked_for(dated: Shelf) -> None:
    aged = {hit.path: hit for hit in dated.hits("lantern", temporal_decay={"enabled": True})}
    assert aged["memory/2026-06-14.md"].parts.decay == pytest.approx(0.9772, abs=1e-3)
    assert aged["memory/undated.md"].parts.decay == 1.0
    assert aged["sessions/pi/a.jsonl"].score < aged["memory/2026-06-14.md"].score


def test_diversity_brings_another_text_forward(shelf: Shelf) -> None:
    shelf.pad(60)
    for number in range(4):
        shelf.put(f"memory/copy{number}.md", "lantern oil lantern oil\n")
    shelf.put("memory/other.md", "Buy a lantern for the boat, and paint for its hull.\n")
    plain = shelf.paths("lantern oil")
    spread = shelf.hits("lantern oil", mmr={"enabled": True, "lambda": 0.3})
    assert plain.index("memory/other.md") == 4
    assert [hit.path for hit in spread].index("memory/other.md") == 1
    scores = [hit.score for hit in spread]
    assert scores == sorted(scores, reverse=True)


def test_a_hit_explains_itself(shelf: Shelf) -> None:
    shelf.pad(60, vector=at_cosine(0.1)).put("memory/a.md", "# Lamps\nthe lantern burns oil\n", vector=at_cosine(0.6))
    parts = shelf.hits("oil lantern wick", NORTH)[0].parts
    assert parts.matched == ("oil", "lantern")
    assert parts.vector == pytest.approx(0.6, abs=1e-3)
    assert {"words", "cosine", "text_z", "vector_z", "fused"} <= set(parts.evidence)
    assert "words" in parts.explain()


def test_a_hit_names_its_heading_and_document(shelf: Shelf) -> None:
    shelf.put("memory/a.md", "# Lamps\n\n## Oil\n\nthe lantern burns oil\n")
    (hit,) = shelf.hits("lantern")
    assert hit.heading[0] == "Lamps"
    assert len(hit.document_hash) == 64


LONG_SESSION = [
    ("before:2026-02-01", True),
    ("before:2026-01-09", False),
    ("after:2026-03-01", True),
    ("after:2026-03-12", False),
    ("after:2026-01-09 before:2026-01-10", True),
    ("after:2026-03-10 before:2026-03-11", True),
]


@pytest.mark.parametrize(("filters", "passes"), LONG_SESSION)
def test_a_talk_that_went_on_after_a_pause_is_found_by_either_time(shelf: Shelf, filters: str, passes: bool) -> None:
    shelf.pad(60).put(
        "sessions/pi/a.jsonl",
        "User: lantern\nUser: what\nUser: again\n",
        source="sessions",
        line_times=(at("2026-01-09"), None, at("2026-03-10")),
    )
    assert bool(shelf.paths(f"lantern {filters}")) == passes
    assert [hit.date_ms for hit in shelf.hits("lantern")] == [at("2026-03-10")]
    assert all(hit.date_ms == at("2026-01-09") for hit in shelf.hits("lantern before:2026-02-01"))


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts the machine into another time zone."""

    def travel(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield travel
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("there", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize("here", ["UTC", "Asia/Tokyo", "Pacific/Pago_Pago"])
def test_a_day_in_a_name_is_that_day_in_every_time_zone(
    shelf: Shelf, zone: Callable[[str], None], here: str, there: str
) -> None:
    zone(here)
    shelf.pad(60).put("memory/2026-06-05.md", "lantern\n", date_ms=at("2026-06-05"))
    zone(there)
    assert shelf.paths("lantern after:2026-06-05 before:2026-06-06") == ["memory/2026-06-05.md"]
    assert not shelf.paths("lantern after:2026-06-06")
    assert not shelf.paths("lantern before:2026-06-05")
    assert [hit.date_ms for hit in shelf.hits("lantern")] == [at("2026-06-05")]
    listed = {one.path: one.date_ms for one in shelf.documents.list()}
    assert listed["memory/2026-06-05.md"] == at("2026-06-05")


def test_only_weak_matches_say_so(shelf: Shelf) -> None:
    shelf.pad(60).put("memory/a.md", "There were many points on the map.\n")
    result = shelf.search("how many points did the panthers defense surrender")
    assert result.hits[0].score < 0.3
    assert result.warning is not None


def test_dates_of_hits_come_from_the_name_or_from_what_was_said(dated: Shelf) -> None:
    found = {hit.path: hit.date_ms for hit in dated.hits("lantern")}
    assert found["memory/2026-06-14.md"] == at(date(2026, 6, 14).isoformat())
    assert found["memory/undated.md"] is None
    assert found["sessions/codex/b.jsonl"] == at("2026-06-10")


def test_folded_texts_are_no_more_than_the_index_has_chunks() -> None:
    texts = FoldedTexts()
    for number in range(10):
        texts.of(number, f"TEXT {number}")
    texts.of(2, "TEXT 2")
    texts.keep_at_most(3)
    kept = [number for number in range(10) if texts.of(number, "anew") != "anew"]
    assert kept == [2, 8, 9]
