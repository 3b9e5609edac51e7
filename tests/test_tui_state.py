"""From events to the app's state and the log."""

from __future__ import annotations

import threading

import pytest

from core import Progress, SyncReport, events
from tui.bridge import KEPT_EVENTS, EventBridge
from tui.event_log import log_line
from tui.state import DeckState, summary


def indexed(path: str, at_ms: int = 0) -> events.FileIndexed:
    return events.FileIndexed(
        at_ms=at_ms, source="memory", path=path, chunks=3, chunks_new=1, chunks_same=2, chunks_gone=0, milliseconds=4.2
    )


def test_each_indexed_file_makes_a_new_revision() -> None:
    assert DeckState().after(indexed("a.md")).after(indexed("b.md")).revision == 2


def test_a_sync_without_changes_keeps_the_revision() -> None:
    report = SyncReport("manual", scanned=9, unchanged=9)
    assert DeckState().after(events.SyncFinished(at_ms=0, report=report)).revision == 0


def test_progress_shows_in_the_top_line_until_the_sync_ends() -> None:
    state = DeckState().after(events.SyncStarted(at_ms=0, reason="watch"))
    state = state.after(events.SyncProgressed(at_ms=0, progress=Progress(1204, 3000, "reading")))
    assert summary(state, roomy=False)[0][0] == "● indexing 1,204/3,000"
    state = state.after(events.SyncFinished(at_ms=0, report=SyncReport("watch")))
    assert "indexing" not in summary(state, roomy=False)[0][0]


def test_waiting_vectors_show_until_there_are_none() -> None:
    state = DeckState().after(
        events.EmbeddingProgressed(at_ms=0, written=8, waiting=340, progress=Progress(60, 400, "vectors"))
    )
    assert ("340 waiting", "$accent") in summary(state, roomy=False)
    assert not any("waiting" in text for text, _ in summary(state.after(_finished()), roomy=False))


def _finished() -> events.EmbeddingFinished:
    return events.EmbeddingFinished(at_ms=0, vectors=400, seconds=2.0)


def test_a_lost_watch_stays_as_an_alarm_until_a_sync_ends() -> None:
    state = DeckState().after(events.WatchLost(at_ms=0, reason="inotify limit"))
    assert "inotify limit" in state.alarm
    assert state.after(events.SyncFinished(at_ms=0, report=SyncReport("interval"))).alarm == ""


@pytest.mark.parametrize(
    ("event", "verb", "subject"),
    [
        (indexed("a.md"), "indexed", "a.md"),
        (events.FileRemoved(at_ms=0, source="memory", path="a.md"), "removed", "a.md"),
        (events.FileRenamed(at_ms=0, source="memory", old_path="a.md", path="b.md"), "renamed", "a.md → b.md"),
        (events.FileFailed(at_ms=0, source="memory", path="a.md", error="denied", attempts=1), "FAILED", "a.md"),
        (events.EventsBatched(at_ms=0, events=37, paths=4), "batched", "37 events → 4 paths"),
    ],
)
def test_an_event_reads_as_a_fixed_verb_and_what_it_was(event: events.Event, verb: str, subject: str) -> None:
    line = log_line(event)
    assert line is not None
    assert (line.verb, line.subject) == (verb, subject)


def test_progress_is_no_line_of_the_log() -> None:
    assert log_line(events.SyncProgressed(at_ms=0, progress=Progress(1, 2, "reading"))) is None


def test_a_burst_asks_for_one_delivery() -> None:
    asked: list[int] = []
    bridge = EventBridge(lambda: asked.append(1))
    threads = [threading.Thread(target=lambda: [bridge(indexed("a.md")) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch, lost = bridge.take()
    assert (len(batch), lost, len(asked)) == (800, 0, 1)


def test_beyond_its_bound_the_bridge_lets_the_oldest_go_and_counts_them() -> None:
    bridge = EventBridge(lambda: None)
    for number in range(KEPT_EVENTS + 5):
        bridge(indexed("a.md", at_ms=number))
    batch, lost = bridge.take()
    assert (batch[0].at_ms, len(batch), lost) == (5, KEPT_EVENTS, 5)
