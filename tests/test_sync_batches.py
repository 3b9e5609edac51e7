"""The provider's asynchronous batches under the indexing worker: many texts at once, across restarts and failures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.chunking import embedding_text
from core.embedding import asking
from core.embedding import batch as batch_room
from core.embedding.batch_memory import remembered_status
from core.events import EmbeddingFailed
from core.settings import settings_of
from core.store.database import Database
from core.store.documents import Documents
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.provider_memory import provider_texts
from tests.provider_server import Answer, ProviderServer, provider_server, remote, unit
from tests.workbench import Bench

MANY = 20


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(batch_room, "MANY", MANY)
    with provider_server() as running:
        yield running


@pytest.fixture
def bench(server: ProviderServer, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(provider: str = "openai", **batch: object) -> Bench:
        values = {"enabled": True, "poll_interval_ms": 100, **batch}
        settings = settings_of({"chunking": {"tokens": 24, "overlap": 0}, "remote": {"batch": values}})
        made.append(Bench(tmp_path, remote(server, provider), settings=settings))
        return made[-1]

    yield make
    for one in made:
        one.worker.stop()
        assert one.embedder is not None
        one.embedder.close()


def note(first: int, count: int) -> str:
    return "".join(
        f"line {line} says what nobody else has said before, not even once or twice\n"
        for line in range(first, first + count)
    )


def single_texts(server: ProviderServer) -> Counter[str]:
    """What was embedded by single requests."""
    single = (seen for seen in server.seen if seen.path.endswith(("/embeddings", ":batchEmbedContents")))
    return Counter(text for seen in single for text in seen.texts)


def assert_vectors_are_right(store: Path, count: int) -> None:
    with Database.open(store, read_only=True) as database:
        (row,) = Identities(database).live()
        vectors = Vectors(database, row)
        ids = database.numbers("SELECT id FROM chunks")
        assert (row.state, vectors.count(), len(ids)) == ("active", count, count)
        for chunk_id, chunk in Documents(database).chunks(ids).items():
            ((found, cosine),) = vectors.search(unit(embedding_text(chunk.chunk)), 1)
            assert (found, round(cosine, 4)) == (chunk_id, 1.0)


def told(here: Bench, now: float) -> dict[str, object]:
    """What the status of another process says of the batches."""
    assert here.embedder is not None
    with here.reading() as database:
        texts = provider_texts(database)
        return remembered_status(here.settings.remote.batch, texts, here.embedder.identity, now=now)


def under_way(here: Bench) -> object:
    return told(here, time.time())["underWay"]


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_many_texts_go_in_one_batch_and_none_by_a_request_of_its_own(
    server: ProviderServer, bench: Callable[..., Bench], provider: str
) -> None:
    here = bench(provider)
    here.write("MEMORY.md", note(0, 60))
    report = here.sync()

    assert (report.vectors_made, report.vectors_waiting, report.warning) == (60, 0, None)
    assert_vectors_are_right(here.store, 60)
    assert len(server.batches) == 1
    assert single_texts(server) == Counter()


def test_few_texts_are_embedded_at_once(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    here = bench()
    here.write("MEMORY.md", note(0, MANY - 1))
    here.sync()

    assert_vectors_are_right(here.store, MANY - 1)
    assert server.batches == {}


def test_a_batch_that_a_process_left_is_fetched_by_the_next(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    server.batch_looks = 1_000_000
    first = bench()
    first.write("MEMORY.md", note(0, 60))
    first.ask()
    first.until(lambda: server.batches and under_way(first))
    first.worker.stop()

    server.batch_looks = 0
    second = bench()
    second.write("memory/later.md", note(100, 5))
    report = second.sync()

    assert (report.vectors_made, report.vectors_waiting) == (65, 0)
    assert_vectors_are_right(second.store, 65)
    assert len(server.batches) == 1
    assert (len(single_texts(server)), set(single_texts(server).values())) == (5, {1})
    assert under_way(second) == 0


def test_what_changes_while_a_batch_runs_is_embedded_once(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    server.batch_looks = 1_000_000
    here = bench()
    path = here.write("MEMORY.md", note(0, 60))
    here.ask()
    here.until(lambda: server.batches and under_way(here))
    path.write_text(note(10, 55))
    here.sync(vectors=False)
    server.batch_looks = 0
    here.sync()

    assert_vectors_are_right(here.store, 55)
    assert set(single_texts(server).values()) == {1}
    assert len(single_texts(server)) == 5


def test_a_sync_need_not_wait_for_a_batch(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    server.batch_looks = 1_000_000
    here = bench(wait=False)
    here.write("MEMORY.md", note(0, 60))
    report = here.sync()
    assert (report.vectors_made, report.vectors_waiting) == (0, 60)

    server.batch_looks = 0
    here.until(lambda: here.vectors()[0][1:] == ("active", 60))
    assert_vectors_are_right(here.store, 60)


def test_while_all_batches_run_the_many_that_are_left_wait_for_one_of_them(
    server: ProviderServer, bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.embedding.openai_batch.OpenAIBatches.most_items", 30)
    here = bench(concurrency=1)
    here.write("MEMORY.md", note(0, 100))
    here.sync()

    assert_vectors_are_right(here.store, 100)
    assert len(server.batches) == 3
    assert len(single_texts(server)) == 10, "the few at the end are not worth a batch"


def test_texts_of_batches_that_fail_are_embedded_by_requests(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    server.batch_ends = "failed"
    here = bench()
    here.write("MEMORY.md", note(0, 60))
    assert here.sync().vectors_waiting == 0
    here.write("memory/b.md", note(100, 60))
    here.sync()
    here.write("memory/c.md", note(200, 60))
    here.sync()

    assert_vectors_are_right(here.store, 180)
    assert set(single_texts(server).values()) == {1}
    assert len(server.batches) == 2, "after two failures batches are off"
    failed = [event.error for event in here.happened(EmbeddingFailed) if isinstance(event, EmbeddingFailed)]
    assert [error for error in failed if "it went wrong" in error]
    now = time.time()
    today, later = told(here, now), told(here, now + 86_400)
    assert (today["enabled"], today["failures"], today["lastProvider"]) == (False, 2, "openai")
    assert "it went wrong" in str(today["lastError"])
    assert (later["enabled"], later["failures"]) == (True, 0)


def test_a_text_that_a_batch_refuses_is_named(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    play = server.openai_output

    def output(requests: bytes) -> bytes:
        replies = play(requests).splitlines()
        replies[0] = replies[0].replace(b'"status_code": 200', b'"status_code": 400')
        return b"\n".join(replies)

    server.openai_output = output  # type: ignore[method-assign, assignment]
    here = bench()
    here.write("MEMORY.md", note(0, 60))
    here.sync()

    assert [model[1:] for model in here.vectors()] == [("active", 59)]
    with here.reading() as database:
        (refused,) = EmbeddingQueue(database).refused()
    assert refused.path == "MEMORY.md"
    assert "openai rejects the text" in refused.error


def test_a_provider_that_refuses_the_key_does_not_hold_a_sync(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    server.rule = lambda seen: Answer({"error": {"message": "bad key"}}, 401)
    here = bench()
    here.write("MEMORY.md", note(0, 60))
    report = here.sync()

    assert report.vectors_waiting == 60
    assert "refuses the key" in (report.warning or "")
