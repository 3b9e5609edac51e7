"""Small batches over a few threads of low priority, with cancellation and errors kept to their text."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from core.courtesy import Courtesy
from core.embedding.base import Vector, normalised
from core.errors import EmbeddingError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

NICENESS = 10

Item = TypeVar("Item")
Made = TypeVar("Made")


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indexes grouped by like length, longest first; rows x longest row is within `budget` (one row may exceed it)."""
    grouped: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if room < 1:
            grouped.append([])
            room = max(1, budget // max(1, lengths[index]))
        grouped[-1].append(index)
        room -= 1
    return grouped


class BatchThreads:
    """Threads that run batches: one a core where threads have a priority of their own, else one core is left free.

    They wait for `courtesy` before each piece of work.
    """

    def __init__(self, threads: int | None = None, courtesy: Courtesy | None = None) -> None:
        self.count = threads or default_threads()
        self._courtesy = courtesy or Courtesy()
        self._closed = threading.Event()

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.count, "memdeck-model", initializer=_lower_priority)

    def map(self, work: Callable[[Item], Made], items: Sequence[Item], cancel: threading.Event | None) -> list[Made]:
        """`work` of each item, in order. Raises EmbeddingError when cancelled or closed, and what `work` raises."""
        from concurrent.futures import CancelledError

        def guarded(item: Item) -> Made:
            self._courtesy.wait()
            raise_if_cancelled(cancel, self._closed)
            return work(item)

        if self._closed.is_set():
            raise EmbeddingError("the embedder is closed")
        try:
            futures = [self._executor.submit(guarded, item) for item in items]
        except RuntimeError:
            raise EmbeddingError("the embedder is closed") from None
        try:
            return [future.result() for future in futures]
        except CancelledError:
            raise EmbeddingError("the embedder is closed") from None
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        self._closed.set()
        if "_executor" in self.__dict__:
            self._executor.shutdown(wait=False, cancel_futures=True)


def default_threads() -> int:
    """As many as this process may use cores; one less where a thread cannot have a lower priority of its own."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if _own_priority() else max(1, cores - 1)


def raise_if_cancelled(*events: threading.Event | None) -> None:
    """Raises EmbeddingError if one of the events is set."""
    if any(event is not None and event.is_set() for event in events):
        raise EmbeddingError("embedding was cancelled", retryable=True)


def vectors_of(
    run: Callable[[list[int]], Any], groups: Sequence[list[int]], threads: BatchThreads, cancel: threading.Event | None
) -> list[Vector | EmbeddingError]:
    """Run each group of indexes and give every index its vector, or the error that belongs to it alone.

    `run` returns one row for each index; a group that fails is run again row by row. Raises EmbeddingError when
    cancelled or closed, and when the model failed for each of several texts.
    """
    failures: list[EmbeddingError] = []

    def outcomes(group: list[int]) -> Iterator[tuple[int, Vector | EmbeddingError]]:
        try:
            rows = run(group)
        except EmbeddingError as error:
            if len(group) == 1:
                failures.append(error)
                yield group[0], error
                return
            for index in group:
                raise_if_cancelled(cancel)
                yield from outcomes([index])
            return
        for index, row in zip(group, rows, strict=True):
            try:
                yield index, normalised(row)
            except EmbeddingError as error:
                yield index, error

    made = dict(pair for pairs in threads.map(lambda group: list(outcomes(group)), groups, cancel) for pair in pairs)
    if len(failures) == len(made) > 1:
        raise failures[0]
    return [made[index] for index in range(len(made))]


def _own_priority() -> bool:
    return hasattr(os, "setpriority") and hasattr(os, "sched_getaffinity")  # Linux: a thread is a process to the kernel


def _lower_priority() -> None:
    if not _own_priority():
        return
    thread = threading.get_native_id()
    try:
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
    except OSError:
        return
