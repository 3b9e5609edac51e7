"""A writer that gives no sign of life: who waits for it is told after a bounded time, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, SearchRequest, StoreError, open_memory
from core.store.database import Database
from core.store.requests import Requests
from core.sync import pulse
from core.sync.pulse import Activity, Pulse, activity_of
from tests.test_soak import REPOSITORY
from tests.workbench import Bench

BUSY = """
import sys, time
from pathlib import Path
from core.store.database import Database
from core.store.writer_lock import WriterLock
from core.sync.reports import to_outcome
from core.store.requests import Requests
from core.types import SyncReport

store = Path(sys.argv[1])
lock = WriterLock(store)
assert lock.acquire()
database = Database.open(store)
print("ready", flush=True)
requests = Requests(database)
while not (taken := requests.take()):
    time.sleep(0.05)
end = time.process_time() + 3
while time.process_time() < end:
    pass
for one in taken:
    requests.finish(one.id, to_outcome(SyncReport("manual", indexed=42)), now_ms=1)
time.sleep(30)
"""


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "STOPPED_SECONDS", 1.0)
    monkeypatch.setattr(pulse, "SILENT_SECONDS", 2.0)


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`memdeck watch` that has indexed all and then was stopped."""
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws/MEMORY.md").write_text("facts\n")
    scope = ["--workspace", str(tmp_path / "ws"), "--store", str(tmp_path / "index.sqlite")]
    environ = {**os.environ, "HOME": str(tmp_path / "home"), "MEMDECK_PROVIDER": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "watch", "--json", *scope],
        cwd=REPOSITORY,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        while "sync_finished" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def memory(tmp_path: Path, watcher: object) -> Iterator[Memory]:
    opened = open_memory(
        workspace=tmp_path / "ws",
        store=tmp_path / "index.sqlite",
        environ={},
        home=tmp_path / "home",
        flags={"provider": "none"},
    )
    yield opened
    opened.close()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_note_is_written_once_and_found_when_a_stopped_writer_goes_on(
    memory: Memory, watcher: subprocess.Popen[str]
) -> None:
    written = memory.note("zebra crossing")
    assert f"process {watcher.pid}, which writes the index, was stopped" in written.warning
    assert f"kill -CONT {watcher.pid}" in written.warning
    assert written.absolute.read_text().count("zebra") == 1
    watcher.send_signal(signal.SIGCONT)
    until(lambda: memory.search(SearchRequest("zebra")).hits)


def test_a_sync_says_which_process_was_stopped_and_what_to_do(memory: Memory, watcher: subprocess.Popen[str]) -> None:
    with pytest.raises(StoreError, match=f"process {watcher.pid}, which writes the index, was stopped") as told:
        memory.sync()
    assert f"kill -CONT {watcher.pid}" in told.value.remedy
    watcher.kill()
    watcher.wait()
    assert memory.sync().scanned == 1


def test_a_writer_that_computes_for_long_is_waited_for(tmp_path: Path) -> None:
    here = Bench(tmp_path)
    Database.open(here.store).close()
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(here.store)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert here.sync().indexed == 42
    finally:
        process.kill()
        process.wait()
        here.worker.stop()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Database.open(tmp_path / "index.sqlite").close()
    return tmp_path / "index.sqlite"


def seconds_to_silence(watch: Pulse, beat: Callable[[], object] = lambda: None, most: float = 5) -> float | None:
    """How long a writer counts as alive; None if to the end of `most` seconds."""
    watch.begin()
    started = time.monotonic()
    while time.monotonic() - started < most:
        if watch.look() is not None:
            return time.monotonic() - started
        beat()
        time.sleep(0.25)
    return None


def test_a_writer_that_neither_commits_nor_computes_is_silent(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "activity_of", lambda pid: Activity(stopped=False, cpu_seconds=1.0))
    with Database.open(store) as database:
        assert seconds_to_silence(Pulse(database, lambda: 4711)) is not None


def test_a_writer_that_commits_is_alive(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "activity_of", lambda pid: Activity(stopped=False, cpu_seconds=1.0))
    with Database.open(store) as database, Database.open(store) as writer:
        requests = Requests(writer)
        assert (
            seconds_to_silence(Pulse(database, lambda: 4711), lambda: requests.show_life(now_ms=time.time_ns())) is None
        )


def test_a_writer_shows_life_while_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.sync import writer as writing

    monkeypatch.setattr(writing, "SIGN_SECONDS", 0.0)
    here = Bench(tmp_path)
    try:
        here.sync()
        with here.reading() as database:
            assert database.meta("writer_alive_ms") is None
        with Database.open(here.store) as other:
            Requests(other).ask("sync", '{"reason": "manual"}', pid=1, now_ms=1)
        # A request that is never answered: what it asks for takes for ever.
        monkeypatch.setattr(writing.WriterRole, "_begin", lambda self, flight: None)
        until(lambda: _sign(here))
    finally:
        here.worker.stop()


def _sign(here: Bench) -> str | None:
    with here.reading() as database:
        return database.meta("writer_alive_ms")


def test_the_system_tells_of_a_process(tmp_path: Path) -> None:
    own = activity_of(os.getpid())
    assert own is not None
    assert (own.stopped, own.cpu_seconds > 0) == (False, True)
    assert activity_of(2**22 + 1) is None
