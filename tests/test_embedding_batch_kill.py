"""Batches whose names nobody heard: taken while a process was killed, or with a reply that was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from core.embedding import asking
from core.embedding.batch_memory import remembered_status
from core.settings.model import Batch
from tests.provider_server import Answer, ProviderServer, Seen, provider_server
from tests.test_embedding_batch import TEXTS, Desk, Texts, assert_all_made, until

MAKES = (":asyncBatchEmbedContent", "/batches")
PROVIDERS = pytest.mark.parametrize("provider", ["openai", "gemini"])


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def desk(server: ProviderServer) -> Iterator[Callable[..., Desk]]:
    desks: list[Desk] = []

    def make(provider: str, texts: Texts, **settings: object) -> Desk:
        desks.append(Desk(server, provider, texts, **settings))
        return desks[-1]

    yield make
    for one in desks:
        one.close()


def makes_a_batch(seen: Seen) -> bool:
    return seen.method == "POST" and seen.path.endswith(MAKES)


@PROVIDERS
def test_a_batch_that_was_taken_before_a_kill_is_found_and_paid_for_once(
    server: ProviderServer, desk: Callable[..., Desk], provider: str
) -> None:
    texts = Texts()
    killed = desk(provider, texts)
    killed.runner.submit(TEXTS)
    until(lambda: server.batches)  # what it heard of it was never noted
    killed.close()

    server.page = 1
    for number in (7, 8):  # batches of other programs
        server.batches[f"batches/x{number}"] = {"name": "nightly", "metadata": {"memdeck": "other"}, "looks": 0}
    here = desk(provider, texts)
    here.runner.resume()
    assert here.runner.pending == frozenset(key for key, _ in TEXTS)
    news = here.through()
    here.runner.settle(news)

    assert_all_made(news)
    assert [seen.path for seen in server.seen if makes_a_batch(seen)] == [
        next(seen.path for seen in server.seen if makes_a_batch(seen))
    ]
    assert texts == {}


@PROVIDERS
def test_a_batch_that_turns_up_a_moment_late_is_found(
    server: ProviderServer, desk: Callable[..., Desk], provider: str
) -> None:
    texts = Texts()
    killed = desk(provider, texts)
    killed.runner.submit(TEXTS)
    until(lambda: server.batches)
    killed.close()
    late = dict(server.batches)
    server.batches.clear()
    here = desk(provider, texts)
    looked = len(server.seen)
    here.runner.resume()
    until(lambda: len(server.seen) >= looked + 2)
    server.batches.update(late)

    assert_all_made(here.through())


@PROVIDERS
def test_a_batch_that_was_never_taken_is_forgotten_and_its_texts_are_free(
    server: ProviderServer, desk: Callable[..., Desk], provider: str
) -> None:
    server.rule = lambda seen: Answer(b"", wait=60) if makes_a_batch(seen) else None
    texts = Texts()
    killed = desk(provider, texts)
    killed.runner.submit(TEXTS)
    until(lambda: any(makes_a_batch(seen) for seen in server.seen))
    killed.close()

    here = desk(provider, texts)
    here.now += 61
    here.runner.resume()
    news = here.next()
    here.runner.receive(news)

    assert (news.kind, set(news.hashes)) == ("lost", {key for key, _ in TEXTS})
    assert here.runner.pending == frozenset()
    assert here.runner.status()["failures"] == 0
    assert server.files == {}
    assert texts == {}


@PROVIDERS
def test_a_reply_that_is_lost_makes_no_second_batch(
    server: ProviderServer,
    desk: Callable[..., Desk],
    provider: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    lost = []

    def rule(seen: Seen) -> Answer | None:
        if seen.method == "POST" and seen.path.endswith((*MAKES, "/files")) and seen.path not in lost:
            lost.append(seen.path)
            server.play(seen)
            return Answer(b'{"id": "', cut=4)
        return None

    server.rule = rule
    here = desk(provider, Texts())
    here.runner.submit(TEXTS)
    news = here.through()
    left = set(server.files)
    here.runner.settle(news)

    assert_all_made(news)
    assert len(lost) == (2 if provider == "openai" else 1)
    assert len(server.batches) == 1
    assert not left.difference({"file-1", "batch_1-output"})


def test_a_batch_of_another_model_that_nobody_heard_of_is_given_up(
    server: ProviderServer, desk: Callable[..., Desk]
) -> None:
    texts = Texts()
    server.batch_looks = 1000
    killed = desk("openai", texts)
    killed.runner.submit(TEXTS)
    until(lambda: server.batches)
    killed.close()
    texts["embedding_batches"] = texts["embedding_batches"].replace("text-embedding-3-small", "text-embedding-3-large")
    here = desk("openai", texts)
    here.runner.resume()
    until(lambda: server.cancelled)

    assert here.runner.pending == frozenset()
    assert texts == {}


def test_people_see_batches_where_they_are_wanted_or_have_failed() -> None:
    from tui.cli.status import _batches

    last = {"limit": 2, "lastError": "it went \x1b[2Jwrong"}
    assert _batches({"enabled": False, "failures": 0, "underWay": 0}) == ""
    assert _batches({"enabled": True, "failures": 0, "underWay": 0}) == "on"
    assert _batches({"enabled": True, "failures": 1, "underWay": 2, **last}) == (
        "on, 2 under way, 1 of 2 failures: it went ␛[2Jwrong"
    )
    assert _batches({"enabled": False, "failures": 2, "underWay": 0, **last}).startswith("off for a day, 2 of 2")


def test_what_is_being_handed_over_is_under_way_to_other_processes(
    server: ProviderServer, desk: Callable[..., Desk]
) -> None:
    texts = Texts()
    here = desk("openai", texts)
    here.runner.submit(TEXTS)
    told = remembered_status(Batch(enabled=True), texts, here.embedder.identity, now=here.now)

    assert told["underWay"] == here.runner.status()["underWay"] == 1
