"""When the fallback takes over, when the provider is asked again, and what is remembered of it."""

from __future__ import annotations

import queue
import time
from pathlib import Path

import pytest

from core.embedding.base import Embedder
from core.embedding.fallback import Failover
from core.embedding.select import Selection, select_embedder
from core.errors import EmbeddingError, ProviderUnavailable, QuotaExhausted
from core.events import EventBus
from core.settings import settings_of
from core.store.database import Database
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.embedding_feed import EmbeddingFeed
from core.sync.messages import VectorsReady
from core.types import EmbeddingIdentity
from tests.workbench import Bench, WordEmbedder

PASSING = EmbeddingError("503", retryable=True)
FINAL = [QuotaExhausted("used up"), ProviderUnavailable("401"), EmbeddingError("takes no text at all")]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Texts(dict[str, str]):
    """What outlives a process."""

    def put(self, key: str, value: str) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pair() -> Selection:
    primary, standby = WordEmbedder("big"), WordEmbedder("small")
    return Selection(primary, "openai", "openai", "big", standby=standby)


@pytest.mark.parametrize("error", FINAL, ids=lambda error: type(error).__name__)
def test_a_failure_for_good_hands_over_at_once(error: EmbeddingError, clock: Clock) -> None:
    selection = pair()
    failover = Failover(selection, clock=clock)

    assert failover.failed(error)
    assert failover.embedder is selection.standby
    assert failover.fallback == {"from": "openai", "reason": str(error)}


def test_an_outage_is_put_up_with_for_ten_minutes(clock: Clock) -> None:
    selection = pair()
    failover = Failover(selection, clock=clock)

    assert not any(failover.failed(PASSING) for _ in range(20))
    clock.now += 599
    assert not failover.failed(PASSING)
    clock.now += 1
    assert failover.failed(PASSING)
    assert failover.embedder is selection.standby


def test_an_answer_between_ends_an_outage(clock: Clock) -> None:
    failover = Failover(pair(), clock=clock)
    for _ in range(5):
        assert not failover.failed(PASSING)
        clock.now += 400
        failover.succeeded()
    assert failover.fallback is None


def test_an_outage_goes_on_from_process_to_process(clock: Clock) -> None:
    texts = Texts()
    for _ in range(2):
        assert not Failover(pair(), store=texts, clock=clock).failed(PASSING)
        clock.now += 300

    assert Failover(pair(), store=texts, clock=clock).failed(PASSING)


def test_a_later_process_begins_with_the_fallback(clock: Clock) -> None:
    texts = Texts()
    Failover(pair(), store=texts, clock=clock).failed(FINAL[0])
    selection = pair()
    later = Failover(selection, store=texts, clock=clock)

    assert later.embedder is selection.standby
    assert later.fallback == {"from": "openai", "reason": "used up"}


def test_the_provider_is_asked_again_after_ever_longer_times(clock: Clock) -> None:
    selection = pair()
    failover = Failover(selection, store=Texts(), clock=clock)
    for hours in (1, 2, 4, 8, 16, 24, 24):
        assert failover.failed(FINAL[0])
        clock.now += hours * 3600 - 1
        assert not failover.retry_primary()
        clock.now += 1
        assert failover.retry_primary()
        assert failover.embedder is selection.embedder


def test_a_provider_that_came_back_is_in_force_and_forgiven(clock: Clock) -> None:
    texts = Texts()
    failover = Failover(pair(), store=texts, clock=clock)
    failover.failed(FINAL[0])
    clock.now += 3600
    failover.retry_primary()
    failover.succeeded()

    assert failover.fallback is None
    assert texts == {}


def test_what_was_remembered_of_another_provider_does_not_count(clock: Clock) -> None:
    texts = Texts()
    Failover(pair(), store=texts, clock=clock).failed(FINAL[0])
    other = Selection(WordEmbedder("other"), "voyage", "voyage", "other", standby=WordEmbedder("small"))

    assert Failover(other, store=texts, clock=clock).fallback is None


@pytest.mark.parametrize("garbage", ["", "{", "[]", "null", '{"primary": 3}', '{"x": 1}'])
def test_a_memory_that_cannot_be_read_is_none(garbage: str, clock: Clock) -> None:
    failover = Failover(pair(), store=Texts({"embedding_failover": garbage}), clock=clock)

    assert failover.fallback is None


def test_without_a_fallback_nothing_takes_over(clock: Clock) -> None:
    selection = Selection(WordEmbedder("big"), "openai", "openai", "big")
    failover = Failover(selection, clock=clock)

    assert not failover.failed(FINAL[0])
    assert failover.embedder is selection.embedder


def test_queries_go_to_the_one_that_has_vectors(clock: Clock) -> None:
    selection = pair()
    failover = Failover(selection, clock=clock)
    failover.failed(FINAL[0])

    assert failover.for_queries(lambda identity: identity.model == "big") is selection.embedder
    assert failover.for_queries(lambda identity: True) is selection.standby
    assert failover.for_queries(lambda identity: False) is None


def test_a_missing_key_is_answered_by_the_fallback(tmp_path: Path) -> None:
    settings = settings_of({"provider": "openai", "fallback": "local"})
    failover = Failover(select_embedder(settings, environ={}, cache_dir=tmp_path))

    assert failover.embedder is not None
    assert failover.embedder.identity.provider == "local"
    assert failover.fallback is not None
    assert "openai needs an API key" in failover.fallback["reason"]
    assert failover.text_goes_to == "this machine only"


def test_a_missing_key_does_not_replace_vectors_that_were_made_with_it(tmp_path: Path) -> None:
    settings = settings_of({"provider": "openai", "fallback": "local"})
    selection = select_embedder(settings, environ={}, cache_dir=tmp_path)
    active = EmbeddingIdentity("openai", "text-embedding-3-small", "https://api.openai.com/v1", 1536)
    failover = Failover(selection, active=active)

    assert failover.embedder is None
    assert failover.fallback is None
    assert failover.text_goes_to == "nowhere"


def test_a_switch_in_the_middle_of_a_run_ends_with_vectors_of_one_identity(tmp_path: Path) -> None:
    selection = pair()
    primary = selection.embedder
    assert isinstance(primary, WordEmbedder)
    here = Bench(tmp_path)
    for number in range(100):
        here.write(f"memory/{number:03}.md", f"note {number}\n")
    here.sync()
    here.worker.stop()

    with Database.open(here.store) as database:
        failover = Failover(selection, store=Texts())
        inbox: queue.Queue[VectorsReady] = queue.Queue()

        def feed_of(embedder: Embedder) -> EmbeddingFeed:
            return EmbeddingFeed(
                database,
                embedder,
                concurrency=1,
                cache_entries=50_000,
                bus=EventBus(),
                deliver=inbox.put,
                clock=time.time,
            )

        assert failover.embedder is not None
        feed = feed_of(failover.embedder)
        while feed.waiting:
            feed.pump()
            message = inbox.get(timeout=20)
            feed.receive(message)
            if message.failure is None:
                failover.succeeded()
                primary.fail = [QuotaExhausted("used up")]
            elif failover.failed(message.failure):
                feed.close()
                assert failover.embedder is not None
                feed = feed_of(failover.embedder)
        feed.close()
        (row,) = Identities(database).live()

        assert (row.identity.model, row.state, Vectors(database, row).count()) == ("small", "active", 100)
    assert len(primary.seen) == 32, "what the provider made before stays in the cache"
