"""The commands about memdeck itself: config, keys, trust, demo, help."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tui.cli.demo import SAMPLE, lay_out
from tui.cli.root import memdeck, run

Deck = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, whose `workspace` is the current folder and whose `config` is the configuration folder."""
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def deck(home: Path, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Runs `memdeck`; returns exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def write_config(home: Path, text: str) -> None:
    folder = home / "config" / "memdeck"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


# -- config


def test_config_shows_where_a_value_came_from(deck: Deck, home: Path) -> None:
    write_config(home, "[query]\nmax_results = 9\n")
    _, out, _ = deck("config", "query.max_results")
    assert out.split()[:3] == ["query.max_results", "9", "config.toml"]


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("query.maxResults", "query.max_results"),
        ("maxResults", "query.max_results"),
        ("agents.defaults.memorySearch.query.maxResults", "query.max_results"),
        ("query.temporalDecay", "query.temporal_decay.enabled"),
        ("memorySearch.remote.openAi", "remote.open_ai.api_key"),
    ],
)
def test_config_takes_a_key_in_any_spelling(deck: Deck, written: str, first: str) -> None:
    code, out, _ = deck("config", written)
    assert (code, out.split()[0]) == (0, first)


def test_config_names_agents_that_are_unknown(deck: Deck, home: Path) -> None:
    write_config(home, '[sessions]\nagents = ["claud-code", "Claude", "clippy"]\n')
    _, _, err = deck("config", "sessions.agents")
    assert err.splitlines() == [
        "warning: sessions.agents: 'claud-code' is not known; did you mean claude-code?",
        "warning: sessions.agents: 'clippy' is not known; known are openclaw, claude-code, codex, pi, omp, gemini, "
        "opencode, aider",
    ]


def test_a_wrong_entry_of_a_list_gets_one_line(deck: Deck, home: Path) -> None:
    write_config(home, 'sources = ["memry"]\n')
    code, _, err = deck("config", "sources")
    assert (code, len(err.splitlines())) == (2, 1)
    assert 'sources[0] = "memry"' in err


@pytest.mark.parametrize("command", [("search", "x"), ("index",)])
def test_a_folder_in_the_place_of_the_index_says_what_to_do(deck: Deck, home: Path, command: tuple[str, ...]) -> None:
    code, _, err = deck(*command, "--store", str(home))
    assert code == 2
    assert "is not a file" in err
    assert "--store" in err.splitlines()[-1]


def test_config_changed_leaves_out_defaults(deck: Deck, home: Path) -> None:
    write_config(home, "[query]\nmax_results = 9\n")
    _, out, _ = deck("config", "--changed")
    assert len(out.splitlines()) == 1


def test_config_says_so_where_nothing_is_changed(deck: Deck) -> None:
    code, out, err = deck("config", "--changed")
    assert (code, out, err) == (0, "", "nothing is changed: every setting has its default\n")
    assert json.loads(deck("config", "--changed", "--json")[1])["settings"] == {}


def test_config_json_has_values_and_origins(deck: Deck) -> None:
    _, out, _ = deck("config", "--json")
    settings = json.loads(out)["settings"]
    assert settings["query.max_results"] == {"value": 6, "origin": {"layer": "default", "where": ""}}
    assert settings["query.min_score"]["value"] is None


def test_config_never_shows_a_key(deck: Deck, home: Path) -> None:
    write_config(home, '[remote]\napi_key = "sk-very-secret-0123456789"\n')
    shown = "".join(deck("config")[1:] + deck("config", "--json")[1:])
    assert "very-secret" not in shown


def test_a_wrong_value_is_one_line_with_code_2(deck: Deck, home: Path) -> None:
    write_config(home, "[query]\nmax_result = 9\n")
    code, _, err = deck("search", "x")
    assert code == 2
    assert err.startswith("memdeck: ")
    assert "max_results" in err
    assert "Traceback" not in err


def test_config_shows_the_rest_beside_a_wrong_value(deck: Deck, home: Path) -> None:
    write_config(home, "[query]\nmax_result = 9\n[chunking]\ntokens = 300\n")
    code, out, err = deck("config", "--changed")
    assert code == 2
    assert "chunking.tokens" in out
    assert "max_result" in err


