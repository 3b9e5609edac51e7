"""The indexing worker with real providers: who makes the vectors when one fails, waits, or has no key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.embedding import asking
from core.embedding.base import Embedder
from core.embedding.select import Selection
from core.errors import EmbeddingError, QuotaExhausted
from core.events import EmbeddingFailed, IdentityChanged
from core.settings import settings_of
from core.store.embedding_cache import EmbeddingCache
from core.sync.messages import VectorsReady
from tests.failing_provider import REFUSED, SPENT, Clock, fails_after, lines
from tests.provider_server import Answer, ProviderServer, provider_server, remote
from tests.workbench import Bench, WordEmbedder, selection_of

LINES = settings_of({"chunking": {"tokens": 24, "overlap": 0}})
"""Each line is a chunk."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(asking, "QUOTA_SECONDS", 0.01)
    with provider_server() as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[tuple[Bench, Selection]] = []

    def make(embedder: Embedder | None, standby: Embedder | None = None, **more: object) -> Bench:
        selection = selection_of(embedder, standby)
        made.append((Bench(tmp_path, embedder, selection=selection, settings=LINES, **more), selection))  # type: ignore[arg-type]
        return made[-1][0]

    yield make
    for one, selection in made:
        one.worker.stop()
        selection.close()


def answered(server: ProviderServer, refused: set[int]) -> Counter[str]:
    return Counter(text for seen in server.seen if id(seen) not in refused for text in seen.texts)


# -- the fallback


