"""Reading in processes of its own: the same index as without, also where a process fails, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from core import Memory
from core.errors import Undecodable
from core.settings import settings_of
from core.sync import reading_process
from core.sync.intake import MemoryIntake
from core.sync.reading import Asked, Outcome
from core.sync.reading_process import ReadingProcess, processes_for
from core.text.tokens import TokenCounter
from core.types import Document, ScannedFile, SearchRequest
from tests.session_bench import AGENTS
from tests.started import noted
from tests.transcript_home import copy_samples
from tests.waiting import is_dead, wait_for

NOTES = {
    f"memory/n{n}.md": f"# Note {n}\n\n## Part\n\n" + f"Kiln {n} fires at cone {n % 9}, größer als 日本語 {n}.\n" * 40
    for n in range(60)
}
ODD = {"memory/broken.md": b"\xff\xfe\x00\xd8 odd", "memory/binary.md": b"a\0b\0" * 50, "memory/empty.md": b""}

SAMPLES = ("claude-code", "codex", "gemini", "openclaw-jsonl", "opencode", "pi")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[ReadingProcess]:
    """The reading processes that are started, two for each source whatever its size."""
    monkeypatch.setattr(reading_process, "processes_for", lambda size: 2)
    return noted(monkeypatch, ReadingProcess)


def rows(store: Path) -> list[tuple[object, ...]]:
    """What the index says of every document, its chunks, and how it is found."""
    with apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        documents = connection.execute(
            "SELECT path, hash, build, lines, files.chunks, date_ms, warning, dialect, title, details, ordinal, "
            "start_line, end_line, heading, text, hex(embed_hash), line_map, observed_ms, observed_from_ms "
            "FROM files LEFT JOIN chunks ON file_id = files.id ORDER BY path, ordinal"
        ).fetchall()
        skips = connection.execute("SELECT path, kind, error FROM file_errors ORDER BY path").fetchall()
        return [*documents, *skips]


@pytest.fixture
def intake(tmp_path: Path) -> MemoryIntake:
    workspace = tmp_path / "own"
    for name, text in NOTES.items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return MemoryIntake(workspace, settings_of({}), home=tmp_path, counter=TokenCounter())


@pytest.fixture
def process(intake: MemoryIntake) -> Iterator[ReadingProcess]:
    process = ReadingProcess(intake)
    yield process
    process.close()


def files_of(intake: MemoryIntake) -> tuple[ScannedFile, ...]:
    return tuple(intake.scan().files)


def test_notes_and_transcripts_are_indexed_as_without(
    memory_of: Callable[..., Memory], tmp_path: Path, processes: list[ReadingProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_samples(tmp_path / "home", *SAMPLES)
    flags = {"sources": ["memory", "sessions"], "sessions.agents": AGENTS}
    memory = memory_of({**NOTES, **ODD}, **flags)
    assert len(processes) == 4
    within = rows(memory.store_path)

    monkeypatch.setattr(reading_process, "processes_for", lambda size: 0)
    memory.sync(force=True)

    assert len(processes) == 4
    assert len(within) > 100
    assert rows(memory.store_path) == within


def test_what_changes_afterwards_is_seen_by_processes_too(
    memory_of: Callable[..., Memory], processes: list[ReadingProcess]
) -> None:
    memory = memory_of(NOTES)
    file = memory.workspace / "memory" / "n3.md"
    file.write_text("# Kettle\n\nDescale the kettle.\n")
    (memory.workspace / "memory" / "n4.md").unlink()

    report = memory.sync()

    assert (report.indexed, report.removed) == (1, 1)
    assert [hit.path for hit in memory.search(SearchRequest("descale", mode="keyword")).hits] == ["memory/n3.md"]


def test_a_process_that_is_killed_loses_nothing(intake: MemoryIntake, process: ReadingProcess) -> None:
    files = files_of(intake)
    first = process.submit(Asked(files[0])).result(60)
    os.kill(process.pid, signal.SIGSTOP)
    futures = [process.submit(Asked(file)) for file in files]
    os.kill(process.pid, signal.SIGKILL)
    later = process.submit(Asked(files[0]))

    assert first is not None
    assert first.prepared is not None
    assert [future.result(60) for future in futures] == [None] * len(files)
    assert later.result(60) is None


def test_where_no_process_starts_reading_goes_on_without(
    memory_of: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, processes: list[ReadingProcess]
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    memory = memory_of(NOTES)
    assert processes == []
    assert memory.status().files == len(NOTES)


def test_a_program_that_is_no_python_is_survived(
    memory_of: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, processes: list[ReadingProcess]
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    memory = memory_of(NOTES)
    assert len(processes) == 2
    assert memory.status().files == len(NOTES)


def test_a_sync_whose_processes_die_in_the_middle_reads_the_rest_without(
    memory_of: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, processes: list[ReadingProcess]
) -> None:
    submit = ReadingProcess.submit
    asked_for: list[Asked] = []

    def dying(self: ReadingProcess, asked: Asked) -> Future[Outcome | None]:
        asked_for.append(asked)
        if len(asked_for) == 20:
            for process in processes:
                process._process.kill()
        return submit(self, asked)

    monkeypatch.setattr(ReadingProcess, "submit", dying)
    memory = memory_of(NOTES)
    assert len(asked_for) >= 20
    assert memory.status().files == len(NOTES)
    assert [document.path for document in memory.documents()] == sorted(NOTES)


def test_an_error_of_a_file_comes_back_as_what_it_is(
    tmp_path: Path, intake: MemoryIntake, process: ReadingProcess
) -> None:
    (tmp_path / "own/memory/bad.md").write_bytes(ODD["memory/binary.md"])
    (file,) = (f for f in files_of(intake) if f.path == "memory/bad.md")

    outcome = process.submit(Asked(file)).result(60)

    assert isinstance(outcome.error, Undecodable)
    gone = file._replace(absolute=file.absolute + "x")
    assert replace(process.submit(Asked(gone)).result(60), seconds=0.0) == Outcome(gone)


class Odd(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


class OddIntake(MemoryIntake):
    def read(self, file: ScannedFile, fresh: bool = False) -> Document:
        print("a library that prints")
        raise Odd("an error ", "that cannot be sent")


def test_an_error_that_cannot_be_sent_keeps_its_words(tmp_path: Path, intake: MemoryIntake) -> None:
    odd = OddIntake(tmp_path / "own", settings_of({}), home=tmp_path, counter=TokenCounter())
    process = ReadingProcess(odd)
    try:
        outcome = process.submit(Asked(files_of(intake)[0])).result(60)
    finally:
        process.close()
    assert "an error that cannot be sent" in str(outcome.error)


def test_closing_ends_a_process_in_the_middle_of_its_work(intake: MemoryIntake, process: ReadingProcess) -> None:
    futures = [process.submit(Asked(file)) for file in files_of(intake) for _ in range(20)]
    pid = process.pid
    process.close()
    assert is_dead(pid)
    assert None in [future.result(60) for future in futures]


def test_no_process_is_left_when_its_parent_is_killed(intake: MemoryIntake) -> None:
    code = (
        "import sys, time; from pathlib import Path; from core.settings import settings_of; "
        "from core.sync.intake import MemoryIntake; from core.sync.reading_process import ReadingProcess; "
        "from core.text.tokens import TokenCounter; root = Path(sys.argv[1]); "
        "intake = MemoryIntake(root, settings_of({}), home=root, counter=TokenCounter()); "
        "print(ReadingProcess(intake).pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(intake._workspace)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not is_dead(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: is_dead(child))


def test_few_bytes_are_not_worth_a_process() -> None:
    assert processes_for(1_000_000) == 0
    assert processes_for(100_000_000) <= 2
