"""Garbage is looked for while nobody types."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tui import heap
from tui.heap import Heap


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The full collections, none of which takes place."""
    seen: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: seen.append(1))
    monkeypatch.setattr(gc, "freeze", lambda: None)
    return seen


def counts(monkeypatch: pytest.MonkeyPatch, young: int, old: int) -> None:
    monkeypatch.setattr(gc, "get_count", lambda: (0, young, old))


def test_a_key_puts_a_collection_off(monkeypatch: pytest.MonkeyPatch, collected: list[int]) -> None:
    counts(monkeypatch, 0, 50)
    kept = Heap()
    kept.key()
    kept.rest()
    assert not collected
    monkeypatch.setattr(heap, "QUIET_SECONDS", 0.0)
    kept.rest()
    assert collected


def test_keys_without_a_pause_put_it_off_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch, collected: list[int]
) -> None:
    counts(monkeypatch, 0, 50)
    kept = Heap()
    monkeypatch.setattr(heap, "LONGEST_SECONDS", 0.0)
    kept.key()
    kept.rest()
    assert collected


def test_an_app_that_makes_nothing_collects_nothing(monkeypatch: pytest.MonkeyPatch, collected: list[int]) -> None:
    counts(monkeypatch, 3, 0)
    monkeypatch.setattr(heap, "QUIET_SECONDS", 0.0)
    Heap().rest()
    assert not collected


def test_pages_go_back_once_after_the_last_key(monkeypatch: pytest.MonkeyPatch, collected: list[int]) -> None:
    counts(monkeypatch, 3, 0)
    given: list[int] = []
    monkeypatch.setattr(heap, "give_back_free_pages", lambda: given.append(1))
    kept = Heap()
    kept.key()
    kept.rest()
    assert not given
    monkeypatch.setattr(heap, "QUIET_SECONDS", 0.0)
    kept.rest()
    kept.rest()
    assert (len(given), collected) == (1, [])


def test_what_the_start_made_is_looked_through_no_more() -> None:
    code = """
import gc
from tui.heap import quiet_heap
with quiet_heap() as heap:
    assert not gc.isenabled()
    made = [[n] for n in range(50_000)]
    heap.settled()
    assert gc.isenabled() and gc.get_freeze_count() > 50_000
"""
    subprocess.run([sys.executable, "-c", code], check=True)
