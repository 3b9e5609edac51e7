"""Forgetting: nothing of the text stays, and nothing brings it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core import Memory, SearchRequest
from core.store.database import Database
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


@pytest.mark.parametrize("path", ["memory/never-there.md", "sessions/codex/never.jsonl"])
def test_what_is_not_indexed_can_be_forgotten_beforehand(memory_of: Callable[..., Memory], path: str) -> None:
    memory = memory_of({"MEMORY.md": "facts\n"})
    assert memory.forget(path).chunks_removed == 0
    file = memory.workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{SECRET}\n")
    memory.sync()
    assert not memory.search(SearchRequest(SECRET)).hits
