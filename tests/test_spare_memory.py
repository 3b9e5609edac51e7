"""Freed memory goes back to the system, when it is much and not too often."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from core.spare_memory import EVERY_SECONDS, WORTH_BYTES, SpareMemory, resident_bytes


class Process:
    """A process whose memory and clock a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.resident = 100_000_000
        self.free = 0
        self.trims = 0

    def trim(self) -> None:
        self.trims += 1
        self.resident -= self.free
        self.free = 0

    def spare(self) -> SpareMemory:
        return SpareMemory(clock=lambda: self.now, resident=lambda: self.resident, trim=self.trim)

    def grow(self, size: int, *, free: bool = True) -> None:
        self.now += EVERY_SECONDS
        self.resident += size
        self.free += size if free else 0


def test_much_that_is_free_is_given_back() -> None:
    process = Process()
    spare = process.spare()
    process.grow(WORTH_BYTES)
    spare.give_back()
    assert process.resident == 100_000_000


def test_it_is_not_looked_more_often_than_now_and_then() -> None:
    process = Process()
    spare = process.spare()
    process.grow(WORTH_BYTES)
    spare.give_back()
    process.now += EVERY_SECONDS / 2
    process.resident += 10 * WORTH_BYTES
    spare.give_back()
    assert process.trims == 1


def test_what_is_in_use_is_not_looked_for_again_and_again() -> None:
    process = Process()
    spare = process.spare()
    process.grow(10 * WORTH_BYTES, free=False)
    spare.give_back()
    process.grow(WORTH_BYTES - 1)
    spare.give_back()
    process.grow(1)
    spare.give_back()
    assert process.trims == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone gives memory back when asked")
def test_a_real_process_becomes_smaller() -> None:
    code = """
        import threading
        from core.spare_memory import EVERY_SECONDS, SpareMemory, resident_bytes
        now = 0.0
        spare = SpareMemory(clock=lambda: now)
        held = []
        def fill():
            held.extend(bytes(range(256)) * 400 for _ in range(1000))  # 100 KiB each: below what is mapped by itself
            kept.append(bytes(range(256)) * 400)  # above it nothing is free at the end of the heap
        kept = []
        thread = threading.Thread(target=fill)
        thread.start()
        thread.join()
        full = resident_bytes()
        held.clear()
        now += EVERY_SECONDS
        spare.give_back()
        print(full - resident_bytes())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert resident_bytes() > 0
    assert int(done.stdout) > 50_000_000
