"""The indexing worker on real files and a real index, with an embedder that is quick and can be told to fail."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import EmbeddingError
from core.events import FileFailed, FileIndexed, FileRemoved, FileRenamed, IdentityChanged
from core.store.database import Database
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync import keyword_job
from core.sync.intake import MemoryIntake
from core.sync.messages import Ticket
from tests.workbench import Bench, WordEmbedder, benches


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with benches(tmp_path) as make:
        yield make


def test_a_first_sync_indexes_every_file(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("MEMORY.md", "# Facts\nthe sky is blue\n")
    here.write("memory/a/b.md", "deep\n")
    report = here.sync()
    assert (report.indexed, report.unchanged, here.paths()) == (2, 0, ["MEMORY.md", "memory/a/b.md"])


def test_a_second_sync_reads_nothing_once_times_have_settled(bench: Callable[..., Bench]) -> None:
    here = bench()
    path = here.write("MEMORY.md", "text\n")
    old = time.time() - 60
    os.utime(path, (old, old))
    here.sync()
    here.events.clear()
    report = here.sync()
    assert (report.unchanged, report.indexed, here.happened(FileIndexed)) == (1, 0, [])


def test_an_edit_of_the_same_size_in_the_same_tick_is_found(bench: Callable[..., Bench]) -> None:
    here = bench()
    path = here.write("MEMORY.md", "aaaa\n")
    here.sync()
    stat = path.stat()
    path.write_text("bbbb\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert here.sync().indexed == 1


def test_a_deleted_file_leaves_the_index(bench: Callable[..., Bench]) -> None:
    here = bench(WordEmbedder())
    here.write("memory/keep.md", "keep\n")
    gone = here.write("memory/only.md", "ghost777\n")
    here.sync()
    gone.unlink()
    report = here.sync()
    assert (report.removed, here.paths()) == (1, ["memory/keep.md"])
    assert len(here.happened(FileRemoved)) == 1


def test_a_file_cut_to_nothing_keeps_no_chunks(bench: Callable[..., Bench]) -> None:
    here = bench(WordEmbedder())
    path = here.write("memory/only.md", "ghost777\n")
    here.sync()
    for text in ("", "---\ntitle: x\n---\n"):
        path.write_text(text)
        here.sync()
        with here.reading() as database:
            assert database.count("SELECT count(*) FROM chunks") == 0


def test_an_absent_root_is_not_taken_for_deletion(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("memory/a.md", "kept\n")
    here.sync()
    (here.workspace / "memory").rename(here.workspace / "elsewhere")
    report = here.sync()
    assert (report.removed, here.paths()) == (0, ["memory/a.md"])
    assert report.warning is not None


def test_a_rename_embeds_nothing(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    here = bench(embedder)
    path = here.write("memory/a.md", "the same text\n")
    here.sync()
    embedder.seen.clear()
    path.rename(here.workspace / "memory" / "b.md")
    here.sync()
    assert (here.paths(), embedder.seen) == (["memory/b.md"], [])
    assert len(here.happened(FileRenamed)) == 1


def test_only_changed_chunks_are_embedded(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    here = bench(embedder)
    sections = [f"# Part {number}\n" + f"word{number} " * 300 + "\n" for number in range(4)]
    path = here.write("MEMORY.md", "".join(sections))
    here.sync()
    embedder.seen.clear()
    sections[3] = "# Part 3\n" + "changed " * 300 + "\n"
    path.write_text("".join(sections))
    here.sync()
    assert embedder.seen
    assert all("changed" in text for text in embedder.seen)


def test_one_unreadable_file_does_not_stop_the_others(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = bench()
    here.write("memory/good.md", "good\n")
    here.write("memory/bad.md", "bad\n")
    read = MemoryIntake.read

    def failing(self: MemoryIntake, file: object, fresh: bool = False) -> object:
        if file.path.endswith("bad.md"):  # type: ignore[attr-defined]
            raise PermissionError(13, "Permission denied")
        return read(self, file)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryIntake, "read", failing)
    report = here.sync()
    assert (report.failed, here.paths()) == (1, ["memory/good.md"])
    assert len(here.happened(FileFailed)) == 1
    monkeypatch.undo()
    assert here.sync().failed == 0
    assert here.paths() == ["memory/bad.md", "memory/good.md"]


def test_binary_files_are_skipped_and_named(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("memory/good.md", "good\n")
    (here.workspace / "memory/bin.md").write_bytes(bytes(range(256)) * 8)
    report = here.sync()
    assert (report.skipped, report.failed) == (1, 0)
    with here.reading() as database:
        from core.store.file_errors import FileErrors

        assert [skip.path for skip in FileErrors(database).skips()] == ["memory/bin.md"]


def test_keyword_rows_are_there_before_any_vector(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.gate = threading.Event()
    here = bench(embedder)
    here.write("MEMORY.md", "text\n")
    report = here.sync(vectors=False)
    assert (report.indexed, report.vectors_waiting, here.paths()) == (1, 1, ["MEMORY.md"])
    embedder.gate.set()
    assert here.sync().vectors_waiting == 0


def test_a_failed_request_is_tried_again(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.fail = [EmbeddingError("500", retryable=True)]
    here = bench(embedder)
    here.write("MEMORY.md", "text\n")
    first = here.sync()
    assert first.warning == "500"
    end = time.monotonic() + 20
    while True:
        with here.reading() as database:
            if EmbeddingQueue(database).waiting() == 0:
                break
        assert time.monotonic() < end
        time.sleep(0.05)
    assert embedder.seen == ["text"]


def test_a_refused_text_stays_searchable_by_keyword(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.refuse = "odd"
    here = bench(embedder)
    here.write("memory/a.md", "plain\n")
    here.write("memory/b.md", "odd\n")
    report = here.sync()
    assert report.vectors_waiting == 0
    with here.reading() as database:
        assert [chunk.path for chunk in EmbeddingQueue(database).refused()] == ["memory/b.md"]
        assert database.count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'odd'") == 1


def test_callers_that_come_together_share_one_sync(bench: Callable[..., Bench]) -> None:
    here = bench()
    for number in range(30):
        here.write(f"memory/{number}.md", f"note {number}\n")
    tickets = [here.ask() for _ in range(8)]
    reports = [ticket.done.result(timeout=30) for ticket in tickets]
    assert sum(report.indexed for report in {id(report): report for report in reports}.values()) == 30


@pytest.mark.parametrize("bound", ["COMMIT_SECONDS", "COMMIT_CHARACTERS"])
def test_a_cancelled_sync_keeps_what_was_done(
    bound: str, bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyword_job, bound, 0)  # each document on its own
    here = bench()
    for number in range(40):
        here.write(f"memory/{number:03}.md", f"note {number}\n" * 50)
    ticket = Ticket()
    ticket.on_progress = lambda progress: ticket.cancel.set()
    here.worker.request("manual", ticket=ticket)
    report = ticket.done.result(timeout=30)
    assert report.cancelled
    assert 0 < report.indexed == len(here.paths()) < 40
    assert here.sync().indexed == 40 - report.indexed


def test_another_model_makes_its_own_vectors_and_the_old_go(bench: Callable[..., Bench], tmp_path: Path) -> None:
    first = bench(WordEmbedder("old", dims=3))
    first.write("MEMORY.md", "text\n")
    first.sync()
    first.worker.stop()
    second = Bench(tmp_path, WordEmbedder("new", dims=4))
    try:
        second.sync()
        assert len(second.happened(IdentityChanged)) == 1
        with second.reading() as database:
            rows = Identities(database).live()
            assert [(row.identity.model, row.state, Vectors(database, row).count()) for row in rows] == [
                ("new", "active", 1)
            ]
    finally:
        second.worker.stop()


def test_a_second_worker_hands_its_sync_to_the_first(bench: Callable[..., Bench], tmp_path: Path) -> None:
    writer = bench()
    writer.write("memory/a.md", "one\n")
    writer.sync()
    follower = Bench(tmp_path)
    try:
        follower.write("memory/b.md", "two\n")
        report = follower.sync()
        assert report.indexed == 1
        assert not follower.worker.state.is_writer
        writer.worker.stop()
        follower.write("memory/c.md", "three\n")
        assert follower.sync().indexed == 1
        assert follower.worker.state.is_writer
    finally:
        follower.worker.stop()


def test_stopping_ends_waiting_callers(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.gate = threading.Event()
    here = bench(embedder)
    here.write("MEMORY.md", "text\n")
    ticket = here.ask()
    end = time.monotonic() + 10
    while not here.happened(FileIndexed):
        assert time.monotonic() < end
        time.sleep(0.01)
    here.worker.stop()
    assert ticket.done.done()


def test_a_forced_sync_keeps_ids_of_equal_text(bench: Callable[..., Bench]) -> None:
    here = bench(WordEmbedder())
    here.write("MEMORY.md", "text\n")
    here.sync()
    with here.reading() as database:
        before = database.numbers("SELECT id FROM chunks")
    assert here.sync("force", force=True).indexed == 1
    with here.reading() as database:
        assert database.numbers("SELECT id FROM chunks") == before


def test_a_targeted_sync_looks_at_its_paths_only(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("memory/a.md", "one\n")
    here.write("memory/b.md", "two\n")
    here.sync()
    here.write("memory/a.md", "one more\n")
    here.write("memory/b.md", "two more\n")
    report = here.sync("post-compaction", paths=(str(here.workspace / "memory/a.md"),))
    assert (report.scanned, report.indexed, here.paths()) == (1, 1, ["memory/a.md", "memory/b.md"])


def test_state_is_replaced_not_changed(bench: Callable[..., Bench]) -> None:
    here = bench()
    before = here.worker.state
    here.write("MEMORY.md", "text\n")
    here.sync()
    assert before == replace(before)
    assert here.worker.state is not before


def test_while_another_process_holds_the_write_lock_nothing_is_lost(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("memory/a.md", "first\n")
    here.sync()
    other = Database.open(here.store)
    other.run("BEGIN IMMEDIATE")
    here.write("memory/b.md", "second\n")
    ticket = here.ask()
    time.sleep(0.5)
    assert here.paths() == ["memory/a.md"]
    other.run("COMMIT")
    other.close()
    assert ticket.done.result(timeout=30).indexed == 1
    assert here.paths() == ["memory/a.md", "memory/b.md"]
