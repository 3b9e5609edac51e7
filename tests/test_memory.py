"""A memory opened as users open it: found at once, followed while files change, read by line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from core import Citation, Memory, SearchRequest, SearchResult, WorkspaceError, open_memory
from core.agent_tools import memory_get, memory_search, shows_citations
from core.errors import KeywordsDamaged
from core.store.database import Database

Make = Callable[..., Memory]


def paths(memory: Memory, query: str, **more: object) -> list[str]:
    return [hit.path for hit in memory.search(SearchRequest(query, **more)).hits]  # type: ignore[arg-type]


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Make]:
    """Writes files into a workspace and opens its memory, without a first sync."""
    opened: list[Memory] = []

    def make(files: Mapping[str, str], **flags: object) -> Memory:
        for name, text in files.items():
            path = tmp_path / "ws" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        opened.append(
            open_memory(
                workspace=tmp_path / "ws",
                store=tmp_path / "index.sqlite",
                environ={},
                home=tmp_path / "home",
                flags={"provider": "none", **flags},
                resident=True,
            )
        )
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()


def test_keyword_tables_that_a_search_finds_damaged_are_made_anew(fresh: Make) -> None:
    memory = fresh({f"memory/{number}.md": f"needle {number} {'word ' * 40}\n" for number in range(30)})
    memory.sync()
    memory.start()
    with Database.open(memory.store_path) as database, database.transaction():
        database.run("UPDATE chunks_fts_data SET block = zeroblob(20) WHERE id > 10")
    with pytest.raises(KeywordsDamaged):
        memory.search(SearchRequest("needle"))

    def answers() -> bool:
        with suppress(KeywordsDamaged):
            return len(memory.search(SearchRequest("needle", max_results=30)).hits) == 30
        return False

    until(answers)


def test_a_hit_cites_the_line_that_holds_the_words(memory_of: Make) -> None:
    memory = memory_of({"memory/ids.md": "first\n\nDecision RFC-0042 replaces DEC-0054.\n"})
    (hit,) = memory.search(SearchRequest("RFC-0042")).hits
    assert (hit.line, Citation.parse(f"{hit.path}:{hit.line}")) == (3, Citation("memory/ids.md", 3, 3))


def test_a_blank_query_does_no_work(fresh: Make) -> None:
    memory = fresh({"MEMORY.md": "text\n"})
    assert memory.search(SearchRequest(" \t ")) == SearchResult(" \t ", mode="hybrid")
    assert not memory.store_path.exists()


def test_a_search_before_the_first_sync_says_that_nothing_is_indexed(fresh: Make) -> None:
    result = fresh({"MEMORY.md": "text\n"}).search(SearchRequest("text"))
    assert (result.hits, result.catching_up) == ((), True)
    assert result.warning is not None
    assert "nothing is indexed yet" in result.warning


def test_the_local_model_finds_by_meaning(memory_of: Make) -> None:
    memory = memory_of(
        {
            "memory/a.md": "The feline slept on the warm windowsill all afternoon.\n",
            "memory/b.md": "Quarterly revenue grew because of the new subscription prices.\n",
        },
        provider="local",
    )
    result = memory.search(SearchRequest("a cat taking a nap", mode="semantic"))
    assert [hit.path for hit in result.hits][:1] == ["memory/a.md"]


def test_keyword_hits_come_before_the_vector_and_are_ranked_anew(memory_of: Make) -> None:
    memory = memory_of({"memory/a.md": "the cat sleeps\n"}, provider="local")
    told: list[SearchResult] = []
    result = memory.search(SearchRequest("cat"), on_partial=told.append)
    assert [one.partial for one in told] in ([True], [])  # a vector that is there at once needs no first page
    assert not result.partial
    assert result.hits[0].parts.vector is not None


def test_when_the_vector_is_late_keyword_hits_answer_with_a_warning(
    memory_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of({"memory/a.md": "the cat sleeps\n"}, provider="local")
    gate = threading.Event()
    embedder = memory.selection.embedder
    assert embedder is not None
    real = type(embedder).embed_query

    def slow(self: object, text: str, cancel: threading.Event | None = None) -> object:
        gate.wait(10)
        return real(self, text, cancel)  # type: ignore[arg-type]

    monkeypatch.setattr(type(embedder), "embed_query", slow)
    result = memory.search(SearchRequest("cat", deadline_ms=50))
    gate.set()
    assert [hit.path for hit in result.hits] == ["memory/a.md"]
    assert result.warning is not None
    assert "did not come within 50 ms" in result.warning


def test_a_started_memory_follows_its_files(fresh: Make) -> None:
    memory = fresh({"memory/a.md": "old words\n"}, **{"sync.watch_debounce_ms": 50})
    memory.start()
    until(lambda: memory.store_path.exists() and paths(memory, "words"))
    (memory.workspace / "memory/b.md").write_text("zebra\n")
    until(lambda: paths(memory, "zebra") == ["memory/b.md"])
    (memory.workspace / "memory/b.md").unlink()
    until(lambda: paths(memory, "zebra") == [])


def test_a_memory_that_is_opened_twice_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    options = {"workspace": tmp_path / "ws", "store": tmp_path / "i.sqlite", "environ": {}, "home": tmp_path}
    first = open_memory(**options)  # type: ignore[arg-type]
    again = open_memory(**options)  # type: ignore[arg-type]
    first.close()
    later = open_memory(**options)  # type: ignore[arg-type]
    assert (first is again, later is first) == (True, False)
    later.close()


def test_no_workspace_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError) as caught:
        open_memory(environ={}, home=tmp_path, cwd=tmp_path)
    assert "--workspace" in caught.value.remedy


def test_the_index_answers_what_the_files_said_when_a_root_is_away(memory_of: Make) -> None:
    memory = memory_of({"memory/a.md": "ghost\n"})
    (memory.workspace / "memory").rename(memory.workspace / "away")
    memory.sync()
    assert paths(memory, "ghost") == ["memory/a.md"]
    assert any("kept" in reason for reason in memory.status().reasons)


@pytest.mark.parametrize(
    ("path", "from_line", "lines", "status"),
    [
        ("memory/missing.md", None, None, "missing"),
        ("memory/empty.md", None, None, "empty"),
        ("memory/two.md", 1, None, "ok"),
        ("memory/two.md", 3, None, "empty"),
        ("memory/two.md", 99, None, "empty"),
        ("memory/two.md", 0, None, "not_allowed"),
        ("memory/two.md", -1, None, "not_allowed"),
        ("memory/two.md", 1, 0, "not_allowed"),
        ("memory/two.md", 1, 10**9, "ok"),
        ("memory", None, None, "not_allowed"),
        ("memory/a.txt", None, None, "not_allowed"),
        ("../x.md", None, None, "not_allowed"),
        ("memory/../../x.md", None, None, "not_allowed"),
        ("/etc/passwd", None, None, "not_allowed"),
        ("memory/a.md\0.txt", None, None, "not_allowed"),
        ("", None, None, "not_allowed"),
    ],
)
def test_get_has_one_outcome_for_each_kind_of_trouble(
    memory_of: Make, path: str, from_line: int | None, lines: int | None, status: str
) -> None:
    memory = memory_of({"memory/two.md": "a\nb\n", "memory/empty.md": "", "memory/a.txt": "no\n"})
    result = memory.get(path, from_line, lines)
    assert result.status == status
    assert (result.error is None) == (status in ("ok", "empty"))


def test_get_never_follows_a_symlink(memory_of: Make, tmp_path: Path) -> None:
    memory = memory_of({"memory/a.md": "fine\n"})
    secret = tmp_path / "secret.md"
    secret.write_text("secret\n")
    (memory.workspace / "memory/link.md").symlink_to(secret)
    (memory.workspace / "memory/folder").symlink_to(tmp_path)
    assert memory.get("memory/link.md").status == "not_allowed"
    assert memory.get("memory/folder/secret.md").status == "not_allowed"


def test_the_search_tool_has_the_shape_that_agents_are_told(memory_of: Make) -> None:
    memory = memory_of({"memory/a.md": "# Pets\nthe cat sleeps\n"})
    answer = memory_search(memory, "cat")
    assert set(answer) == {"results", "provider", "model", "citations", "mode"}
    (hit,) = answer["results"]
    assert hit["citation"] == "memory/a.md#L1-L2"
    assert hit["snippet"].endswith("\n\nSource: memory/a.md#L1-L2")
    assert (hit["heading"], hit["line"], hit["source"]) == ("Pets", 2, "memory")
    assert 0 < hit["score"] <= 1


def test_a_failing_search_keeps_the_keys_and_says_what_to_do(memory_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.errors import StoreError

    memory = memory_of({"memory/a.md": "cat\n"})

    def fail(*_: object, **__: object) -> SearchResult:
        raise StoreError("the index is away", remedy="bring it back")

    monkeypatch.setattr(memory.backend, "search", fail)
    answer = memory_search(memory, "cat")
    assert (answer["results"], answer["disabled"], answer["error"], answer["action"]) == (
        [],
        True,
        "the index is away",
        "bring it back",
    )


def test_get_answers_in_the_shape_that_agents_are_told(memory_of: Make) -> None:
    memory = memory_of({"memory/a.md": "".join(f"line {number}\n" for number in range(1, 300))})
    answer = memory_get(memory, "memory/a.md", 10, 2)
    assert (answer["text"].splitlines()[:2], answer["nextFrom"]) == (["line 10", "line 11"], 12)
    assert memory_get(memory, "memory/a.md")["lines"] == 120


@pytest.mark.parametrize(
    ("mode", "key", "shown"),
    [
        ("on", "agent:main:x:group:1", True),
        ("off", None, False),
        ("auto", None, True),
        ("auto", "agent:main:telegram:group:42", False),
        ("auto", "agent:main:slack:channel:c1", False),
        ("auto", "agent:main:groupies", True),
    ],
)
def test_citations_are_left_out_in_groups_and_channels(mode: str, key: str | None, shown: bool) -> None:
    assert shows_citations(mode, key) is shown