def test_config_of_an_unknown_key_names_the_nearest(deck: Deck) -> None:
    code, _, err = deck("config", "query.max_result")
    assert code == 2
    assert "query.max_results" in err


# -- keys


def test_keys_shows_the_users_own(deck: Deck, home: Path) -> None:
    write_config(home, '[keymap]\n"app.help" = "f12"\n')
    _, out, _ = deck("keys")
    line = next(line for line in out.splitlines() if "app.help" in line)
    assert line.startswith("f12")
    assert line.endswith("app.help (yours)")


def test_keys_json_has_every_binding(deck: Deck) -> None:
    _, out, _ = deck("keys", "--json")
    assert {"id", "keys", "defaultKeys", "says", "where", "changed"} == json.loads(out)[0].keys()


# -- trust


def test_trust_lets_the_workspace_file_count_until_it_changes(deck: Deck, home: Path) -> None:
    file = home / "workspace" / ".memdeck.toml"
    file.write_text('extra_paths = ["~/notes"]\n')
    assert "notes" not in deck("config", "extra_paths")[1]
    assert deck("trust", "--yes")[0] == 0
    assert "notes" in deck("config", "extra_paths")[1]
    file.write_text('extra_paths = ["~/other"]\n')
    assert "other" not in deck("config", "extra_paths")[1]


def test_trust_asks_and_without_a_terminal_refuses(deck: Deck, home: Path) -> None:
    (home / "workspace" / ".memdeck.toml").write_text('extra_paths = ["~/notes"]\n')
    code, _, err = deck("trust")
    assert code == 2
    assert "--yes" in err


def test_trust_is_taken_back(deck: Deck, home: Path) -> None:
    (home / "workspace" / ".memdeck.toml").write_text('extra_paths = ["~/notes"]\n')
    deck("trust", "--yes")
    assert deck("trust", "--revoke")[0] == 0
    assert "notes" not in deck("config", "extra_paths")[1]


def test_there_is_nothing_to_trust_without_a_file_or_behind_a_link(deck: Deck, home: Path) -> None:
    file = home / "workspace" / ".memdeck.toml"
    assert deck("trust", "--yes")[0] == 1
    file.symlink_to(home / "elsewhere.toml")
    (home / "elsewhere.toml").write_text("")
    assert deck("trust", "--yes")[0] == 2


# -- demo, the app, help


def test_demo_lays_out_the_sample_and_keeps_what_was_changed(deck: Deck, home: Path) -> None:
    folder = home / "sample"
    code, out, _ = deck("demo", "--workspace", str(folder))
    assert (code, out.strip()) == (0, str(folder))
    (folder / "MEMORY.md").write_text("mine\n")
    deck("demo", "--workspace", str(folder))
    assert (folder / "MEMORY.md").read_text() == "mine\n"


def test_demo_does_not_write_into_a_folder_that_holds_something_else(deck: Deck, home: Path) -> None:
    (home / "workspace" / "MEMORY.md").write_text("mine\n")
    assert deck("demo", "--workspace", str(home / "workspace"))[0] == 2
    assert [path.name for path in (home / "workspace").iterdir()] == ["MEMORY.md"] or not (
        home / "workspace" / "memory" / "people"
    ).exists()


def test_the_sample_is_markdown_of_several_languages(tmp_path: Path) -> None:
    assert lay_out(tmp_path / "sample") == len(list(SAMPLE.rglob("*.md"))) >= 15
    text = "".join(path.read_text("utf-8") for path in SAMPLE.rglob("*.md"))
    assert all(word in text for word in ("ERR_LEASE_EXPIRED", "Mandeln", "潮位", "水位", "клин"))


def test_the_app_without_a_terminal_is_refused_with_a_remedy(deck: Deck) -> None:
    code, _, err = deck()
    assert code == 2
    assert err.startswith("memdeck: the app needs a terminal")
    assert "memdeck search" in err


@pytest.mark.parametrize("name", ["", *memdeck.list_commands(None)])  # type: ignore[arg-type]
def test_every_command_has_help_and_takes_the_options_that_name_a_memory(deck: Deck, name: str) -> None:
    code, out, _ = deck(*filter(None, (name, "--help")))
    assert code == 0
    assert all(option in out for option in ("--agent", "--workspace", "--store"))
