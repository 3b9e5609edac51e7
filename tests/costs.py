"""What work costs in proportion to other work: processor time, measured so that a busy machine does not decide."""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = range(3, 60)
"""How often both are measured: at least, at most."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """What one run of the work takes of this process's processor time."""
    started = time.process_time()
    work()
    return time.process_time() - started


def costs_at_most(times: float, work: Callable[[], object], base: Callable[[], object]) -> None:
    """Assert that the work costs no more than so many times what the base costs.

    Other work on the machine only adds, by phases of seconds. So both are run in turns, the least of each counts, and a
    comparison that fails is gone on with: what truly costs more never passes.
    """
    least_work = least_base = float("inf")
    for number in range(ROUNDS.stop):
        least_base = min(least_base, cpu_seconds(base))
        least_work = min(least_work, cpu_seconds(work))
        if number + 1 >= ROUNDS.start and least_work <= times * least_base:
            return
    raise AssertionError(f"costs {least_work / least_base:.1f} times as much and not {times}: {least_work:.4f} s CPU")
