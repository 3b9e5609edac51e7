"""A memory whose provider fails, as users see it: status, searches, and what is told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory, SearchRequest, open_memory
from core.embedding import asking
from tests.failing_provider import REFUSED, SPENT, lines
from tests.provider_server import KEY, Answer, ProviderServer, provider_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(asking, "QUOTA_SECONDS", 0.01)
    with provider_server() as running:
        yield running


# -- as users see it

Open = Callable[..., Memory]


@pytest.fixture
def memory_at(server: ProviderServer, tmp_path: Path) -> Iterator[Open]:
    """Opens a memory whose provider is openai and whose fallback, where wanted, is ollama; the server plays both."""
    opened: list[Memory] = []

    def make(fallback: str = "none", *, resident: bool = True, **environ: str) -> Memory:
        folder = tmp_path / "config"
        folder.mkdir(exist_ok=True)
        (tmp_path / "ws").mkdir(exist_ok=True)
        opened.append(
            open_memory(
                workspace=tmp_path / "ws",
                store=tmp_path / "index.sqlite",
                environ={"OPENAI_API_KEY": KEY, **environ},
                home=tmp_path / "home",
                flags={
                    "provider": "openai",
                    "fallback": fallback,
                    "remote.open_ai.base_url": server.url + "/v1",
                    "local.ollama.base_url": server.url,
                    "chunking.tokens": 24,
                    "chunking.overlap": 0,
                },
                resident=resident,
            )
        )
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()


def by_path(server: ProviderServer, ending: str, answer: Answer) -> None:
    server.rule = lambda seen: answer if seen.path.endswith(ending) else None


def test_searches_and_status_follow_the_fallback(server: ProviderServer, memory_at: Open) -> None:
    memory = memory_at("ollama")
    (memory.workspace / "MEMORY.md").write_text(lines(5))
    memory.sync()
    before = memory.search(SearchRequest("what was said"))
    by_path(server, "/embeddings", SPENT)
    (memory.workspace / "MEMORY.md").write_text(lines(6))
    memory.sync()
    after = memory.search(SearchRequest("what was said"))
    status = memory.status()

    assert (before.provider, before.mode, before.fallback) == ("openai", "hybrid", None)
    assert (after.provider, after.mode) == ("ollama", "hybrid")
    assert after.fallback is not None
    assert after.fallback["from"] == "openai"
    assert (status.provider, status.model, status.requested_provider) == ("ollama", "nomic-embed-text", "openai")
    assert status.fallback == after.fallback
    assert status.custom["textGoesTo"] == f"this machine only ({server.url.removeprefix('http://')})"
    assert status.custom["providerState"] == "fallback"
    assert status.health == "degraded"
    assert [reason for reason in status.reasons if reason.startswith("ollama is used in place of openai: the quota")]


def test_another_process_searches_with_the_embedder_whose_vectors_are_there(
    server: ProviderServer, memory_at: Open
) -> None:
    memory = memory_at("ollama")
    (memory.workspace / "MEMORY.md").write_text(lines(5))
    by_path(server, "/embeddings", REFUSED)
    memory.sync()
    other = memory_at("ollama", resident=False)
    server.seen.clear()
    result = other.search(SearchRequest("what was said"))

    assert (result.provider, result.mode) == ("ollama", "hybrid")
    assert [seen.path for seen in server.seen] == ["/api/embed"]
    assert not other.backend.worker.is_alive


def test_a_query_that_meets_a_used_up_quota_brings_the_fallback(server: ProviderServer, memory_at: Open) -> None:
    memory = memory_at("ollama")
    (memory.workspace / "MEMORY.md").write_text(lines(5))
    memory.sync()
    by_path(server, "/embeddings", SPENT)
    first = memory.search(SearchRequest("what was said"))
    assert first.mode == "keyword"
    assert "quota" in (first.warning or "")
    end = time.monotonic() + 30
    while memory.search(SearchRequest("what was said")).provider != "ollama":
        assert time.monotonic() < end
        time.sleep(0.05)
    while memory.status().pending:
        assert time.monotonic() < end
        time.sleep(0.05)

    assert memory.search(SearchRequest("what was said")).mode == "hybrid"


def test_a_refused_key_is_a_state_that_every_process_tells(server: ProviderServer, memory_at: Open) -> None:
    memory = memory_at()
    (memory.workspace / "MEMORY.md").write_text(lines(5))
    by_path(server, "/embeddings", REFUSED)
    memory.sync()
    for one in (memory, memory_at(resident=False)):
        status = one.status()
        assert status.health == "degraded"
        assert status.custom["providerState"] == "failing"
        assert status.custom["providerRemedy"] == "check the key in OPENAI_API_KEY"
        assert "the provider fails: openai refuses the key (401); check the key in OPENAI_API_KEY" in status.reasons
        assert KEY not in json.dumps(status.custom, default=str)
    assert memory.backend.worker.state.embedding_remedy == "check the key in OPENAI_API_KEY"

    server.rule = None
    memory.sync()
    assert memory.status().health == "healthy"
    assert memory.status().custom["providerState"] == "ready"


def test_a_missing_key_is_said_with_its_remedy(memory_at: Open) -> None:
    memory = memory_at(OPENAI_API_KEY="")
    (memory.workspace / "MEMORY.md").write_text(lines(1))
    memory.sync()
    status = memory.status()

    assert (status.health, status.provider, status.custom["providerState"]) == ("degraded", "none", "missing")
    assert "OPENAI_API_KEY" in str(status.custom["providerRemedy"])
    assert status.custom["textGoesTo"] == "nowhere"


# -- the cache


def test_what_the_cache_saves_is_counted(server: ProviderServer, memory_at: Open) -> None:
    memory = memory_at()
    note = memory.workspace / "MEMORY.md"
    note.write_text(lines(6))
    assert "hitRate" not in memory.status().cache
    memory.sync()
    assert (memory.status().cache["hitRate"], memory.status().cache["misses"]) == (0.0, 6)
    note.unlink()
    memory.sync()
    note.write_text(lines(9))
    report = memory.sync()
    status = memory_at(resident=False).status()

    assert (status.cache["hits"], status.cache["misses"], status.cache["hitRate"]) == (6, 9, 0.4)
    assert report.vectors_cached == 6
    assert len(server.embedded()) == 9


def test_the_doctor_tells_whose_vectors_they_are(server: ProviderServer, memory_at: Open) -> None:
    memory = memory_at("ollama")
    (memory.workspace / "MEMORY.md").write_text(lines(3))
    by_path(server, "/embeddings", SPENT)
    memory.sync()
    findings = [finding for finding in memory.doctor() if finding.check in ("provider", "vectors")]

    assert [finding.ok for finding in findings] == [False, True, True]
    assert "openai is replaced by its fallback: the quota of openai is used up" in findings[0].detail
    assert findings[1].detail == "ollama/nomic-embed-text: ok"
    assert not memory.embeds_while_typing
