"""The command line, called in this process: what each command prints, and the code that it ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli_calls import Deck, caller, stand_in, write_notes
from tui.cli.root import run


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two notes, which is also the current folder; the user's folders are empty."""
    write_notes(tmp_path / "workspace")
    stand_in(tmp_path, monkeypatch)
    return tmp_path / "workspace"


@pytest.fixture
def deck(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Runs `memdeck` with the given arguments in the workspace."""
    return caller(capsys)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose workspace is indexed, for the tests that only read."""
    folder = tmp_path_factory.mktemp("shared")
    write_notes(folder / "workspace")
    with pytest.MonkeyPatch.context() as monkeypatch:
        stand_in(folder, monkeypatch)
        assert run(["index"]) == 0
    return folder


@pytest.fixture
def indexed(shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Runs `memdeck` in the indexed workspace that all share."""
    stand_in(shared, monkeypatch)
    return caller(capsys)


# -- search


def test_a_hit_begins_with_path_and_line(indexed: Deck) -> None:
    ended = indexed("search", "ERR_LEASE_EXPIRED")
    assert ended.code == 0
    assert ended.out.startswith("memory/2026-02-03.md:5  ")


def test_the_line_is_the_one_that_matches(indexed: Deck, shared: Path) -> None:
    path, line = indexed("search", "no-wal").out.split()[0].rsplit(":", 1)
    assert (shared / "workspace" / path).read_text().split("\n")[int(line) - 1] == "Never ship --no-wal."


def test_outside_the_workspace_paths_are_absolute(
    indexed: Deck, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = indexed("search", "Petite", "--workspace", str(shared / "workspace"))
    assert ended.out.startswith(f"{shared}/workspace/MEMORY.md:3  ")


def test_nothing_found_is_code_1_and_prints_nothing_on_standard_output(indexed: Deck) -> None:
    ended = indexed("search", "xylophone")
    assert (ended.code, ended.out) == (1, "")
    assert "nothing found" in ended.err
    alone = indexed("search", "after:2020-01-01")
    assert (alone.code, alone.err) == (1, "warning: filters alone find nothing: add a word\n")


@pytest.mark.parametrize("query", ["", "   "])
def test_a_blank_query_finds_nothing(indexed: Deck, query: str) -> None:
    assert indexed("search", query).code == 1


@pytest.mark.parametrize("query", ['"hello', "NOT", "NEAR(", "*", "a\x00b", "RFC-0042", "path:", "^"])
def test_a_query_is_text_and_never_an_error(indexed: Deck, query: str) -> None:
    assert indexed("search", query).code in (0, 1)


def test_a_query_that_begins_with_a_dash_goes_after_two_dashes(indexed: Deck) -> None:
    assert indexed("search", "--", "--no-wal").out.startswith("memory/2026-02-03.md:6")


def test_an_unknown_option_says_how_to_search_for_it(indexed: Deck) -> None:
    ended = indexed("search", "--no-wal")
    assert ended.code == 2
    assert "memdeck search -- '--no-wal'" in ended.err


def test_several_words_are_one_query(indexed: Deck) -> None:
    assert indexed("search", "Petite", "Ourse").out == indexed("search", "Petite Ourse").out


def test_json_has_the_shape_of_memory_search_with_scores_and_explanation(indexed: Deck) -> None:
    answer = indexed("search", "ERR_LEASE_EXPIRED", "--json").json
    assert {"results", "provider", "model", "citations", "mode"} <= answer.keys()
    hit = answer["results"][0]
    assert {"path", "startLine", "endLine", "line", "score", "snippet", "source"} <= hit.keys()
    assert {"vectorScore", "textScore", "explain", "citation"} <= hit.keys()
    assert hit["citation"].startswith("memory/2026-02-03.md#L")


def test_json_of_nothing_is_code_1(indexed: Deck) -> None:
    ended = indexed("search", "xylophone", "--json")
    assert (ended.code, ended.json["results"]) == (1, [])


def test_a_group_session_gets_no_citation(indexed: Deck) -> None:
    answer = indexed("search", "lease", "--json", "--session-key", "agent:main:group:42").json
    assert "citation" not in answer["results"][0]


def test_a_failure_with_json_has_the_same_keys(deck: Deck, tmp_path: Path) -> None:
    ended = deck("search", "x", "--json", "--workspace", str(tmp_path / "away"))
    assert ended.code == 2
    assert ended.json["disabled"] is True
    assert ended.json["results"] == []
    assert ended.json["error"]
    assert ended.json["action"]


def test_max_results_bounds_the_list(indexed: Deck) -> None:
    assert len(indexed("search", "the", "boat", "lease", "-n", "1", "--json").json["results"]) == 1


@pytest.mark.parametrize("options", [["-n", "0"], ["--min-score", "2"], ["--mode", "magic"]])
def test_values_out_of_range_are_refused(indexed: Deck, options: list[str]) -> None:
    assert indexed("search", "x", *options).code == 2


def test_the_first_search_of_all_indexes_the_words_and_says_so(deck: Deck) -> None:
    ended = deck("search", "lease")
    assert (ended.code, "words are indexed now" in ended.err) == (0, True)


def test_a_search_tells_of_files_that_changed_since(deck: Deck, workspace: Path) -> None:
    deck("index", "--no-vectors")
    (workspace / "memory/later.md").write_text("a newer note\n")
    ended = deck("search", "lease")
    assert (ended.code, "1 file changed since" in ended.err) == (0, True)


def test_sync_brings_the_index_in_step_first(deck: Deck) -> None:
    assert deck("search", "lease", "--sync").code == 0


def test_control_characters_of_a_note_are_shown_as_marks(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "evil.md").write_text("needle \x1b]0;owned\x07 \x9b2J \u202e and [red]markup[/red]\n")
    deck("index")
    ended = deck("search", "needle")
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(ended.out)
    assert "[red]markup[/red]" in ended.out


def test_json_holds_the_raw_text_without_a_character_that_acts(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "evil.md").write_text("needle \x1b[2J \x9b2J \u202e \x7f é 会\n")
    deck("index")
    ended = deck("search", "needle", "--json")
    assert not {"\x1b", "\x9b", "\u202e", "\x7f"} & set(ended.out)
    assert "needle \x1b[2J \x9b2J \u202e \x7f é 会" in ended.json["results"][0]["snippet"]


# -- search --batch


def batch(folder: Path, *lines: str) -> str:
    path = folder / "queries.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_a_batch_answers_line_by_line(indexed: Deck, tmp_path: Path) -> None:
    file = batch(tmp_path, '{"id": "a", "query": "lease"}', "", '{"id": 2, "query": "xylophone"}')
    ended = indexed("search", "--batch", file)
    first, second = map(json.loads, ended.out.splitlines())
    assert ended.code == 0
    assert (first["id"], first["hits"][0]["path"]) == ("a", "memory/2026-02-03.md")
    assert first["hits"][0].keys() == {"path", "startLine", "endLine", "score"}
    assert second == {"id": 2, "hits": []}


def test_a_bad_line_of_a_batch_is_named_and_the_others_are_answered(indexed: Deck, tmp_path: Path) -> None:
    file = batch(tmp_path, "{", "[1]", '{"id": "c"}', "[" * 100_000, '{"id": "d", "query": "lease"}')
    ended = indexed("search", "--batch", file)
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 2
    assert [bool(answer["hits"]) for answer in answers] == [False, False, False, False, True]
    assert all(answer["error"] for answer in answers[:4])
    assert "queries.jsonl:3" in ended.err


def test_a_batch_and_a_query_exclude_each_other(indexed: Deck, tmp_path: Path) -> None:
    assert indexed("search", "x", "--batch", batch(tmp_path)).code == 2
    assert indexed("search").code == 2


# -- get


def test_get_prints_the_cited_lines(indexed: Deck) -> None:
    ended = indexed("get", "memory/2026-02-03.md#L3-L5")
    assert ended.out == "## Gateway\n\nThe lease was refused: ERR_LEASE_EXPIRED, skew 41s.\n"


@pytest.mark.parametrize("place", ["MEMORY.md", "MEMORY.md#L3", "MEMORY.md:3", "MEMORY.md:1-3"])
def test_get_reads_every_form_of_a_citation(indexed: Deck, place: str) -> None:
    ended = indexed("get", place)
    assert ended.code == 0
    assert ended.out.endswith("The boat is called Petite Ourse.\n")


def test_get_takes_what_search_prints(indexed: Deck, shared: Path) -> None:
    place = indexed("search", "Petite").out.split()[0]
    assert indexed("get", place).out == "The boat is called Petite Ourse.\n"
    assert indexed("get", f"{shared}/workspace/{place}").out == "The boat is called Petite Ourse.\n"


def test_get_has_five_outcomes(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "empty.md").touch()
    (workspace / "memory" / "folder.md").mkdir()
    outcomes = {
        place: (deck("get", place).code, deck("get", place, "--json").json["status"])
        for place in ("MEMORY.md", "memory/empty.md", "memory/none.md", "../secret.md", "memory/a.txt")
    }
    assert outcomes == {
        "MEMORY.md": (0, "ok"),
        "memory/empty.md": (0, "empty"),
        "memory/none.md": (1, "missing"),
        "../secret.md": (2, "not_allowed"),
        "memory/a.txt": (2, "not_allowed"),
    }


@pytest.mark.parametrize("lines", ["#L2-L1", "#L0", "#Lx", "#2"])
def test_get_says_that_a_citation_names_no_lines(indexed: Deck, lines: str) -> None:
    answer = indexed("get", f"MEMORY.md{lines}")
    assert (answer.code, "must name lines" in answer.err) == (2, True)


def test_get_says_of_a_folder_that_it_is_one(indexed: Deck) -> None:
    assert "it is a folder" in indexed("get", "memory/").err


def test_status_names_a_file_that_could_be_read_only_in_part(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "latin.md").write_bytes(b"one line\nW\xfcrkner\n")
    deck("index", "--no-vectors")
    out = deck("status").out
    assert "read in part:\n  memory/latin.md: " in out
    assert "1 file could be read only in part" in out


@pytest.mark.parametrize("options", [["--from", "0"], ["--from", "-1"], ["--lines", "0"]])
def test_get_refuses_lines_below_one(indexed: Deck, options: list[str]) -> None:
    assert indexed("get", "MEMORY.md", *options).code == 2


def test_get_shows_marks_and_gives_the_file_itself_with_raw(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "evil.md").write_text("a\tb \x1b[2J\n")
    assert deck("get", "memory/evil.md").out.startswith("a\tb ")
    assert "\x1b" not in deck("get", "memory/evil.md").out
    assert deck("get", "memory/evil.md", "--raw").out == "a\tb \x1b[2J\n"


# -- index


def test_index_says_what_it_did(deck: Deck) -> None:
    ended = deck("index")
    assert ended.code == 0
    assert ended.out.startswith("2 files indexed in ")


def test_index_again_changes_nothing(deck: Deck) -> None:
    deck("index")
    answer = deck("index", "--json").json
    assert (answer["indexed"], answer["unchanged"], answer["chunksAdded"]) == (0, 2, 0)


def test_index_json_has_the_seconds_of_each_part(deck: Deck) -> None:
    answer = deck("index", "--json").json
    assert {"scan", "read", "keyword", "embed", "total"} <= answer["seconds"].keys()
    assert (answer["files"], answer["cancelled"]) == (2, False)


def test_index_names_what_it_left_out(deck: Deck, workspace: Path) -> None:
    (workspace / "memory" / "link.md").symlink_to(workspace / "MEMORY.md")
    (workspace / "memory" / "u16.md").write_bytes("no mark".encode("utf-16-le"))
    ended = deck("index")
    assert ended.code == 0
    assert "skipped: memory/link.md: symlink" in ended.err
    assert "memory/u16.md" in ended.err


def test_a_removed_note_leaves_the_index(deck: Deck, workspace: Path) -> None:
    deck("index")
    (workspace / "memory" / "2026-02-03.md").unlink()
    assert "1 removed" in deck("index").out
    assert deck("search", "ERR_LEASE_EXPIRED").code == 1


def test_index_force_does_all_files_anew(deck: Deck) -> None:
    deck("index")
    answer = deck("index", "--force", "--json").json
    assert (answer["reason"], answer["indexed"]) == ("force", 2)


# -- status, doctor


def test_status_tells_health_and_counts(indexed: Deck) -> None:
    ended = indexed("status")
    assert ended.code == 0
    assert "2 files" in ended.out
    assert "health" in ended.out


def test_status_json_has_the_keys_of_the_reference(indexed: Deck) -> None:
    answer = indexed("status", "--json").json
    assert {"backend", "provider", "model", "requestedProvider", "files", "chunks", "dirty"} <= answer.keys()
    assert {"workspaceDir", "dbPath", "sources", "sourceCounts", "vector", "fts", "cache", "batch"} <= answer.keys()
    assert {"pending", "dbBytes", "watcher", "writer", "failed", "skipped", "health", "custom"} <= answer.keys()


def test_status_of_a_workspace_that_was_never_indexed(deck: Deck) -> None:
    assert deck("status").code == 0


def test_doctor_names_each_check(indexed: Deck) -> None:
    findings = indexed("doctor", "--json").json
    assert all({"check", "ok", "detail"} <= finding.keys() for finding in findings)
    assert len(findings) > 3


# -- where and whose


def test_options_may_stand_before_or_after_the_command(indexed: Deck, tmp_path: Path) -> None:
    store = str(tmp_path / "other.sqlite")
    assert indexed("--store", store, "index").code == 0
    assert indexed("search", "lease", "--store", store).code == 0
    assert indexed("--store", "/nowhere/x.sqlite", "search", "lease", "--store", store).code == 0


def test_agents_have_indexes_of_their_own(indexed: Deck) -> None:
    assert "first search here" in indexed("search", "lease", "--agent", "scout").err


@pytest.mark.parametrize("agent", ["../x", "a/b", ".."])
def test_an_agent_that_is_no_file_name_is_refused(deck: Deck, agent: str) -> None:
    assert deck("search", "lease", "--agent", agent).code == 2


def test_without_a_workspace_the_remedy_is_named(deck: Deck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = deck("search", "x")
    assert ended.code == 2
    assert ended.err.startswith("memdeck: no workspace")
    assert "--workspace DIR" in ended.err


def test_an_unknown_command_names_the_nearest(deck: Deck) -> None:
    ended = deck("serch")
    assert ended.code == 2
    assert "Did you mean 'search'?" in ended.err
