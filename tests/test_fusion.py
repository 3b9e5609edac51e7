"""Fusion, decay and diversity: order and scores."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.search.decay import decay_factor
from core.search.diversity import diversify, similarity, word_set
from core.search.evidence import TextEvidence, rarity
from core.search.fusion import Candidate, fuse, fuse_tiny, logistic, score, strength
from core.search.rows import FileInfo
from core.types import Source

NUMBERS = st.floats(0, 1e6, allow_nan=False)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        chunk_id=st.integers(1, 1000),
        words=NUMBERS,
        parts=NUMBERS,
        pairs=NUMBERS,
        identifiers=NUMBERS,
        distinct=st.integers(0, 20),
        cosine=st.none() | st.floats(-1, 1),
        literal=st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


def ranked(candidates: list[Candidate], first: float) -> list[Candidate]:
    score(candidates, first)
    return sorted(candidates, key=lambda candidate: (-candidate.literal, -candidate.fused))


@given(CANDIDATES, st.integers(0, 100_000), st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_scores_lie_in_0_to_1_and_never_rise_along_the_list(
    candidates: list[Candidate], chunks: int, weight: float, mean: float, deviation: float, first: float
) -> None:
    fuse(candidates, chunks=chunks, text_weight=weight, mean=mean, deviation=deviation)
    scores = [candidate.score for candidate in ranked(candidates, first)]
    assert all(0.0 <= value <= 1.0 for value in scores)
    assert scores == sorted(scores, reverse=True)


@given(CANDIDATES)
def test_literal_hits_score_above_the_rest(candidates: list[Candidate]) -> None:
    fuse(candidates, chunks=1000, text_weight=0.6)
    score(candidates, 0.5)
    literal = [candidate.score for candidate in candidates if candidate.literal]
    rest = [candidate.score for candidate in candidates if not candidate.literal]
    assert min(literal, default=1.0) >= 0.9 >= max(rest, default=0.0)


def test_the_first_hit_scores_its_strength_when_it_is_not_literal() -> None:
    candidates = [Candidate(1, words=9.0), Candidate(2, words=3.0)]
    fuse(candidates, chunks=1000, text_weight=1.0)
    score(candidates, 0.8)
    assert candidates[0].score == pytest.approx(0.9 * 0.8)


def test_standard_scores_are_taken_over_all_chunks() -> None:
    candidate = Candidate(1, words=4.0, cosine=0.5)
    fuse([candidate], chunks=100, text_weight=0.6, mean=0.1, deviation=0.2)
    mean = 4.0 / 100
    deviation = math.sqrt(16.0 / 100 - mean * mean)
    assert candidate.text_z == pytest.approx((4.0 - mean) / deviation)
    assert candidate.vector_z == pytest.approx(2.0)
    assert candidate.fused == pytest.approx(0.4 * 2.0 + 0.6 * candidate.text_z)


def test_a_missing_part_counts_as_nothing() -> None:
    candidates = [Candidate(1, words=4.0), Candidate(2, cosine=0.9)]
    fuse(candidates, chunks=100, text_weight=0.5, mean=0.1, deviation=0.2)
    assert candidates[0].vector_z == 0.0
    assert candidates[1].text_z == 0.0


def test_in_a_tiny_index_distinct_words_come_before_meaning() -> None:
    both, one = Candidate(1, distinct=2, cosine=0.0), Candidate(2, distinct=1, cosine=1.0)
    fuse_tiny([both, one])
    assert both.fused > one.fused


@given(st.floats(0, 1), st.none() | st.floats(-1, 1), st.floats(0, 1))
def test_strength_grows_with_coverage_and_stays_below_1(coverage: float, cosine: float | None, floor: float) -> None:
    assert 0.01 <= strength(coverage, cosine, floor) <= strength(1.0, cosine, floor) <= 0.99


@given(st.floats(allow_nan=False))
def test_the_logistic_never_overflows(value: float) -> None:
    assert 0.0 <= logistic(value) <= 1.0


def test_vector_and_text_scores_are_bounded_views_of_the_evidence() -> None:
    candidate = Candidate(1, words=4.2, cosine=-0.3)
    assert candidate.vector_score == 0.0
    assert candidate.text_score == pytest.approx(0.8077, abs=1e-4)
    assert Candidate(2, cosine=0.3).text_score is None


def test_a_rare_word_tells_more_and_none_tells_less_than_nothing() -> None:
    assert rarity(1, 1000) > rarity(100, 1000) > rarity(900, 1000) == 0.0


def test_text_is_not_read_when_there_is_nothing_to_count() -> None:
    def never() -> list[str]:
        raise AssertionError("read")

    class NoTerms:
        asked = ()
        unspaced_runs = ()
        neighbours = ()

    evidence = TextEvidence(never, 100)
    assert evidence.parts(NoTerms()) is None  # type: ignore[arg-type]
    assert evidence.pairs(NoTerms()) is None  # type: ignore[arg-type]


def document(path: str, *, source: Source = "memory", date_ms: int | None = None, mtime_days: int = 0) -> FileInfo:
    changed = datetime(2026, 6, 15, 12) - timedelta(days=mtime_days)
    return FileInfo(1, source, path, "h", date_ms, int(changed.timestamp() * 1e9), None, 0)


def midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day).timestamp() * 1000)


TODAY = date(2026, 6, 15)


@pytest.mark.parametrize(("days", "factor"), [(0, 1.0), (1, 0.9772), (7, 0.8507), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_dated_text_halves_with_the_half_life(days: int, factor: float) -> None:
    dated = document("memory/x.md", date_ms=midnight(TODAY - timedelta(days=days)))
    assert decay_factor(dated, None, today=TODAY, half_life_days=30) == pytest.approx(factor, abs=1e-4)


def test_the_future_has_age_0() -> None:
    dated = document("memory/x.md", date_ms=midnight(TODAY + timedelta(days=9)))
    assert decay_factor(dated, None, today=TODAY, half_life_days=30) == 1.0


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/projects.md"])
def test_undated_memory_is_evergreen(path: str) -> None:
    assert decay_factor(document(path, mtime_days=400), None, today=TODAY, half_life_days=30) == 1.0


def test_transcripts_age_by_what_was_said_and_else_by_their_last_change() -> None:
    transcript = document("sessions/pi/a.jsonl", source="sessions", mtime_days=60)
    said = midnight(TODAY - timedelta(days=30))
    assert decay_factor(transcript, said, today=TODAY, half_life_days=30) == pytest.approx(0.5)
    assert decay_factor(transcript, None, today=TODAY, half_life_days=30) == pytest.approx(0.25)


def test_a_moment_outside_the_calendar_does_not_decay() -> None:
    assert decay_factor(document("memory/x.md", date_ms=10**18), None, today=TODAY, half_life_days=30) == 1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("the deploy runs at noon", "the deploy runs at night"),
        ("项目评审会议在下午", "项目评审会议在上午"),
        ("การประชุมโครงการวันนี้", "การประชุมโครงการพรุ่งนี้"),
        ("परियोजना की बैठक आज है", "परियोजना की बैठक कल है"),
        ("встреча по проекту сегодня", "встреча по проекту завтра"),
    ],
)
def test_likeness_works_for_every_script(first: str, second: str) -> None:
    other = "zebra 動物園 สวนสัตว์ चिड़ियाघर зоопарк"
    assert similarity(word_set(first), word_set(second)) > 0.4
    assert similarity(word_set(first), word_set(other)) < 0.1


def test_two_texts_without_words_are_alike() -> None:
    assert similarity(word_set("…"), word_set("!!")) == 1.0
    assert similarity(word_set("…"), word_set("a")) == 0.0


def test_diversity_puts_a_different_text_before_a_copy() -> None:
    texts = ["deploy at noon daily", "deploy at noon daily", "backup the database"]
    assert diversify([0.9, 0.88, 0.5], texts, lambda_=0.5, count=3) == [0, 2, 1]


def test_lambda_1_leaves_the_order() -> None:
    assert diversify([0.9, 0.8, 0.7], ["same", "same", "same"], lambda_=1.0, count=3) == [0, 1, 2]


def test_equals_go_by_score_then_by_position() -> None:
    assert diversify([0.5, 0.5, 0.5], ["a", "b", "c"], lambda_=0.7, count=3) == [0, 1, 2]


@given(st.lists(st.tuples(st.floats(0, 1), st.text(max_size=8)), max_size=12), st.floats(0, 1), st.integers(1, 12))
def test_diversity_only_reorders(rows: list[tuple[float, str]], lambda_: float, count: int) -> None:
    order = diversify([value for value, _ in rows], [text for _, text in rows], lambda_=lambda_, count=count)
    assert sorted(order) == list(range(len(rows)))
