"""Notes, excerpts, flushes and what agents load: written whole, on the right day, found at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core import Memory, SearchRequest
from core.capture import (
    Excerpt,
    WriteFailed,
    append_note,
    flush_due,
    note_flush,
    read_flush_state,
    save_excerpt,
    slugify,
)
from core.errors import NotAllowed
from core.settings.model import Flush
from tests.machine import mounted

NOON = datetime(2026, 3, 14, 12, 30, tzinfo=UTC)
TALK = Excerpt(
    "Storage fallback", "sessions/codex/7f2c.jsonl#L3-L9", "7f2c", [("User", "is it on?"), ("Assistant", "no")]
)


def test_a_first_note_makes_the_day_and_cites_its_line(tmp_path: Path) -> None:
    written = append_note(tmp_path, "remember the milk", now=NOON)
    assert written.absolute.read_text() == "# 2026-03-14\n\nremember the milk\n"
    assert str(written.citation) == "memory/2026-03-14.md#L3"


def test_a_note_goes_after_an_unfinished_line(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-03-14.md").write_text("no line end")
    written = append_note(tmp_path, "one\ntwo", now=NOON)
    assert written.absolute.read_text() == "no line end\none\ntwo\n"
    assert str(written.citation) == "memory/2026-03-14.md#L2-L3"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-8"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_note_takes_the_encoding_of_its_file(memory_of: Callable[..., Memory], codec: str, end: str) -> None:
    name = f"memory/{datetime.now().astimezone().date()}.md"
    memory = memory_of({name: f"\ufeffĊ one\r\nĊ two{end}".encode(codec)})
    written = memory.note("zebra Ċ crossing\nthree")
    text = written.absolute.read_bytes().decode(codec)
    assert text.replace("\r\n", "\n") == "\ufeffĊ one\nĊ two\nzebra Ċ crossing\nthree\n"
    assert (written.citation.start_line, written.citation.end_line) == (3, 4)
    assert [hit.line for hit in memory.search(SearchRequest("zebra")).hits] == [3]


@pytest.mark.parametrize("data", ["no mark".encode("utf-16-le"), b"\xff\xfea\x00b"])
def test_nothing_is_added_to_a_file_that_is_no_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / "memory/2026-03-14.md"
    file.write_bytes(data)
    with pytest.raises(WriteFailed) as refused:
        append_note(tmp_path, "zebra", now=NOON)
    assert refused.value.remedy
    assert file.read_bytes() == data


FULL_DISK = """
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
from core.capture import WriteFailed, append_note

resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    append_note(Path(sys.argv[1]), "zebra " * 100, now=datetime(2026, 3, 14, 12, 30, tzinfo=UTC))
except WriteFailed as error:
    print(error)
"""


def test_of_a_note_that_does_not_fit_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / "memory/2026-03-14.md"
    file.write_text("# 2026-03-14\n\nthe note before\n")
    before = file.read_bytes()
    ended = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert "cannot be written" in ended.stdout
    assert file.read_bytes() == before


def test_of_a_note_for_which_the_disk_has_no_room_nothing_stays(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        append_note(tmp_path, "the note before", now=NOON)
        file = tmp_path / "memory/2026-03-14.md"
        before = file.read_bytes()
        with pytest.raises(WriteFailed, match="No space left"):
            append_note(tmp_path, "zebra " * 20_000, now=NOON)
        assert file.read_bytes() == before
        append_note(tmp_path, "a short one fits", now=NOON)


def test_notes_of_many_writers_are_all_kept(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=append_note, args=(tmp_path, f"note {number}"), kwargs={"now": NOON})
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (tmp_path / "memory/2026-03-14.md").read_text()
    assert sorted(line for line in text.splitlines() if line.startswith("note")) == sorted(
        f"note {number}" for number in range(20)
    )


@pytest.mark.parametrize("text", ["", "  \n\n "])
def test_an_empty_note_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(WriteFailed):
        append_note(tmp_path, text, now=NOON)
    assert not (tmp_path / "memory").exists()


def test_a_symlink_in_the_way_is_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n")
    (tmp_path / "memory/2026-03-14.md").symlink_to(outside)
    with pytest.raises(WriteFailed):
        append_note(tmp_path, "text", now=NOON)
    assert outside.read_text() == "mine\n"


def test_a_linked_memory_folder_is_never_written_into(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotAllowed):
        append_note(tmp_path, "text", now=NOON)


def test_an_excerpt_is_a_new_file_with_its_source(tmp_path: Path) -> None:
    first = save_excerpt(tmp_path, TALK, now=NOON)
    second = save_excerpt(tmp_path, TALK, now=NOON)
    assert [first.path, second.path] == [
        "memory/2026-03-14-storage-fallback.md",
        "memory/2026-03-14-storage-fallback-2.md",
    ]
    text = first.absolute.read_text()
    assert "sessions/codex/7f2c.jsonl#L3-L9" in text
    assert text.endswith("User: is it on?\nAssistant: no\n")


def test_an_excerpt_without_a_title_is_named_by_the_time(tmp_path: Path) -> None:
    excerpt = Excerpt("", "s", "x", [("User", "hi")])
    assert save_excerpt(tmp_path, excerpt, now=NOON).path == "memory/2026-03-14-1230.md"


@pytest.mark.parametrize(
    ("text", "slug"),
    [("Café, déjà vu!", "cafe-deja-vu"), ("记忆", ""), ("../../etc", "etc"), ("x" * 99, "x" * 30), ("--", "")],
)
def test_slugs_are_plain(text: str, slug: str) -> None:
    assert slugify(text) == slug


@pytest.mark.parametrize(("tokens", "due"), [(175_999, False), (176_000, True), (None, False)])
def test_a_flush_is_due_before_the_window_is_full(tokens: int | None, due: bool) -> None:
    assert flush_due(Flush(), tokens=tokens, context_window=200_000, state={}).due is due


def test_a_flush_is_due_once_for_each_compaction_cycle(tmp_path: Path) -> None:
    file = tmp_path / "state/flushes.json"
    note_flush(file, "agent:main:main", 3)
    state = read_flush_state(file)
    due = [
        flush_due(Flush(), tokens=199_000, session_key="agent:main:main", cycle=cycle, state=state).due
        for cycle in (3, 4)
    ]
    assert due == [False, True]


def test_a_large_transcript_makes_a_flush_due(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_bytes(b"x" * 2_097_152)
    assert flush_due(Flush(), transcript=transcript, state={}).due


def test_a_note_is_found_at_once(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": "facts\n"})
    written = memory.note("the zebra is striped")
    (hit,) = memory.search(SearchRequest("zebra")).hits
    assert (hit.path, hit.line) == (written.path, written.citation.start_line)


def test_context_gives_memory_and_the_last_two_days(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"MEMORY.md": "facts\n", "memory/2001-01-01.md": "old\n"})
    written = memory.note("today's news")
    assert [part.path for part in memory.context()] == ["MEMORY.md", written.path]
