"""Transcripts that are read and written in parts: small in memory, and in the end as if read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, SearchRequest, open_memory
from core.sources.transcripts import reading
from core.store.database import Database
from core.sync import keyword_job, session_intake
from core.sync.growth import StoredSessions
from core.sync.reading import Outcome
from core.types import ScannedFile
from tests.growing import FILES, user

TURNS = 120


@pytest.fixture
def home(tmp_path: Path) -> Path:
    transcript = tmp_path / "home" / FILES["claude-code"]
    transcript.parent.mkdir(parents=True)
    transcript.write_text("".join(user(f"turn{n} " + f"kiln ramp{n} glaze " * 20, n) for n in range(TURNS)))
    (tmp_path / "ws").mkdir()
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(store: str = "index.sqlite") -> Memory:
        flags = {"provider": "none", "sources": ["sessions"], "sessions.agents": ["claude-code"]}
        memories.append(
            open_memory(workspace=tmp_path / "ws", store=tmp_path / store, environ={}, home=home, flags=flags)
        )
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


def rows(store: Path) -> list[tuple[object, ...]]:
    with Database.open(store, read_only=True) as database:
        files = "SELECT path, hash, size, mtime_ns, lines, chunks, details FROM files"
        columns = "ordinal, start_line, end_line, text, embed_hash, line_map, observed_ms, observed_from_ms"
        return [*database.rows(files), *database.rows(f"SELECT {columns} FROM chunks ORDER BY ordinal")]


def test_a_transcript_read_in_parts_is_one_document(
    opened: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened("whole.sqlite").sync()
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    memory = opened()
    report = memory.sync()

    assert (report.indexed, report.failed) == (1, 0)
    assert rows(tmp_path / "index.sqlite") == rows(tmp_path / "whole.sqlite")
    assert [hit.start_line for hit in memory.search(SearchRequest("ramp77")).hits] == [78]
    assert memory.sync().unchanged == 1


def test_a_change_that_leaves_the_size_as_it_was_is_noticed(
    opened: Callable[..., Memory], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    memory = opened()
    memory.sync()
    transcript = home / FILES["claude-code"]
    transcript.write_text(transcript.read_text().replace("turn60 ", "wolf60 "))
    report = memory.sync()
    assert (report.indexed, report.chunks_added, report.chunks_removed) == (1, 1, 1)
    assert [hit.start_line for hit in memory.search(SearchRequest("wolf60")).hits] == [61]


def test_no_part_holds_more_than_was_asked_for(opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    read_lines = reading.read_lines

    def noted(*args: object, **options: object) -> object:
        result = read_lines(*args, **options)  # type: ignore[arg-type]
        parts.append(len(result.messages))
        return result

    monkeypatch.setattr(reading, "read_lines", noted)
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    opened().sync()
    assert sum(parts) == TURNS
    assert max(parts) < TURNS // 5


def test_what_a_stopped_sync_left_out_is_read_by_the_next(
    opened: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened("whole.sqlite").sync()
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    monkeypatch.setattr(keyword_job.ReadAhead, "go_on", lambda self, files: None)
    first = opened()
    first.sync()
    assert 1 < len(rows(tmp_path / "index.sqlite")) < TURNS
    first.close()
    monkeypatch.undo()

    opened().sync()
    assert rows(tmp_path / "index.sqlite") == rows(tmp_path / "whole.sqlite")


def test_a_part_that_goes_on_from_other_chunks_is_not_written(
    opened: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened("whole.sqlite").sync()
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    stands: list[bool] = []

    def once_moved(self: keyword_job.KeywordJob, intake: object, prepared: object) -> bool:
        stands.append(len(stands) != 3)
        return stands[-1]

    monkeypatch.setattr(keyword_job.KeywordJob, "_stands", once_moved)
    report = opened().sync()
    assert report.failed == 0
    assert stands.count(False) == 1
    assert rows(tmp_path / "index.sqlite") == rows(tmp_path / "whole.sqlite")


def test_a_document_that_was_rewritten_meanwhile_is_noticed(
    opened: Callable[..., Memory], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    memory.sync()
    with (home / FILES["claude-code"]).open("a") as file:
        file.write(user("needle appended", 999))
    recall = StoredSessions.recall

    def of_another(self: StoredSessions, path: str) -> object:
        found = recall(self, path)
        assert found is not None
        return session_intake.replace(found, hash="another")

    whole: list[str] = []
    read_whole = keyword_job.ReadAhead.read_whole

    def noted(self: keyword_job.ReadAhead, file: ScannedFile) -> Outcome:
        whole.append(file.path)
        return read_whole(self, file)

    monkeypatch.setattr(StoredSessions, "recall", of_another)
    monkeypatch.setattr(keyword_job.ReadAhead, "read_whole", noted)
    assert memory.sync().failed == 0
    assert len(whole) == 1
    with Database.open(tmp_path / "index.sqlite", read_only=True) as database:
        assert database.count("SELECT count(*) = max(ordinal) + 1 FROM chunks") == 1
    assert memory.search(SearchRequest("needle")).hits


def test_a_transcript_that_begins_anew_each_time_is_given_up(
    opened: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_intake, "MOST_AT_ONCE", 5000)
    monkeypatch.setattr(StoredSessions, "recall", lambda self, path: None)
    report = opened().sync()
    assert report.failed == 1
    with Database.open(tmp_path / "index.sqlite", read_only=True) as database:
        assert database.value("SELECT error FROM file_errors") == "is rewritten faster than it can be read"
