"""Asynchronous batches: handed over, looked after across restarts, given up, and switched off when they fail."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Iterator
from hashlib import sha256

import numpy as np
import pytest

from core.embedding import batch as batch_room
from core.embedding.base import Vector
from core.embedding.batch import BatchNews, BatchRunner
from core.embedding.providers import batch_api
from core.errors import EmbeddingError
from core.settings.model import Batch
from core.types import EmbeddingIdentity
from tests.provider_server import Answer, ProviderServer, Seen, provider_server, remote, unit
from tests.workbench import WordEmbedder

TEXTS = [(sha256(str(number).encode()).digest(), f"text {number}") for number in range(6)]


class Texts(dict[str, str]):
    """What outlives a process."""

    def put(self, key: str, value: str) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Desk:
    """A runner, and the worker that it tells."""

    def __init__(self, server: ProviderServer, provider: str, texts: Texts, **settings: object) -> None:
        self.embedder = remote(server, provider)
        self.news: queue.Queue[BatchNews] = queue.Queue()
        api = batch_api(self.embedder)
        assert api is not None
        values = {"enabled": True, "poll_interval_ms": 100, **settings}
        self.now = time.time()
        self.runner = BatchRunner(
            api,
            self.embedder.identity,
            Batch(**values),
            texts,
            deliver=self.news.put,
            clock=lambda: self.now,
        )

    def next(self) -> BatchNews:
        return self.news.get(timeout=20)

    def through(self) -> BatchNews:
        """Take news until a batch is over."""
        while True:
            news = self.next()
            self.runner.receive(news)
            if news.kind != "submitted":
                return news

    def close(self) -> None:
        self.runner.close()
        self.embedder.close()


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def desk(server: ProviderServer) -> Iterator[Callable[..., Desk]]:
    desks: list[Desk] = []

    def make(provider: str = "openai", texts: Texts | None = None, **settings: object) -> Desk:
        desks.append(Desk(server, provider, Texts() if texts is None else texts, **settings))
        return desks[-1]

    yield make
    for one in desks:
        one.close()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def assert_all_made(news: BatchNews) -> None:
    made: dict[bytes, Vector | EmbeddingError] = dict(news.made)
    np.testing.assert_allclose([made[key] for key, _ in TEXTS], [unit(text) for _, text in TEXTS], atol=1e-6)


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_texts_come_back_as_vectors_by_their_hash(desk: Callable[..., Desk], provider: str) -> None:
    here = desk(provider)

    assert here.runner.submit(TEXTS) == tuple(key for key, _ in TEXTS)
    news = here.through()

    assert news.kind == "done"
    assert_all_made(news)


def test_openai_gets_a_file_a_batch_and_a_last_word(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    here = desk()
    here.runner.submit(TEXTS[:2])
    here.runner.settle(here.through())
    until(lambda: len(server.deleted) == 2)

    upload, create = server.seen[0], server.seen[1]
    assert (upload.method, upload.path) == ("POST", "/v1/files")
    boundary = upload.headers["content-type"].removeprefix("multipart/form-data; boundary=")
    names = [key.hex() for key, _ in TEXTS[:2]]
    lines = "\n".join(
        f'{{"custom_id":"{name}","method":"POST","url":"/v1/embeddings","body":{{"model":"text-embedding-3-small",'
        f'"input":["text {number}"],"encoding_format":"float"}}}}'
        for number, name in enumerate(names)
    )
    assert upload.body.decode() == (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{server.names["file-1"]}"\r\n'
        f"Content-Type: application/jsonl\r\n\r\n{lines}\r\n--{boundary}--\r\n"
    )
    assert (create.method, create.path) == ("POST", "/v1/batches")
    token = server.names["file-1"].removeprefix("memdeck-").removesuffix(".jsonl")
    assert create.body.decode() == (
        '{"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h","metadata":{"memdeck":"'
        f'{token}"}}}}'
    )
    assert sorted(server.deleted) == ["batch_1-output", "file-1"]


def test_gemini_gets_the_texts_inline(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    here = desk("gemini")
    here.runner.submit(TEXTS[:1])
    here.runner.settle(here.through())
    until(lambda: server.deleted)

    create = server.seen[0]
    assert create.path == "/v1beta/models/gemini-embedding-001:asyncBatchEmbedContent"
    assert create.body.decode() == (
        '{"batch":{"model":"models/gemini-embedding-001","displayName":"'
        f'{server.batches["batches/b1"]["name"]}","inputConfig":{{"requests":{{"requests":'
        '[{"request":{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"text 0"}]},"taskType":'
        f'"RETRIEVAL_DOCUMENT"}},"metadata":{{"key":"{TEXTS[0][0].hex()}"}}}}]}}}}}}}}'
    )
    assert server.deleted == ["batches/b1"]


def test_pending_texts_are_known_until_they_are_settled(desk: Callable[..., Desk]) -> None:
    here = desk()
    keys = frozenset(here.runner.submit(TEXTS))
    assert here.runner.pending == keys
    assert here.runner.holds_up_sync

    news = here.through()
    assert here.runner.pending == keys, "the vectors are not written yet"
    here.runner.settle(news)
    assert here.runner.pending == frozenset()
    assert not here.runner.holds_up_sync


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_batch_is_found_again_after_a_restart(
    server: ProviderServer, desk: Callable[..., Desk], provider: str
) -> None:
    server.batch_looks = 1000
    texts = Texts()
    before = desk(provider, texts)
    before.runner.submit(TEXTS)
    before.runner.receive(before.next())
    before.close()
    server.batch_looks = 0

    after = desk(provider, texts)
    after.runner.resume()
    assert after.runner.pending == frozenset(key for key, _ in TEXTS)
    news = after.through()
    after.runner.settle(news)

    assert_all_made(news)
    assert texts == {}
    assert len(server.batches) == 1


def test_vectors_that_were_not_written_before_a_crash_are_fetched_again(desk: Callable[..., Desk]) -> None:
    texts = Texts()
    before = desk(texts=texts)
    before.runner.submit(TEXTS)
    before.through()
    before.close()

    after = desk(texts=texts)
    after.runner.resume()
    assert_all_made(after.through())


def test_a_batch_of_another_model_is_given_up(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    server.batch_looks = 1000
    texts = Texts()
    before = desk(texts=texts)
    before.runner.submit(TEXTS)
    before.runner.receive(before.next())
    before.close()
    jobs = json.loads(texts["embedding_batches"])
    jobs[0]["identity"] = EmbeddingIdentity("openai", "another", "").key
    texts["embedding_batches"] = json.dumps(jobs)

    after = desk(texts=texts)
    after.runner.resume()
    until(lambda: server.cancelled)

    assert after.runner.pending == frozenset()
    assert texts == {}


@pytest.mark.parametrize(
    "garbage", ["", "{", "null", '[{"id": 1}]', '[{"id":"a","identity":"b","started":0,"hashes":"*"}]']
)
def test_jobs_that_cannot_be_read_are_none(desk: Callable[..., Desk], garbage: str) -> None:
    here = desk(texts=Texts({"embedding_batches": garbage}))
    here.runner.resume()

    assert here.runner.pending == frozenset()


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_two_failures_switch_batches_off(server: ProviderServer, desk: Callable[..., Desk], provider: str) -> None:
    server.batch_ends = "failed"
    texts = Texts()
    here = desk(provider, texts)
    for number in (1, 2):
        assert here.runner.wants(1000) > 0
        here.runner.submit(TEXTS)
        news = here.through()
        assert "it went wrong" in str(news.error)
        assert here.runner.pending == frozenset(), "others may embed these texts now"
        assert here.runner.status()["failures"] == number
    assert here.runner.wants(1000) == 0
    assert here.runner.status()["enabled"] is False
    assert here.runner.status()["lastProvider"] == provider

    assert desk(provider, texts).runner.wants(1000) == 0, "remembered by the next process"
    here.now += 86_400
    assert here.runner.wants(1000) > 0, "for a day"


def test_one_good_batch_forgives_a_failure(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    texts = Texts()
    here = desk(texts=texts)
    server.batch_ends = "expired"
    here.runner.submit(TEXTS)
    here.through()
    server.batch_ends = None
    here.runner.submit(TEXTS)
    here.runner.settle(here.through())

    assert here.runner.status()["failures"] == 0
    assert texts == {}


def test_a_batch_that_takes_too_long_is_cancelled(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    server.batch_looks = 1000
    here = desk(timeout_minutes=1)
    here.runner.submit(TEXTS)
    here.runner.receive(here.next())
    here.now += 61
    news = here.through()
    until(lambda: server.cancelled)

    assert "not ready within 1 min" in str(news.error)
    assert here.runner.pending == frozenset()


def test_a_batch_that_is_not_taken_leaves_no_file_behind(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    server.then(lambda seen: None, Answer({"error": {"message": "no batches for you"}}, 400))
    here = desk()
    here.runner.submit(TEXTS)
    news = here.through()

    assert "no batches for you" in str(news.error)
    assert server.files == {}


def test_what_a_batch_leaves_out_is_left_to_others_and_what_it_rejects_is_refused(
    server: ProviderServer, desk: Callable[..., Desk]
) -> None:
    output = server.openai_output

    def spoilt(lines: bytes) -> bytes:
        replies = [json.loads(line) for line in output(lines).splitlines()]
        replies[0]["response"] = {"status_code": 400, "body": {"error": {"message": "odd"}}}
        replies[1]["response"] = {"status_code": 500, "body": {}}
        replies[2]["response"]["body"]["data"][0]["embedding"] = [0.0] * 8
        replies[3] = {"custom_id": "unknown", "response": replies[3]["response"]}
        return b"\n".join([b"noise", *[json.dumps(reply).encode() for reply in replies]])

    server.openai_output = spoilt  # type: ignore[method-assign]
    here = desk()
    here.runner.submit(TEXTS)
    made = dict(here.through().made)

    keys = [key for key, _ in reversed(TEXTS)]
    assert "odd" in str(made[keys[0]])
    assert keys[1] not in made
    assert isinstance(made[keys[2]], EmbeddingError)
    assert keys[3] not in made
    np.testing.assert_allclose(made[keys[4]], unit("text 1"), atol=1e-6)


def test_an_outage_while_waiting_is_waited_out(
    server: ProviderServer, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.embedding.asking.FIRST_BACKOFF_SECONDS", 0.01)
    outage = [4]

    def rule(seen: Seen) -> Answer | None:
        if seen.method == "GET" and "/batches/" in seen.path and outage[0] > 0:
            outage[0] -= 1
            return Answer(b"", 503)
        return None

    server.rule = rule
    here = desk()
    here.runner.submit(TEXTS)

    assert_all_made(here.through())


def test_batches_are_for_many_texts_and_few_at_once(
    server: ProviderServer, desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_room, "MANY", 4)
    server.batch_looks = 1000
    here = desk(concurrency=2)

    assert here.runner.wants(3) == 0
    assert here.runner.wants(4) == 4
    assert here.runner.wants(5000) == 1000
    here.runner.submit(TEXTS[:3])
    assert here.runner.wants(4) == 4
    here.runner.submit(TEXTS[3:])
    assert here.runner.wants(4) == 0
    assert desk(enabled=False).runner.wants(5000) == 0


def test_blank_and_very_long_texts_are_not_handed_over(desk: Callable[..., Desk]) -> None:
    here = desk()
    keys = [key for key, _ in TEXTS]

    assert here.runner.submit([(keys[0], " "), (keys[1], "x" * 1_000_000), (keys[2], "fine")]) == (keys[2],)
    assert here.runner.submit([(keys[0], " ")]) == ()


def test_the_status_has_the_keys_of_the_reference(desk: Callable[..., Desk]) -> None:
    status = desk(wait=False).runner.status()

    assert status == {
        "enabled": True,
        "failures": 0,
        "limit": 2,
        "wait": False,
        "concurrency": 2,
        "pollIntervalMs": 100,
        "timeoutMs": 3_600_000,
        "underWay": 0,
    }


def test_closing_stops_looking_at_once(server: ProviderServer, desk: Callable[..., Desk]) -> None:
    server.batch_looks = 1000
    here = desk(poll_interval_ms=60_000)
    here.runner.submit(TEXTS)
    here.runner.receive(here.next())
    until(lambda: len(server.seen) >= 3)
    started = time.monotonic()
    here.close()

    assert time.monotonic() - started < 30
    assert here.news.empty()


def test_only_some_providers_have_batches(server: ProviderServer) -> None:
    for provider in ("voyage", "mistral", "ollama", "openai-compatible"):
        embedder = remote(server, provider)
        assert batch_api(embedder) is None
        embedder.close()
    assert batch_api(WordEmbedder()) is None
    assert batch_api(None) is None
