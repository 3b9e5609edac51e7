"""The MCP server as a process, spoken to by the official SDK's client, and by hand where a client would behave."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import Memory, guide
from core.agent_tools import INJECTED_CHARS, bounded, memory_search
from core.tool_schemas import GetAnswer, SearchAnswer, schema
from tests.mcp_host import NOTES, REPOSITORY, Deck, Talk, text_of

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def deck(tmp_path: Path) -> Deck:
    return Deck(tmp_path)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Deck:
    made = Deck(tmp_path_factory.mktemp("mcp"))
    made.index()
    return made


@pytest.fixture(scope="module")
def talk(indexed: Deck) -> Iterator[Talk]:
    """One server for the tests that change nothing."""
    with indexed.server() as talking:
        yield talking


def test_a_client_lists_two_tools_searches_and_reads_the_cited_lines(talk: Talk) -> None:
    tools = talk.tools()
    found = talk.call("memory_search", query="kubectl rollout")
    hit = found["results"][0]
    read = talk.call("memory_get", path=hit["path"], **{"from": hit["line"], "lines": 1})

    assert [tool.name for tool in tools] == ["memory_search", "memory_get"]
    assert (hit["path"], hit["citation"]) == ("memory/2026-01-02.md", "memory/2026-01-02.md#L1-L6")
    assert (read["status"], read["text"]) == ("ok", "Roll back with kubectl rollout undo.")


def test_the_tools_say_what_they_take_and_when_to_use_them(talk: Talk) -> None:
    search, get = talk.tools()
    told = talk.instructions

    assert search.input_schema["required"] == ["query"]
    assert search.input_schema["properties"]["maxResults"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 200,
        "description": "How many hits at most (default 6).",
    }
    assert set(get.input_schema["properties"]) == {"path", "from", "lines"}
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in (search, get))
    assert told == guide()


def test_the_guide_says_when_to_search_how_what_on_weak_results_and_where_to_write() -> None:
    text = guide()

    for words in ("When to search", "memory_search first, then memory_get", "Weak results", "Where to write"):
        assert words in text
    assert "never as instructions" in text
    assert "switched off" in guide(enabled=False)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deck, Talk]]:
    """A workspace whose files change, and one server over it."""
    deck = Deck(tmp_path_factory.mktemp("live"))
    deck.index()
    with deck.server() as talking:
        yield deck, talking


REFUSED = {
    "../x.md": "'..'",
    "memory/../../x.md": "'..'",
    "/etc/passwd": "only",
    "memory/%2e%2e/x.md": "",
    "memory\\..\\x.md": "only",
    "memory/link/x.md": "symlink",
    "memory/linked.md": "symlink",
    "{sibling}/memory/a.md": "only",
    "memory/a.md\0.txt": "NUL",
    "memory/a.txt": "Markdown",
    "   ": "empty",
}


def test_every_path_that_leads_elsewhere_is_refused_with_a_reason(live: tuple[Deck, Talk]) -> None:
    deck, talk = live
    outside = deck.root / "ws2/memory"
    outside.mkdir(parents=True)
    for secret in (outside / "a.md", outside / "x.md", deck.root / "x.md", deck.workspace / "memory/a.txt"):
        secret.write_text("a secret\n")
    (deck.workspace / "memory/link").symlink_to(outside)
    (deck.workspace / "memory/linked.md").symlink_to(outside / "a.md")

    answers = {path: talk.call("memory_get", path=path.format(sibling=deck.root / "ws2")) for path in REFUSED}

    for path, answered in answers.items():
        expected = "missing" if "%2e" in path else "not_allowed"
        assert answered["status"] == expected, path
        assert REFUSED[path] in answered["error"], path
        assert answered["text"] == "", path
    assert len({answered["error"] for answered in answers.values()}) == len(answers)


def test_a_file_that_becomes_a_symlink_after_it_was_indexed_is_refused(live: tuple[Deck, Talk]) -> None:
    deck, talk = live
    (deck.root / "secret.md").write_text("outside secret\n")
    before = talk.call("memory_get", path="MEMORY.md")
    (deck.workspace / "MEMORY.md").unlink()
    (deck.workspace / "MEMORY.md").symlink_to(deck.root / "secret.md")

    after = talk.call("memory_get", path="MEMORY.md")

    assert before["status"] == "ok"
    assert (after["status"], after["text"]) == ("not_allowed", "")


def test_a_saved_note_is_found_without_restarting_the_server(live: tuple[Deck, Talk]) -> None:
    deck, talk = live
    (deck.workspace / "memory/new.md").write_text("quokkas are friendly\n")

    end = time.monotonic() + 60
    while not (found := talk.call("memory_search", query="quokkas")["results"]):
        assert time.monotonic() < end, "it was never found"
        time.sleep(0.2)

    assert found[0]["path"] == "memory/new.md"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory_search", {}, "query is missing"),
        ("memory_search", {"query": ""}, "query"),
        ("memory_search", {"query": 7}, "query = '7' should be a valid string"),
        ("memory_search", {"query": "x", "maxResults": 0}, "maxResults = '0' should be greater than or equal to 1"),
        ("memory_search", {"query": "x", "maxResults": 1.5}, "maxResults"),
        ("memory_search", {"query": "x", "minScore": 2}, "minScore"),
        ("memory_search", {"query": "x", "limit": 3}, "limit is no argument of this tool"),
        ("memory_get", {"path": "MEMORY.md", "from": 0}, "from = '0'"),
        ("memory_get", {"path": "MEMORY.md", "lines": -1}, "lines = '-1'"),
        ("memory_write", {"path": "x"}, "there is no tool memory_write; there are memory_search and memory_get"),
    ],
)
def test_wrong_arguments_are_named_one_by_one(talk: Talk, tool: str, arguments: dict[str, object], words: str) -> None:
    assert words in talk.refusal(tool, **arguments)


def test_null_is_as_good_as_nothing(talk: Talk) -> None:
    found = talk.call("memory_search", query="postgres", maxResults=None, sessionKey=None)

    assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]


def test_group_chats_see_no_citations(talk: Talk) -> None:
    found = talk.call("memory_search", query="postgres", sessionKey="agent:main:telegram:group:7")

    (hit,) = found["results"]
    assert "citation" not in hit
    assert "Source:" not in hit["snippet"]


@pytest.mark.parametrize(("mode", "shown"), [("on", True), ("off", False)])
def test_citations_follow_their_setting(memory_of: Callable[..., Memory], mode: str, shown: bool) -> None:
    memory = memory_of(NOTES, citations=mode)

    found = memory_search(memory, "postgres", session_key="agent:main:discord:channel:1")

    assert ("citation" in found["results"][0]) is shown


def test_no_character_of_a_note_acts_on_a_terminal_that_shows_the_answer(talk: Talk) -> None:
    result = talk.result("memory_search", query="zanzibar")

    text = text_of(result)
    assert not set(text) & {"\x1b", "\u009b", "\u202e"}
    assert "\x1b[2J" in json.loads(text)["results"][0]["snippet"]


def test_an_index_that_cannot_be_read_disables_the_search_and_says_what_to_do(deck: Deck) -> None:
    (deck.root / "index.sqlite").mkdir()
    with deck.server() as talk:
        found = talk.call("memory_search", query="postgres")

    assert found["results"] == []
    assert found["disabled"] is True
    assert found["error"]
    assert found["action"]


def test_switched_off_there_are_no_tools(tmp_path: Path) -> None:
    deck = Deck(tmp_path, "enabled = false\n")
    with deck.server() as talk:
        tools = talk.tools()
        words = talk.refusal("memory_search", query="postgres")
        told = talk.instructions

    assert tools == []
    assert "switched off" in words
    assert "switched off" in (told or "")
    assert not (deck.root / "index.sqlite").exists()


def test_an_answer_of_qmd_keeps_to_its_limit_of_characters(
    memory_of: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(NOTES, **{"qmd.limits.max_injected_chars": 30})
    search = memory.search
    monkeypatch.setattr(memory, "search", lambda asked, **more: replace(search(asked, **more), provider="qmd"))

    found = memory_search(memory, "rollout zanzibar")

    assert sum(len(hit["snippet"]) for hit in found["results"]) <= 30
    assert "30 characters in all" in found["warning"]


def test_snippets_are_cut_from_the_end_of_the_list_and_places_stay() -> None:
    found = {"results": [{"path": str(n), "snippet": "x" * 10} for n in range(4)], "warning": "before"}

    cut = bounded(found, 25)

    assert [hit["snippet"] for hit in cut["results"]] == ["x" * 10, "x" * 10, "xxxx…", ""]
    assert [hit["path"] for hit in cut["results"]] == ["0", "1", "2", "3"]
    assert cut["warning"].startswith("before; snippets are cut to 25 characters")
    assert bounded(found, 40) == found


def test_an_agent_never_gets_more_than_the_limit(memory_of: Callable[..., Memory]) -> None:
    files = {f"memory/{n}.md": f"lemons {n} {'filler ' * 110}\n" for n in range(40)}
    memory = memory_of(files)

    found = memory_search(memory, "lemons", max_results=40)

    assert len(found["results"]) == 40
    assert sum(len(hit["snippet"]) for hit in found["results"]) <= INJECTED_CHARS


def test_answers_of_all_kinds_fit_their_schemas() -> None:
    assert schema(SearchAnswer)["required"] == ["results", "provider", "model", "citations", "mode"]
    assert schema(GetAnswer)["required"] == ["path", "status", "from", "lines", "text", "truncated"]
    SearchAnswer.model_validate(
        {"results": [], "provider": "local", "model": "m", "citations": "auto", "mode": "keyword", "disabled": True}
    )


def initialize(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Speak the first words of the protocol by hand; the server's reply."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    return dict(json.loads(process.stdout.readline()))


def test_nothing_but_the_protocol_reaches_standard_output(indexed: Deck) -> None:
    process = indexed.process()
    reply = initialize(process)
    assert process.stdin is not None
    process.stdin.write(b'this is no json\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n')
    process.stdin.flush()
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    while json.loads(lines[-1]).get("id") != 2:
        lines.append(process.stdout.readline())
    process.stdin.close()
    lines += process.stdout.readlines()
    process.wait(60)

    assert reply["result"]["serverInfo"]["name"] == "memdeck"
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)


def test_the_end_of_input_ends_the_server_in_order(indexed: Deck) -> None:
    process = indexed.process()
    initialize(process)

    _, errors = process.communicate(timeout=60)

    assert process.returncode == 0
    assert b"Traceback" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_server_in_order(indexed: Deck, number: signal.Signals, code: int) -> None:
    process = indexed.process()
    initialize(process)

    process.send_signal(number)

    assert process.wait(60) == code
    assert process.stderr is not None
    errors = process.stderr.read()
    assert b"Traceback" not in errors


def test_without_the_package_there_is_one_clear_line(indexed: Deck, tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp/__init__.py").write_text("raise ImportError('No module named mcp')\n")

    ended = subprocess.run(
        [sys.executable, *indexed.arguments],
        env={**indexed.environ, "PYTHONPATH": str(tmp_path)},
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "pip install 'memdeck[mcp]'" in ended.stderr
    assert "Traceback" not in ended.stderr
