"""Real work asked of each part: what `status --deep` and `doctor` find, with a remedy for whatever they find."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import probing
from core.embedding import asking
from core.memory import Memory
from core.opening import open_memory
from core.types import SearchRequest
from tests.provider_server import KEY, Answer, ProviderServer, provider_server

NOTES = "# Notes\n\nthe cat sits on the mat\n"
BAD = {
    "key": Answer({"error": {"message": "no such key"}}, 401),
    "access": Answer({"error": {"message": "not for you"}}, 403),
    "model": Answer({"error": {"message": "no such model"}}, 404),
    "text": Answer({"error": {"message": "unknown field"}}, 400),
    "quota": Answer({"error": {"message": "You exceeded it", "code": "insufficient_quota"}}, 429),
    "limit": Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "3600"}),
    "failure": Answer({"error": {"message": "oh"}}, 500),
    "teapot": Answer({"error": {"message": "short and stout"}}, 418),
    "empty": Answer(b""),
    "page": Answer(b"<html>sign in</html>"),
    "elsewhere": Answer(b"", 302, {"location": "http://elsewhere.invalid/"}),
    "zero": Answer({"data": [{"index": 0, "embedding": [0.0] * 8}]}),
    "cut": Answer({"data": []}, cut=3),
}


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def memory(server: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory that is indexed, vectors and all, by the provider that the server plays."""
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text(NOTES)
    opened = open_memory(
        workspace=workspace,
        store=tmp_path / "index.sqlite",
        environ={"OPENAI_API_KEY": KEY},
        home=tmp_path / "home",
        flags={"provider": "openai", "remote.open_ai.base_url": server.url + "/v1"},
    )
    assert opened.sync().vectors_made == 1
    yield opened
    opened.close()


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_whatever_a_provider_answers_the_doctor_has_a_remedy(
    server: ProviderServer, memory: Memory, answer: Answer
) -> None:
    server.rule = lambda _: answer
    findings = {finding.check: finding for finding in memory.doctor()}

    assert not findings["provider"].ok
    assert findings["provider"].remedy
    assert "not tried" in findings["vectors"].detail, "the vectors are there, only nothing to compare them with"
    assert [finding.check for finding in findings.values() if not finding.ok and not finding.remedy] == []


def test_the_remedy_is_that_of_the_failure(server: ProviderServer, memory: Memory) -> None:
    server.rule = lambda _: BAD["key"]
    (finding,) = [finding for finding in memory.doctor() if finding.check == "provider"]

    assert finding.remedy == "check the key in OPENAI_API_KEY"


def test_a_sync_and_a_search_say_what_to_do(server: ProviderServer, memory: Memory) -> None:
    server.rule = lambda _: BAD["key"]
    (memory.workspace / "MEMORY.md").write_text(NOTES + "\n# More\n\nand the dog lies on the rug\n" * 40)
    report = memory.sync()
    result = memory.search(SearchRequest("where is the dog"))

    told = "openai refuses the key (401): check the key in OPENAI_API_KEY"
    assert report.warning == told
    assert result.warning == f"keyword hits only: {told}"


def test_a_provider_that_hangs_is_not_waited_for_without_end(
    server: ProviderServer, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "PATIENCE_SECONDS", 0.3)
    server.rule = lambda _: Answer(b"", wait=600)
    (finding,) = [finding for finding in memory.doctor() if finding.check == "provider"]

    assert not finding.ok
    assert "did not answer within 0.3 s" in finding.detail
    assert finding.remedy


def test_a_deep_status_tells_of_a_provider_that_fails_while_nothing_waits(
    server: ProviderServer, memory: Memory
) -> None:
    server.rule = lambda _: BAD["key"]

    assert memory.status().health == "healthy"
    deep = memory.status(deep=True)
    assert deep.health == "degraded"
    assert [(finding.detail, finding.remedy) for finding in deep.findings] == [
        ("the provider fails: openai refuses the key (401)", "check the key in OPENAI_API_KEY")
    ]
    probes = deep.custom["probes"]
    assert isinstance(probes, dict)
    assert probes["embedder"] == "openai refuses the key (401)"
    assert probes["remedy"] == "check the key in OPENAI_API_KEY"


def test_a_deep_status_of_a_memory_that_is_well_is_healthy(memory: Memory) -> None:
    deep = memory.status(deep=True)

    assert (deep.health, deep.reasons) == ("healthy", ())
    probes = deep.custom["probes"]
    assert isinstance(probes, dict)
    assert (probes["embedder"], probes["vectors"]) == ("ok", "ok")
    assert "remedy" not in probes


@pytest.mark.parametrize("table", ["chunks_fts", "words_trigram"])
def test_a_keyword_index_that_fails_is_down_and_is_mended(memory: Memory, table: str) -> None:
    memory.close()
    raw = sqlite3.connect(memory.backend.store)
    raw.execute(f"UPDATE {table}_data SET block = x'ffffffffffffffffff' WHERE id = 10")
    raw.commit()
    raw.close()
    home = memory.backend.store.parent / "home"
    again = open_memory(
        workspace=memory.workspace, store=memory.backend.store, environ={}, home=home, flags={"provider": "none"}
    )
    status = again.status()
    again.doctor(repair=True)
    mended = again.status()
    again.close()

    assert status.health == "down"
    assert status.fts["available"] is False
    assert "damaged" in str(status.fts["error"])
    assert status.findings[0].remedy == "memdeck doctor --repair"
    assert mended.fts == {"enabled": True, "available": True}
    assert mended.health != "down"
