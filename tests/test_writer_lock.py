"""One writer at a time, whoever it is and however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import StoreError, StoreReadOnly
from core.store.writer_lock import WriterLock

ROOT = str(Path(__file__).parent.parent)
HOLDER = """
import sys
from pathlib import Path
from core.store.writer_lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "main.sqlite"


@contextmanager
def another_process(store: Path) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"True\n"
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_the_owner_is_known_by_its_pid(store: Path) -> None:
    lock = WriterLock(store)
    assert lock.owner() is None
    assert lock.acquire()
    assert lock.owner() == WriterLock(store).owner() == os.getpid()


def test_a_second_writer_is_refused_and_told_who_writes(store: Path) -> None:
    with another_process(store) as child:
        lock = WriterLock(store)
        assert not lock.acquire()
        assert not lock.is_held
        assert lock.owner() == child.pid


def test_two_locks_of_one_process_exclude_each_other_too(store: Path) -> None:
    first, second = WriterLock(store), WriterLock(store)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()


def test_taking_it_again_is_free(store: Path) -> None:
    lock = WriterLock(store)
    assert lock.acquire()
    assert lock.acquire()
    lock.release()
    lock.release()
    assert WriterLock(store).acquire()


def test_a_killed_writer_leaves_no_lock(store: Path) -> None:
    with another_process(store) as child:
        child.kill()
        child.wait()
        lock = WriterLock(store)
        assert lock.owner() is None
        assert lock.acquire()


def test_waiting_ends_when_the_writer_goes(store: Path) -> None:
    with another_process(store) as child:
        assert child.stdin is not None
        threading.Timer(0.1, child.stdin.close).start()
        assert WriterLock(store).acquire(blocking=True)


def test_waiting_has_an_end(store: Path) -> None:
    with another_process(store):
        assert not WriterLock(store).acquire(blocking=True, timeout=0.1)


def test_the_pid_of_a_former_owner_does_not_count(store: Path) -> None:
    lock = WriterLock(store)
    lock.path.write_text("1\n")
    assert lock.owner() is None


def test_looking_who_owns_it_does_not_keep_a_writer_out(store: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            WriterLock(store).owner()
            time.sleep(0.001)

    lock = WriterLock(store)
    lock.acquire()
    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    taken = 0
    for _ in range(50):
        lock.release()
        taken += lock.acquire()
        time.sleep(0.001)
    stop.set()
    for looker in lookers:
        looker.join()
    assert taken == 50


def test_a_link_to_the_store_leads_to_the_same_lock(store: Path, tmp_path: Path) -> None:
    store.touch()
    (tmp_path / "link.sqlite").symlink_to(store)
    assert WriterLock(store).acquire()
    assert not WriterLock(tmp_path / "link.sqlite").acquire()


def test_where_nothing_can_be_written_it_says_so() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            lock = WriterLock(Path(name) / "main.sqlite")
            with pytest.raises(StoreReadOnly):
                lock.acquire()
            assert lock.owner() is None
        finally:
            if os.getuid() == 0:
                os.seteuid(0)


def test_a_lock_file_that_is_a_link_is_not_followed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    WriterLock(store).path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        WriterLock(store).acquire()
    assert (tmp_path / "elsewhere").read_bytes() == b""
