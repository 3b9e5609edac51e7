"""Batches of like length over a few threads of low priority; an error stays with its text."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.local import BATCH_TOKENS
from core.embedding.threads import BatchThreads, batches, default_threads, vectors_of
from core.errors import BadVector, EmbeddingError


@given(st.lists(st.integers(1, 300), max_size=80), st.integers(1, 400))
def test_batches_hold_every_row_once_and_keep_the_budget(lengths: list[int], budget: int) -> None:
    grouped = batches(lengths, budget)

    assert sorted(index for group in grouped for index in group) == list(range(len(lengths)))
    for group in grouped:
        assert len(group) == 1 or len(group) * max(lengths[index] for index in group) <= budget


@given(st.lists(st.integers(1, BATCH_TOKENS), min_size=1, max_size=200))
def test_batches_by_length_pad_little(lengths: list[int]) -> None:
    padded = sum(len(group) * max(lengths[index] for index in group) for group in batches(lengths, BATCH_TOKENS))

    assert padded <= 2 * sum(lengths) + BATCH_TOKENS


def test_a_failing_row_keeps_its_error_to_itself() -> None:
    def run(group: list[int]) -> list[object]:
        if 2 in group:
            raise EmbeddingError("this one is bad")
        return [[1.0, index] for index in group]

    threads = BatchThreads(2)
    outcomes = vectors_of(run, [[0, 1], [2, 3, 4]], threads, None)
    threads.close()

    assert [index for index, outcome in enumerate(outcomes) if isinstance(outcome, EmbeddingError)] == [2]


def test_a_vector_that_is_none_belongs_to_its_text_alone() -> None:
    threads = BatchThreads(1)
    outcomes = vectors_of(lambda group: [[0.0, 0.0], [3.0, 4.0], [float("nan"), 1.0]], [[0, 1, 2]], threads, None)
    threads.close()

    assert [type(outcome) for outcome in outcomes] == [BadVector, np.ndarray, BadVector]


def test_when_everything_fails_the_request_failed() -> None:
    def run(group: list[int]) -> list[object]:
        raise EmbeddingError("out of memory")

    threads = BatchThreads(1)
    with pytest.raises(EmbeddingError, match="out of memory"):
        vectors_of(run, [[0, 1], [2]], threads, None)
    threads.close()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads have no priority of their own")
def test_documents_run_at_low_priority_and_the_caller_does_not() -> None:
    threads = BatchThreads(1)
    inside = threads.map(lambda _: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), [0], None)
    threads.close()

    assert inside[0] > os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert default_threads() == len(os.sched_getaffinity(0))
