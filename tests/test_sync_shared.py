"""A sync that one process asks for and another one runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import StoreReadOnly
from core.events import IdentityChanged, SyncStarted
from core.settings.model import Chunking, Settings
from core.sync.keyword_job import KeywordJob
from core.types import Progress
from tests.workbench import Bench, WordEmbedder


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Bench, Bench]]:
    """Two workers on one index: the first writes, with an embedder that can be held; the second follows."""
    embedder = WordEmbedder()
    embedder.gate = threading.Event()
    embedder.gate.set()
    writer = Bench(tmp_path, embedder)
    writer.write("memory/a.md", "one\n")
    writer.sync()
    follower = Bench(tmp_path, WordEmbedder())
    yield writer, follower
    embedder.gate.set()
    follower.worker.stop()
    writer.worker.stop()


def gate_of(bench: Bench) -> threading.Event:
    assert isinstance(bench.embedder, WordEmbedder)
    assert bench.embedder.gate is not None
    return bench.embedder.gate


def test_who_wants_vectors_gets_the_report_when_they_are_made(pair: tuple[Bench, Bench]) -> None:
    writer, follower = pair
    gate_of(writer).clear()
    writer.write("memory/b.md", "two\n")
    ticket = follower.ask()
    told: list[Progress] = []
    ticket.on_progress = told.append
    follower.until(lambda: "memory/b.md" in writer.paths())
    follower.until(lambda: told)
    assert not ticket.done.done()
    assert (told[-1].total, told[-1].completed) == (1, 0)
    gate_of(writer).set()
    report = ticket.done.result(timeout=30)
    assert (report.indexed, report.vectors_made, report.vectors_waiting) == (1, 1, 0)


def test_who_wants_none_does_not_wait_for_them(pair: tuple[Bench, Bench]) -> None:
    writer, follower = pair
    gate_of(writer).clear()
    writer.write("memory/b.md", "two\n")
    report = follower.sync(vectors=False)
    assert (report.indexed, report.vectors_made, report.vectors_waiting) == (1, 0, 1)


def test_the_vectors_of_a_writer_that_stops_are_made_by_who_asked(pair: tuple[Bench, Bench]) -> None:
    writer, follower = pair
    gate_of(writer).clear()
    writer.write("memory/b.md", "two\n")
    ticket = follower.ask()
    follower.until(lambda: "memory/b.md" in writer.paths())
    writer.worker.stop()
    report = ticket.done.result(timeout=30)
    assert report.vectors_waiting == 0
    assert [count for _, _, count in follower.vectors()] == [2]


def test_a_request_in_hand_when_the_index_fails_is_begun_once_more_and_not_twice(
    pair: tuple[Bench, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, follower = pair
    before = len(writer.happened(SyncStarted))
    steps, failures = KeywordJob.steps, [StoreReadOnly("not now")]

    def fail_once(job: KeywordJob) -> Iterator[None]:
        if failures:
            raise failures.pop()
        yield from steps(job)

    monkeypatch.setattr(KeywordJob, "steps", fail_once)
    writer.write("memory/b.md", "two\n")
    assert follower.sync().indexed == 1
    writer.sync()
    assert len(writer.happened(SyncStarted)) - before == 3  # that failed, that was asked by each


def test_who_follows_with_other_settings_redoes_nothing_and_says_so(pair: tuple[Bench, Bench], tmp_path: Path) -> None:
    writer, _ = pair
    settings = Settings(chunking=Chunking(tokens=200, overlap=20))
    other = Bench(tmp_path, WordEmbedder(), settings=settings)
    try:
        writer.write("memory/b.md", "two\n")
        other.worker.request("session-start")  # as the app does, which waits for no report
        other.until(lambda: other.happened(IdentityChanged))
        writer.write("memory/c.md", "three\n")
        reports = [other.sync(), other.sync()]
        assert [report.indexed for report in reports] == [1, 0]
        assert all("settings of its own: chunking differs" in (report.warning or "") for report in reports)
        (told,) = other.happened(IdentityChanged)
        assert isinstance(told, IdentityChanged)
        assert not told.redone
    finally:
        other.worker.stop()


def test_who_follows_with_the_same_settings_has_nothing_to_say(pair: tuple[Bench, Bench]) -> None:
    _, follower = pair
    assert follower.sync().warning is None
    assert not follower.happened(IdentityChanged)
