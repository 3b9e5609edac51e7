"""Reading one file again, and that status names everything that is not in the index, once and with a remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core import Memory, reindex
from core.sync.intake import MemoryIntake

FILES: dict[str, str | bytes] = {
    "MEMORY.md": "# Who\n\nneedle in memory\n",
    "memory/a.md": "# A\n\nneedle a\n",
    "memory/deep/b.md": "# B\n\nneedle b\n",
    "memory/deep/c.md": "# C\n\nneedle c\n",
    "memory/binary.md": bytes(range(256)) * 8,
}


@pytest.fixture
def memory(memory_of: Callable[..., Memory]) -> Memory:
    return memory_of(FILES)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes reading files whose path ends so fail, "" none."""
    read, ending = MemoryIntake.read, [""]

    def failing(self: MemoryIntake, file: object, fresh: bool = False) -> object:
        if ending[0] and file.path.endswith(ending[0]):  # type: ignore[attr-defined]
            raise PermissionError(13, "Permission denied", file.absolute)  # type: ignore[attr-defined]
        return read(self, file, fresh)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryIntake, "read", failing)
    return lambda name: ending.__setitem__(0, name)


def change(memory: Memory, path: str, text: str) -> None:
    (memory.workspace / path).write_text(text)


def test_one_file_is_read_again_and_the_others_are_not(memory: Memory) -> None:
    change(memory, "memory/a.md", "# A\n\nanother needle\n")
    change(memory, "memory/deep/b.md", "# B\n\nuntouched by this\n")
    outcome = reindex(memory, "memory/a.md")
    assert (outcome.ok, outcome.words) == (True, "read again: 1 chunk new, 1 chunk gone")
    assert outcome.report is not None
    assert outcome.report.scanned == 1


def test_the_same_text_is_said_to_be_the_same(memory: Memory) -> None:
    assert reindex(memory, "MEMORY.md").words == "read again: the text is the same"


def test_a_folder_has_all_its_files_read_again(memory: Memory) -> None:
    change(memory, "memory/deep/b.md", "# B\n\nnew text\n")
    assert reindex(memory, "memory/deep/").words == "2 files read again: 1 chunk new, 1 chunk gone"


def test_a_failed_file_is_tried_again_and_counted_until_it_is_well(
    memory: Memory, unreadable: Callable[[str], None]
) -> None:
    change(memory, "memory/a.md", "# A\n\nchanged\n")
    unreadable("a.md")
    memory.sync()
    again = reindex(memory, "memory/a.md")
    assert (again.ok, again.words) == (False, "failed, 2 tries: cannot be read: Permission denied")
    unreadable("")
    assert reindex(memory, "memory/a.md").ok
    assert memory.status().failed == ()


def test_a_file_that_can_be_read_again_with_the_same_text_is_no_longer_failed(
    memory: Memory, unreadable: Callable[[str], None]
) -> None:
    unreadable("a.md")
    change(memory, "memory/a.md", "# A\n\nneedle a\n")
    memory.sync()
    assert [one.path for one in memory.status().failed] == ["memory/a.md"]
    unreadable("")
    memory.sync()
    assert memory.status().failed == ()


def test_a_file_that_failed_is_tried_at_each_sync_though_nothing_of_it_has_changed(
    memory: Memory, unreadable: Callable[[str], None]
) -> None:
    unreadable("a.md")
    reindex(memory, "memory/a.md")
    memory.sync()
    assert [one.attempts for one in memory.status().failed] == [2]
    unreadable("")
    memory.sync()
    assert memory.status().failed == ()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("memory/binary.md", "skipped: not decodable: neither UTF-8 nor UTF-16 text"),
        ("memory/link.md", "not read: the path goes through a symlink"),
        ("memory/x.txt", "not read: only Markdown files (.md) are read"),
        ("../x.md", "not read: '..' is not allowed in a path"),
        ("memory/none.md", "there is nothing to read"),
        ("memory/none/", "there is nothing to read"),
        ("sessions/", "not read: read sessions again one by one, or all files with `memdeck index --force`"),
    ],
)
def test_what_cannot_be_read_says_why(memory: Memory, path: str, words: str) -> None:
    (memory.workspace / "memory/link.md").symlink_to(memory.workspace / "MEMORY.md")
    outcome = reindex(memory, path)
    assert (outcome.ok, outcome.words) == (False, words)


def test_a_file_that_is_gone_leaves_the_index(memory: Memory) -> None:
    (memory.workspace / "memory/a.md").unlink()
    assert reindex(memory, "memory/a.md").words == "it is gone, and left the index"


def test_status_names_all_that_is_not_indexed(memory: Memory) -> None:
    (memory.workspace / "memory/node_modules").mkdir()
    (memory.workspace / "memory/deep/.git").mkdir()
    memory.forget("memory/a.md")
    status = memory.status()
    assert {(one.path, one.kind) for one in status.skipped} == {
        ("memory/binary.md", "undecodable"),
        ("memory/a.md", "forgotten"),
    }
    assert status.custom["ignoredFolders"] == ["memory/deep/.git", "memory/node_modules"]


def test_every_reason_of_bad_health_has_a_remedy(memory: Memory, unreadable: Callable[[str], None]) -> None:
    unreadable("a.md")
    change(memory, "memory/a.md", "# A\n\nchanged\n")
    memory.sync()
    status = memory.status()
    assert [finding.detail for finding in status.findings] == list(status.reasons)
    assert {finding.detail: finding.remedy for finding in status.findings if finding.check == "files"} == {
        "1 file could not be indexed": "it is tried again at each sync",
        "1 file is no text": "save it as UTF-8",
    }


def test_documents_tell_how_many_chunks_wait(tmp_path: Path, memory: Memory) -> None:
    from core.store.database import Database

    assert {row.waiting for row in memory.documents()} == {0}
    with Database.open(memory.store_path) as database, database.transaction():
        database.run(
            "INSERT INTO embedding_queue (chunk_id, newest_ns, error) SELECT chunks.id, 0, "
            "CASE path WHEN 'memory/deep/b.md' THEN 'refused' END FROM chunks JOIN files ON files.id = file_id "
            "WHERE path LIKE 'memory/deep/%'"
        )
    assert {row.path: (row.waiting, row.refused) for row in memory.documents()} == {
        "MEMORY.md": (0, 0),
        "memory/a.md": (0, 0),
        "memory/deep/b.md": (0, 1),
        "memory/deep/c.md": (1, 0),
    }
