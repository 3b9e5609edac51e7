"""Providers that fail, stall, refuse and lie: what is tried again, what is given up, what is said of it."""

from __future__ import annotations

import gc
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import numpy as np
import pytest

from core.embedding import asking
from core.errors import EmbeddingError, ProviderUnavailable
from tests.provider_server import Answer, ProviderServer, openai_reply, provider_server, remote, told, unit

BUSY = Answer({"error": {"message": "Rate limit reached"}}, 429)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts that are short."""
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)


def timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


# -- waiting


def test_the_stated_wait_is_kept_however_often_it_is_stated(server: ProviderServer) -> None:
    server.then(*[told(429, "1")] * 3)
    embedder = remote(server)
    (made,) = embedder.embed_documents(["a"])
    embedder.close()

    gaps = [later.at - earlier.at for earlier, later in zip(server.seen, server.seen[1:], strict=False)]
    assert len(server.seen) == 4
    assert all(gap >= 1 for gap in gaps)
    np.testing.assert_allclose(made, unit("a"), atol=1e-6)


def test_a_date_says_how_long_to_wait_by_the_providers_clock(server: ProviderServer) -> None:
    theirs = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    until = format_datetime(theirs + timedelta(seconds=1), usegmt=True)
    server.then(told(503, until, date=format_datetime(theirs, usegmt=True)))
    embedder = remote(server)
    embedder.embed_documents(["a"])
    embedder.close()

    assert server.seen[1].at - server.seen[0].at >= 1


@pytest.mark.parametrize("hint", ["banana", "-5", "nan", "inf", ""])
def test_a_hint_that_makes_no_sense_is_no_hint(server: ProviderServer, quick: None, hint: str) -> None:
    server.then(told(429, hint))
    embedder = remote(server)
    embedder.embed_documents(["a"])
    embedder.close()

    assert len(server.seen) == 2


def test_a_wait_is_shared_by_all_requests_under_way(server: ProviderServer) -> None:
    server.then(told(429, "1"))
    embedder = remote(server)
    first = threading.Thread(target=embedder.embed_documents, args=(["a"],))
    first.start()
    while not server.seen:
        time.sleep(0.005)
    time.sleep(0.1)
    others = [threading.Thread(target=embedder.embed_documents, args=([text],)) for text in "bcd"]
    for thread in others:
        thread.start()
    for thread in [first, *others]:
        thread.join(20)
    embedder.close()

    assert len(server.seen) == 5
    assert all(seen.at - server.seen[0].at >= 1 for seen in server.seen[1:])


def test_an_hour_is_not_waited_but_said(server: ProviderServer) -> None:
    server.then(told(429, "3600"))
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match=r"openai asks to wait 60 min; .*limit of requests \(429\)") as caught:
        embedder.embed_documents(["a"])
    for call in (lambda: embedder.embed_documents(["b"]), lambda: embedder.embed_query("c")):
        with pytest.raises(EmbeddingError, match="openai asks to wait"):
            call()
    embedder.close()

    assert len(server.seen) == 1, "nobody is asked before the hour is over"
    assert caught.value.retryable
    assert caught.value.retry_after == pytest.approx(3600, abs=30)
    assert "kept" in caught.value.remedy


def test_a_query_does_not_wait_as_long_as_documents_do(server: ProviderServer) -> None:
    server.then(told(429, "20"))
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match="asks to wait 20 s"):
        embedder.embed_query("a")
    embedder.close()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_three_times(server: ProviderServer, quick: None, status: int) -> None:
    server.rule = lambda seen: Answer({"error": {"message": "not now"}}, status)
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match="not now") as caught:
        embedder.embed_documents(["a"])
    embedder.close()

    assert len(server.seen) == 3
    assert caught.value.retryable


def test_pauses_grow(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.1)
    server.then(*[Answer(b"", 500)] * 2)
    embedder = remote(server)
    embedder.embed_documents(["a"])
    embedder.close()

    first, second = (later.at - earlier.at for earlier, later in zip(server.seen, server.seen[1:], strict=False))
    assert first >= 0.1
    assert second >= 0.2


def test_googles_retry_info_is_a_hint(server: ProviderServer) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}
    error = {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}
    server.then(Answer({"error": {**error, "details": [detail]}}, 429))
    embedder = remote(server, "gemini")
    embedder.embed_documents(["a"])
    embedder.close()

    assert server.seen[1].at - server.seen[0].at >= 1.5


# -- cancelling


STALLS = {"wait": told(429, "30"), "slow": Answer(wait=30), "drip": Answer(openai_reply(["a"]), drip=0.05)}


@pytest.mark.parametrize("answer", STALLS.values(), ids=STALLS)
def test_cancelling_is_instant(server: ProviderServer, answer: Answer) -> None:
    server.rule = lambda seen: answer
    embedder = remote(server)
    cancel = threading.Event()
    failures: list[EmbeddingError] = []

    def embed() -> None:
        try:
            embedder.embed_documents(["a"], cancel)
        except EmbeddingError as error:
            failures.append(error)

    thread = threading.Thread(target=embed)
    thread.start()
    while not server.seen:
        time.sleep(0.005)
    time.sleep(0.1)
    cancel.set()
    waited = timed(lambda: thread.join(20))
    embedder.close()

    assert waited < 2
    assert "cancelled" in str(failures[0])


@pytest.mark.parametrize("answer", STALLS.values(), ids=STALLS)
def test_closing_ends_what_is_under_way(server: ProviderServer, answer: Answer) -> None:
    server.rule = lambda seen: answer
    embedder = remote(server)
    failures: list[str] = []

    def embed() -> None:
        try:
            embedder.embed_documents(["a"])
        except EmbeddingError as error:
            failures.append(str(error))

    thread = threading.Thread(target=embed)
    thread.start()
    while not server.seen:
        time.sleep(0.005)
    embedder.close()
    embedder.close()
    thread.join(20)

    assert failures == ["the embedder is closed"]
    with pytest.raises(EmbeddingError, match="closed"):
        embedder.embed_query("a")


def test_closing_leaves_nothing_pending_however_busy_the_connection_is(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make, begun, go_on = httpx.AsyncClient, threading.Event(), threading.Event()

    def slow(**values: Any) -> httpx.AsyncClient:
        begun.set()
        go_on.wait(20)
        return make(**values)

    monkeypatch.setattr(httpx, "AsyncClient", slow)
    embedder = remote(server)

    def ask() -> None:
        with pytest.raises(EmbeddingError, match="closed"):
            embedder.embed_query("a")

    asking = threading.Thread(target=ask)
    asking.start()
    begun.wait(20)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        embedder.close()
        go_on.set()
        asking.join(20)
        for thread in threading.enumerate():
            if thread.name == "memdeck-http":
                thread.join(20)
        gc.collect()

    assert [str(warning.message) for warning in warned] == []
    assert "pending" not in caplog.text


# -- networks


def test_a_slow_answer_ends_at_its_time(server: ProviderServer, quick: None) -> None:
    server.rule = lambda seen: Answer(openai_reply(["a"]), drip=0.02)
    embedder = remote(server, remote={"batch_timeout_seconds": 0.3})
    with pytest.raises(EmbeddingError, match=r"did not answer within 0\.3 s") as caught:
        embedder.embed_documents(["a"])
    embedder.close()

    assert caught.value.retryable


@pytest.mark.parametrize(
    "bad", [Answer(openai_reply(["a"]), cut=60), Answer(b'{"data": [{"ind'), Answer(b"<html>sign in</html>")]
)
def test_half_a_reply_is_asked_for_again(server: ProviderServer, quick: None, bad: Answer) -> None:
    server.then(bad)
    embedder = remote(server)
    (made,) = embedder.embed_documents(["a"])
    embedder.close()

    assert len(server.seen) == 2
    np.testing.assert_allclose(made, unit("a"), atol=1e-6)


def test_nobody_at_the_address_is_said_with_a_remedy(server: ProviderServer, quick: None) -> None:
    embedder = remote(server, "ollama")
    server.close()
    with pytest.raises(EmbeddingError, match="cannot be reached") as caught:
        embedder.embed_query("a")
    embedder.close()

    assert caught.value.retryable
    assert "ollama serve" in caught.value.remedy


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_without_end_is_cut_off(server: ProviderServer, packed: bool) -> None:
    server.then(Answer(b'{"data": "' + b"x" * 8_000_000 + b'"}', packed=packed))
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match="larger than 1 MiB"):
        embedder.embed_documents(["a"])
    embedder.close()

    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_host(server: ProviderServer, status: int) -> None:
    with provider_server() as other:
        server.rule = lambda seen: Answer(b"", status, {"location": other.url + "/v1/embeddings"})
        embedder = remote(server)
        with pytest.raises(ProviderUnavailable, match=other.url.removeprefix("http://")) as caught:
            embedder.embed_documents(["a"])
        embedder.close()

        assert other.seen == []
        assert "base_url" in caught.value.remedy


def test_a_redirect_within_the_host_is_followed(server: ProviderServer) -> None:
    server.then(Answer(b"", 308, {"location": "/v2/embeddings"}))
    embedder = remote(server)
    embedder.embed_documents(["a"])
    embedder.close()

    assert [seen.path for seen in server.seen] == ["/v1/embeddings", "/v2/embeddings"]
    assert server.seen[0].body == server.seen[1].body


def test_a_circle_of_redirects_ends(server: ProviderServer) -> None:
    server.rule = lambda seen: Answer(b"", 307, {"location": seen.path})
    embedder = remote(server)
    with pytest.raises(ProviderUnavailable):
        embedder.embed_documents(["a"])
    embedder.close()
