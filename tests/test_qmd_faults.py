"""What the real qmd cannot be made to show: noise, deaths, hanging, wrong answers, lost collections."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.backends.qmd import NotReady
from core.backends.qmd_collections import may_search, wanted_collections
from core.backends.qmd_process import ProgramTimeout
from core.backends.qmd_query import all_words, any_words
from core.errors import BackendError
from core.search.query import parse_query
from core.settings import settings_of
from core.settings.qmd_model import QmdScope
from core.types import SearchRequest
from tests.qmd_bench import (
    FOUND,
    Make,
    answer,
    ask,
    backend_for,
    calls,
    ended,
    player,
    settings_for,
    show,
    write_files,
)


@pytest.fixture
def playing(tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    return player(tmp_path, request)


def test_noise_and_colour_do_not_hide_the_answer(playing: Make) -> None:
    noise = "\x1b[33m[node-llama-cpp]\x1b[0m using CPU\n"

    assert ask(playing(show(noise + FOUND + "\nTip: run 'qmd embed'") + "echo warn >&2")) == ["memory/a.md#L1"]


def test_escape_sequences_of_qmd_reach_no_result(playing: Make) -> None:
    with pytest.raises(BackendError) as caught:
        ask(playing("printf 'no \\033[2J\\033]52;c;QUFB\\007json'"))

    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("name", ["SEGV", "KILL", "ABRT"])
def test_a_death_by_signal_is_no_empty_answer(playing: Make, name: str) -> None:
    with pytest.raises(BackendError, match=f"died by SIG{name}"):
        ask(playing(f"kill -{name} $$"))


def test_a_hanging_search_ends_with_its_children(playing: Make, tmp_path: Path) -> None:
    backend = playing('sleep 100 & echo $! > "$ROOT/child"; wait', **{"qmd.limits.timeout_ms": 500})

    with pytest.raises(ProgramTimeout):
        ask(backend)

    assert ended(int((tmp_path / "child").read_text()))


def test_an_error_of_qmd_is_told_in_its_own_words(playing: Make) -> None:
    with pytest.raises(BackendError, match="qmd search failed: database disk image is malformed"):
        ask(playing("echo 'SqliteError: database disk image is malformed' >&2; exit 1"))


def test_output_without_json_is_an_error(playing: Make) -> None:
    with pytest.raises(BackendError, match="answered without JSON: Downloading model 3 %"):
        ask(playing("echo 'Downloading model 3 %'"))


def test_no_output_is_an_error(playing: Make) -> None:
    with pytest.raises(BackendError, match="answered nothing"):
        ask(playing(":"))


def test_a_missing_program_is_named_with_its_remedy(tmp_path: Path) -> None:
    backend = backend_for(tmp_path, "no-such-qmd")

    with pytest.raises(BackendError, match="no-such-qmd is not there") as caught:
        backend.sync("manual")

    assert "npm install" in caught.value.remedy
    assert "not there" in (backend.check().error or "")
    backend.close()


def test_a_qmd_that_can_tell_its_version_and_nothing_else_is_not_available(playing: Make, tmp_path: Path) -> None:
    program = tmp_path / "qmd"
    backend = playing(show(FOUND))
    program.write_text('#!/bin/sh\ncase "$3" in --version) echo qmd 2.8.3 ;; *) kill -SEGV $$ ;; esac\n')

    available = backend.check()

    assert available.error == "qmd died by SIGSEGV"
    assert "Node 22" in available.remedy


def test_another_program_of_that_name_is_not_taken_for_qmd(tmp_path: Path) -> None:
    program = tmp_path / "qmd"
    program.write_text("#!/bin/sh\necho 'Quick Mail Daemon 1.0'\n")
    program.chmod(0o755)
    backend = backend_for(tmp_path, str(program))

    assert "no qmd that can be used" in (backend.check().error or "")
    backend.close()


def test_a_lost_collection_is_registered_and_asked_for_once_more(playing: Make, tmp_path: Path) -> None:
    config = "config/qmd/memdeck.yml"
    backend = playing(
        f"if [ -e {config} ]; then {show(FOUND)}\nelse echo 'Collection not found: memory-dir-main' >&2; exit 1; fi"
    )
    (backend.root / config).unlink()
    before = len(calls(tmp_path))

    assert ask(backend) == ["memory/a.md#L1"]

    assert [call.split()[0] for call in calls(tmp_path)[before:]] == ["search", "search"]


def test_a_collection_that_stays_lost_is_an_error(playing: Make) -> None:
    with pytest.raises(BackendError, match="Collection not found"):
        ask(playing("echo 'Collection not found: memory-dir-main' >&2; exit 1"))


def test_searching_runs_nothing_but_the_search(playing: Make, tmp_path: Path) -> None:
    backend = playing(show(FOUND))
    before = len(calls(tmp_path))

    ask(backend)

    (call,) = calls(tmp_path)[before:]
    assert call == "search --json -n 20 -c memory-dir-main -- lemons"


def test_words_that_find_nothing_together_are_searched_one_by_one(playing: Make, tmp_path: Path) -> None:
    backend = playing('case "$1" in search) echo "[]" ;; *) ' + show(FOUND) + " ;;\nesac")

    assert ask(backend, "lemons and the quux") == ["memory/a.md#L1"]

    assert calls(tmp_path)[-1].startswith("query --no-rerank --json -n 20 -c memory-dir-main -- lex: lemons quux")


def test_a_path_that_leads_out_of_the_collection_is_not_read(playing: Make, tmp_path: Path) -> None:
    write_files(tmp_path, {"secret.md": "lemons\n", "ws/other.md": "lemons\n"})
    rows = answer(("../../secret.md", 1, "lemons"), ("../other.md", 1, "lemons"), ("a.md", 1, "alpha lemons"))
    backend = playing(show(rows))

    result = backend.search(SearchRequest("lemons"))

    assert [hit.path for hit in result.hits] == ["memory/a.md"]
    assert result.warning == "2 hits of qmd left out: the files may not be read"


def test_a_file_that_is_named_twice_is_one_hit(playing: Make) -> None:
    assert ask(playing(show(answer(("a.md", 1, "alpha"), ("./a.md", 1, "alpha"))))) == ["memory/a.md#L1"]


def test_a_line_that_qmd_guessed_wrong_is_put_right(playing: Make) -> None:
    hit = playing(show(answer(("b.md", 1, "beta")))).search(SearchRequest("lemons again")).hits[0]

    assert (hit.start_line, hit.end_line, hit.line) == (1, 3, 3)


def test_a_match_of_the_meaning_keeps_the_lines_that_qmd_shows(playing: Make) -> None:
    hit = playing(show(answer(("b.md", 1, "beta")))).search(SearchRequest("citrus")).hits[0]

    assert hit.line == 1


def test_a_match_of_the_meaning_in_a_text_that_is_gone_is_left_out(playing: Make) -> None:
    assert ask(playing(show(answer(("b.md", 1, "something else")))), "citrus") == []


def test_of_scores_out_of_order_none_is_higher_than_the_one_before(playing: Make) -> None:
    rows = answer(("a.md", 1, "alpha"), ("b.md", 1, "beta")).replace('"score": 0.5', '"score": 0.2', 1)

    hits = playing(show(rows)).search(SearchRequest("lemons")).hits

    assert [hit.score for hit in hits] == [0.6, 0.6]


def test_a_score_of_0_for_common_words_does_not_hide_that_all_of_them_are_there(playing: Make) -> None:
    rows = answer(("b.md", 1, "beta")).replace('"score": 0.5', '"score": 0')

    (hit,) = playing(show(rows)).search(SearchRequest("lemons nowhere beta zebra")).hits

    assert hit.score == 0.25
    assert hit.parts.text == 0


def test_snippets_keep_to_their_limit(playing: Make, tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory/a.md": f"{'word ' * 300}lemons {'word ' * 300}\n"})

    hit = playing(show(FOUND), **{"qmd.limits.max_snippet_chars": 80}).search(SearchRequest("lemons")).hits[0]

    assert "lemons" in hit.snippet
    assert len(hit.snippet) <= 80


def test_group_chats_are_refused_by_default(playing: Make, tmp_path: Path) -> None:
    backend = playing(show(FOUND))
    before = calls(tmp_path)

    result = backend.search(SearchRequest("lemons", session_key="agent:main:telegram:group:42"))

    assert result.hits == ()
    assert result.warning == "qmd.scope does not let this session search"
    assert calls(tmp_path) == before


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        (None, True),
        ("agent:main:main", True),
        ("agent:main:telegram:direct:7", True),
        ("agent:main:slack:direct:7:thread:8", True),
        ("agent:main:telegram:group:7", False),
        ("agent:main:discord:channel:7", False),
        ("agent:main:slack:channel:7:thread:8", False),
        ("discord:channel:7", False),
    ],
)
def test_direct_chats_alone_may_search_unless_rules_say_otherwise(key: str | None, allowed: bool) -> None:
    assert may_search(QmdScope(), key) is allowed


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("agent:main:slack:group:7", True),
        ("agent:main:discord:group:7", False),
        ("agent:main:subagent:1", False),
        ("agent:main:main", True),
    ],
)
def test_the_first_rule_that_matches_decides(key: str, allowed: bool) -> None:
    rules = [
        {"action": "deny", "match": {"keyPrefix": "subagent:"}},
        {"action": "allow", "match": {"channel": "slack", "chatType": "group"}},
        {"action": "allow", "match": {"chatType": "direct"}},
    ]
    scope = settings_of({"qmd": {"scope": {"default": "deny", "rules": rules}}}).qmd.scope

    assert may_search(scope, key) is allowed


def test_collections_are_named_by_what_they_hold_and_by_the_agent(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"memory.md": "x", "docs/x.md": "x", "one [1].md": "x"})
    (tmp_path / "ws/link").symlink_to(tmp_path / "ws/docs")
    paths = [{"path": "docs", "name": "Team Docs"}, {"path": "docs", "pattern": "*.md"}, {"path": "absent"}]
    settings = settings_for(tmp_path, "qmd", **{"qmd.paths": paths, "extra_paths": ["link", "one [1].md"]})

    found = wanted_collections(tmp_path / "ws", settings, agent="Ops.2", home=tmp_path, exported=tmp_path / "sessions")

    assert [(one.name, one.root.removeprefix(str(tmp_path)), one.pattern, one.is_there) for one in found] == [
        ("memory-alt-ops-2", "/ws", "memory.md", True),
        ("memory-dir-ops-2", "/ws/memory", "**/*.md", False),
        ("team-docs-ops-2", "/ws/docs", "**/*.md", True),
        ("custom-2-ops-2", "/ws/docs", "*.md", True),
        ("custom-3-ops-2", "/ws/absent", "**/*.md", False),
        ("custom-5-ops-2", "/ws", r"one \[1\].md", True),
        ("sessions-ops-2", "/sessions", "**/*.md", False),
    ]
    assert [one.source for one in found[-2:]] == ["memory", "sessions"]


def test_what_was_forgotten_is_left_out_of_its_collection(tmp_path: Path) -> None:
    write_files(tmp_path / "ws", {"MEMORY.md": "x", "memory/a.md": "x"})
    settings = settings_for(tmp_path, "qmd", extra_paths=[str(tmp_path / "extra")])
    forgotten = ["memory/sub/a [1].md", f"{tmp_path}/extra/b.md", "MEMORY.md"]

    root, memory, extra = wanted_collections(
        tmp_path / "ws", settings, agent="main", home=tmp_path, forgotten=forgotten
    )

    assert root.ignore == ("MEMORY.md", "memory/sub/a \\[1\\].md")
    assert memory.ignore[-1] == "sub/a \\[1\\].md"
    assert extra.ignore[-1] == "b.md"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("how do I cache git credentials?", "cache git credentials?"),
        ("rm -rf build", "rm rf build"),
        ('"exact phrase" lemons', '"exact phrase" lemons'),
        ('"exact   phrase"', '"exact phrase"'),
        ("wild* ^top", "wild top"),
        ("what is it", "what is it"),
        ("multi-agent v1.2.3 C++", "multi-agent v1.2.3 C++"),
        ("path:docs source:memory lemons", "lemons"),
        ("---", ""),
    ],
)
def test_a_query_is_text_and_not_the_syntax_of_qmd(typed: str, words: str) -> None:
    assert all_words(parse_query(typed)) == words


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        ("cache git credentials", ["cache git", "git credentials", "cache", "git", "credentials"]),
        ("lemons", []),
        ('"a phrase" and more words', []),
        ("记忆系统", ["记忆 忆系", "忆系 系统", "记忆", "忆系", "系统"]),
        ("git git git", []),
    ],
)
def test_looser_lines_are_pairs_and_single_words(typed: str, lines: list[str]) -> None:
    assert any_words(parse_query(typed)) == "\n".join(f"lex: {line}" for line in lines)


def test_an_index_without_collections_is_not_ready(playing: Make) -> None:
    with pytest.raises(NotReady):
        ask(playing(show(FOUND), synced=False))


def test_a_switch_that_has_no_effect_is_named(playing: Make) -> None:
    facts = playing(show(FOUND), **{"qmd.mcporter.enabled": True}).facts()

    assert facts["notes"] == ["qmd.mcporter has no effect: qmd is run directly"]
