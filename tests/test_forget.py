"""Forgetting: nothing of the text stays, and nothing brings it back."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from core import Memory, NotAllowed, NotIndexed, SearchRequest
from core.store.database import Database
from core.store.forgetting import forgotten
from tests.workbench import Bench, WordEmbedder

SECRET = "xylophone-quetzal-4711"


def bytes_of(store: Path) -> bytes:
    files = [store, *store.parent.glob(f"{store.name}-wal")]
    return b"".join(file.read_bytes() for file in files if file.exists()).lower()


def test_no_byte_of_a_forgotten_text_is_left(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/secret.md": f"{SECRET}\n", "memory/kept.md": "plain words stay\n"})
    assert b"xylophon" in bytes_of(memory.store_path)
    report = memory.forget("memory/secret.md")
    assert (report.removed, report.chunks_removed) == (1, 1)
    assert not memory.search(SearchRequest(SECRET)).hits
    memory.close()
    left = bytes_of(memory.store_path)
    assert b"xylophon" not in left
    assert b"quetzal" not in left


def test_no_form_of_a_word_is_left_that_stood_in_a_forgotten_text_alone(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/secret.md": "quetzals and herons\n", "memory/kept.md": "a Quetzal, some herons\n"})
    memory.forget("memory/secret.md")
    memory.close()
    left = bytes_of(memory.store_path)
    assert (b"quetzals" in left, b"herons" in left) == (False, True)


def test_a_forgotten_file_does_not_come_back_until_it_is_remembered(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/secret.md": f"{SECRET}\n"})
    memory.forget("memory/secret.md")
    (memory.workspace / "memory/secret.md").write_text(f"{SECRET} again\n")
    memory.sync()
    assert not memory.search(SearchRequest(SECRET)).hits
    assert not memory.status().dirty
    memory.remember("memory/secret.md")
    memory.sync()
    assert [hit.path for hit in memory.search(SearchRequest(SECRET)).hits] == ["memory/secret.md"]


def test_a_vector_that_comes_late_is_thrown_away(tmp_path: Path) -> None:
    import threading

    embedder = WordEmbedder()
    embedder.gate = threading.Event()
    here = Bench(tmp_path, embedder)
    try:
        here.write("memory/secret.md", f"{SECRET}\n")
        here.write("memory/kept.md", "kept\n")
        here.sync(vectors=False)
        here.sync(vectors=False, forget=("memory/secret.md",))
        embedder.gate.set()
        here.sync()
        with here.reading() as database:
            assert database.count("SELECT count(*) FROM embedding_cache") == 1
    finally:
        here.worker.stop()


def test_a_follower_hands_forgetting_to_the_writer(tmp_path: Path) -> None:
    writer, follower = Bench(tmp_path), Bench(tmp_path)
    try:
        writer.write("memory/secret.md", f"{SECRET}\n")
        writer.sync()
        follower.sync(forget=("memory/secret.md",))
        with Database.open(writer.store, read_only=True) as database:
            assert database.count("SELECT count(*) FROM chunks") == 0
    finally:
        follower.worker.stop()
        writer.worker.stop()


@pytest.mark.parametrize("path", ["memory/never-there.md", "sessions/codex/never.jsonl", "/etc/passwd", ""])
def test_what_is_not_indexed_cannot_be_forgotten(memory_of: Callable[..., Memory], path: str) -> None:
    memory = memory_of({"MEMORY.md": "facts\n"})
    with pytest.raises((NotIndexed, NotAllowed)):
        memory.forget("MEMORY.md", path)
    with memory.backend.readers.lease() as reader:
        assert not forgotten(reader.database)
    assert memory.search(SearchRequest("facts")).hits


SPELLINGS = [
    "{ws}/memory/q.md",
    "./memory/q.md",
    "memory//./q.md",
    "memory/q.md#L1",
    "{ws}/memory/q.md:1",
    "memory/q.md#L1-L3",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_path_names_its_document(memory_of: Callable[..., Memory], spelling: str) -> None:
    memory = memory_of({"memory/q.md": f"{SECRET}\n"})
    given = spelling.format(ws=memory.workspace)
    assert memory.forget(given).removed == 1
    assert not memory.search(SearchRequest(SECRET)).hits
    memory.remember(given)
    memory.sync()
    assert memory.search(SearchRequest(SECRET)).hits


def test_a_name_may_be_given_in_another_unicode_form(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({unicodedata.normalize("NFD", "memory/Müsli.md"): f"{SECRET}\n"})
    assert memory.forget(unicodedata.normalize("NFC", "memory/Müsli.md")).removed == 1
    assert not memory.search(SearchRequest(SECRET)).hits


def test_a_name_that_looks_like_a_citation_comes_before_the_lines_of_another(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/q.md": "plain\n", "memory/q.md#L1.md": f"{SECRET}\n"})
    memory.forget("memory/q.md#L1.md")
    assert [document.path for document in memory.documents()] == ["memory/q.md"]


@pytest.mark.parametrize("folder", ["memory", "memory/", "{ws}/memory/deep", "memory/empty"])
def test_a_folder_is_refused(memory_of: Callable[..., Memory], folder: str) -> None:
    memory = memory_of({"memory/deep/q.md": f"{SECRET}\n"})
    (memory.workspace / "memory/empty").mkdir()
    with pytest.raises(NotAllowed, match="it is a folder"):
        memory.forget(folder.format(ws=memory.workspace))
    assert memory.search(SearchRequest(SECRET)).hits


def test_what_was_not_forgotten_cannot_come_back(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/q.md": f"{SECRET}\n"})
    with pytest.raises(NotIndexed, match="was not forgotten"):
        memory.remember("memory/q.md")


def test_to_forget_again_takes_nothing_out(memory_of: Callable[..., Memory]) -> None:
    memory = memory_of({"memory/q.md": f"{SECRET}\n"})
    memory.forget("memory/q.md", "./memory/q.md")
    assert memory.forget("memory/q.md").removed == 0


@pytest.mark.parametrize("spelling", ["memory/q.md", "./memory/q.md", "{ws}/memory/q.md"])
def test_what_was_forgotten_is_not_read(memory_of: Callable[..., Memory], spelling: str) -> None:
    memory = memory_of({"memory/q.md": f"{SECRET}\n", "memory/kept.md": "kept\n"})
    memory.forget("memory/q.md")
    given = spelling.format(ws=memory.workspace)
    answer = memory.get(given)
    assert (answer.status, answer.text) == ("missing", "")
    assert "memdeck forget --undo memory/q.md" in (answer.error or "")
    with pytest.raises(FileNotFoundError):
        memory.lines(given)
    assert memory.get("memory/kept.md").text == "kept"
    memory.remember("memory/q.md")
    assert memory.get(given).text == SECRET