def test_a_provider_that_fails_in_the_middle_leaves_every_chunk_with_one_vector_of_one_identity(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    refused = fails_after(server, 4, SPENT)
    standby = WordEmbedder("small", dims=4)
    here = bench(remote(server), standby)
    here.write("MEMORY.md", lines(300))
    report = here.sync()

    assert here.vectors() == [("small", "active", 300)]
    assert report.vectors_waiting == 0
    assert "test/small, 4 dims is used in place of openai: the quota of openai is used up" in (report.warning or "")
    assert len(standby.seen) == len(set(standby.seen)) == 300
    by_provider = answered(server, refused)
    assert 0 < len(by_provider) < 300
    assert set(by_provider.values()) == {1}
    assert len(here.happened(IdentityChanged)) == 1


def test_the_provider_that_comes_back_is_asked_only_for_what_it_has_not_made(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    refused = fails_after(server, 4, SPENT)
    clock, standby = Clock(), WordEmbedder("small", dims=4)
    here = bench(remote(server), standby, clock=clock)
    here.write("MEMORY.md", lines(300))
    here.sync()

    server.rule = None
    here.sync()
    assert here.vectors() == [("small", "active", 300)], "before its time the provider is left alone"
    clock.ahead = 3601
    report = here.sync()

    assert here.vectors() == [("text-embedding-3-small", "active", 300)]
    assert report.warning is None
    by_provider = answered(server, refused)
    assert (len(by_provider), set(by_provider.values())) == (300, {1})
    assert len(standby.seen) == 300


def test_a_provider_that_comes_back_with_all_vectors_kept_is_in_force_at_once(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    clock = Clock()
    here = bench(remote(server), WordEmbedder("small", dims=4), clock=clock)
    path = here.write("MEMORY.md", lines(40))
    here.sync()
    server.rule = lambda seen: SPENT
    path.write_text(lines(40) + lines(1, "more"))
    here.sync()
    assert here.vectors() == [("small", "active", 41)]
    path.write_text(lines(40))
    asked = len(server.seen)
    clock.ahead = 3601
    here.sync()

    assert here.vectors() == [("text-embedding-3-small", "active", 40)]
    assert len(server.seen) == asked


def test_a_provider_that_fails_again_gives_the_fallback_its_vectors_back(
    server: ProviderServer, bench: Callable[..., Bench]
) -> None:
    fails_after(server, 2, SPENT)
    clock, standby = Clock(), WordEmbedder("small", dims=4)
    here = bench(remote(server), standby, clock=clock)
    here.write("MEMORY.md", lines(200))
    here.sync()
    clock.ahead = 3601
    here.sync()

    assert here.vectors() == [("small", "active", 200)]
    assert len(standby.seen) == 200


def test_a_later_process_goes_on_with_the_fallback(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    fails_after(server, 2, REFUSED)
    first = bench(remote(server), WordEmbedder("small", dims=4))
    first.write("MEMORY.md", lines(100))
    first.sync()
    first.worker.stop()
    asked = len(server.seen)
    standby = WordEmbedder("small", dims=4)
    second = bench(remote(server), standby)
    second.write("memory/more.md", lines(10, "more"))
    second.sync()

    assert second.vectors() == [("small", "active", 110)]
    assert (len(standby.seen), len(server.seen)) == (10, asked)
    assert second.happened(IdentityChanged) == []


def test_a_key_that_is_merely_missing_replaces_no_vectors(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    first = bench(remote(server))
    first.write("MEMORY.md", lines(20))
    first.sync()
    first.worker.stop()
    standby = WordEmbedder("small", dims=4)
    keyless = Bench(
        first.workspace.parent,
        selection=Selection(None, "openai", "none", "", "openai needs an API key", standby=standby),
        settings=LINES,
    )
    try:
        keyless.write("memory/more.md", lines(5, "more"))
        keyless.sync()
        assert keyless.vectors() == [("text-embedding-3-small", "active", 20)]
        assert standby.seen == []
    finally:
        keyless.worker.stop()

    again = bench(remote(server))
    again.sync()
    assert again.vectors() == [("text-embedding-3-small", "active", 25)]
    assert set(Counter(server.embedded()).values()) == {1}


def test_an_answer_of_an_embedder_that_is_no_longer_in_force_is_dropped(bench: Callable[..., Bench]) -> None:
    here = bench(WordEmbedder())
    here.write("MEMORY.md", lines(1))
    here.sync()
    here.worker.post(VectorsReady((b"k" * 32,), (np.ones(8, np.float32),), sender=object()))
    here.sync()

    with here.reading() as database:
        assert EmbeddingCache(database).entries() == 1


# -- waiting


def test_a_stated_wait_is_kept(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.fail = [EmbeddingError("slow down", retryable=True, retry_after=90.0)]
    here = bench(embedder)
    here.write("MEMORY.md", lines(1))
    here.sync()

    (failed,) = here.happened(EmbeddingFailed)
    assert isinstance(failed, EmbeddingFailed)
    assert failed.retry_in_seconds == 90.0


def test_a_provider_that_asks_for_an_hour_is_left_alone(server: ProviderServer, bench: Callable[..., Bench]) -> None:
    server.rule = lambda seen: Answer({"error": {"message": "later"}}, 429, headers={"Retry-After": "3600"})
    here = bench(remote(server))
    here.write("MEMORY.md", lines(3))
    report = here.sync()
    here.sync()

    assert "asks to wait 60 min" in (report.warning or "")
    assert report.vectors_waiting == 3
    assert len(server.seen) == 1
    failed = here.happened(EmbeddingFailed)[0]
    assert isinstance(failed, EmbeddingFailed)
    assert failed.retry_in_seconds is not None
    assert failed.retry_in_seconds > 3000


def test_going_back_to_a_provider_counts_as_hits(bench: Callable[..., Bench]) -> None:
    for model in ("old", "new", "old"):
        here = bench(WordEmbedder(model, dims=4))
        here.write("MEMORY.md", lines(10))
        here.sync()
        here.worker.stop()

    with here.reading() as database:
        assert EmbeddingCache(database).use() == (10, 20)
    assert isinstance(here.embedder, WordEmbedder)
    assert here.embedder.seen == []


def test_texts_that_were_refused_are_asked_again_by_force(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.refuse = "line 1 "
    here = bench(embedder)
    here.write("MEMORY.md", lines(3))
    here.sync()
    assert here.vectors() == [("words", "active", 2)]
    embedder.refuse = ""
    here.sync("force", force=True)

    assert here.vectors() == [("words", "active", 3)]


def test_a_quota_that_is_used_up_is_not_asked_again_until_the_next_sync(bench: Callable[..., Bench]) -> None:
    embedder = WordEmbedder()
    embedder.fail = [QuotaExhausted("used up")]
    here = bench(embedder)
    here.write("MEMORY.md", lines(3))
    report = here.sync()
    assert (report.warning, report.vectors_waiting, embedder.seen) == ("used up", 3, [])

    assert here.sync().vectors_waiting == 0
