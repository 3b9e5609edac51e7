"""The names that settings go by: spellings, aliases, agents, variables and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.settings.keys import ALIASES, find, leaves, variable_of
from tests.config_text import Load, loader, problems


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".config" / "memdeck" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def load(tmp_path: Path, config: Path) -> Load:
    return loader(tmp_path, config)


# Names


@pytest.mark.parametrize(
    "text",
    [
        "query.max_results = 9",
        '"query.max_results" = 9',
        "[query]\nmaxResults = 9",
        "[memory.query]\nmax_results = 9",
        "[memory.search.query]\nmaxResults = 9",
        "[memory.search]\nmaxResults = 9",
        "[memory_search.query]\nmax_results = 9",
        "[agents.defaults.memorySearch.query]\nmaxResults = 9",
        "[agents.defaults.memory_search]\nquery = { max_results = 9 }",
        '[[agents.list]]\nid = "main"\n[agents.list.memorySearch.query]\nmaxResults = 9',
        "[agents.entries.main.memory.search.query]\nmaxResults = 9",
    ],
)
def test_a_key_under_any_of_its_names(load: Load, text: str) -> None:
    assert load(text).settings.query.max_results == 9


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("indexing.concurrency = 3", "indexing.concurrency", 3),
        ("remote.nonBatchConcurrency = 3", "indexing.concurrency", 3),
        ('local.ollama.baseUrl = "http://gpu:11434"', "local.ollama.base_url", "http://gpu:11434"),
        ('memory.citations = "off"', "citations", "off"),
        ('memory.backend = "qmd"', "backend", "qmd"),
        ('memory.qmd.searchMode = "query"', "qmd.search_mode", "query"),
        ('memory.qmd.update.interval = "90s"', "qmd.update.interval", "90s"),
        ("query.hybrid.mmr.lambda = 0.1", "query.mmr.lambda", 0.1),
        ("query.hybrid.temporalDecay.halfLifeDays = 10", "query.temporal_decay.half_life_days", 10),
        ("query.hybrid.candidateMultiplier = 7", "query.candidate_multiplier", 7),
        ("experimental.sessionMemory = true", "sources", ("memory", "sessions")),
        ('multimodal.maxFileBytes = "5 MiB"', "multimodal.max_file_bytes", 5 * 1024 * 1024),
    ],
)
def test_alias(load: Load, text: str, key: str, value: object) -> None:
    assert leaves()[key].value(load(text).settings) == value


def test_the_key_of_one_provider_in_camel_case(load: Load) -> None:
    loaded = load('[remote.openAi]\napiKey = "sk-1234"\n[remote.openai]\nbaseUrl = "https://proxy.example"')
    assert loaded.settings.remote.open_ai.api_key is not None
    assert loaded.settings.remote.open_ai.api_key.get_secret_value() == "sk-1234"
    assert loaded.settings.remote.open_ai.base_url == "https://proxy.example"


def test_aliases_lead_to_settings() -> None:
    assert [alias for alias, target in ALIASES.items() if find(alias) is None or find(target) is None] == []


def test_an_agents_own_values_replace_and_its_extra_paths_are_added(load: Load) -> None:
    text = """
    extra_paths = ["a", "b"]
    query.max_results = 4
    [[agents.list]]
    id = "research"
    [agents.list.memorySearch]
    extraPaths = ["b", "c"]
    query = { maxResults = 11 }
    """
    research, main = load(text, agent="research").settings, load(text, agent="main").settings
    assert (research.extra_paths, research.query.max_results) == (("a", "b", "c"), 11)
    assert (main.extra_paths, main.query.max_results) == (("a", "b"), 4)


def test_one_setting_under_two_names_must_agree(load: Load, config: Path) -> None:
    assert load("query.max_results = 4\nmemory.maxResults = 4").settings.query.max_results == 4
    assert problems(load, "query.max_results = 4\nmemory.maxResults = 5") == [
        f"memory.maxResults: already set as query.max_results ({config}:1); keep one of them ({config}:2)"
    ]


# Environment


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("MEMDECK_PROVIDER", "local", "provider", "local"),
        ("MEMDECK_QUERY_MAX_RESULTS", "9", "query.max_results", 9),
        ("MEMDECK_QUERY__MAX_RESULTS", "9", "query.max_results", 9),
        ("MEMDECK_QUERY__MMR__LAMBDA", "0.25", "query.mmr.lambda", 0.25),
        ("MEMDECK_QUERY_HYBRID_MMR_ENABLED", "yes", "query.mmr.enabled", True),
        ("MEMDECK_SYNC_WATCH", "0", "sync.watch", False),
        ("MEMDECK_SESSIONS_AGENTS", "codex, pi", "sessions.agents", ("codex", "pi")),
        ("MEMDECK_EXTRA_PATHS", '["a,b", "c"]', "extra_paths", ("a,b", "c")),
        ("MEMDECK_KEYMAP", '{"app.quit": "q"}', "keymap", {"app.quit": "q"}),
        ("MEMDECK_STORE", "/tmp/x.sqlite", "store.path", "/tmp/x.sqlite"),
        ("MEMDECK_STORE_PATH", "/tmp/x.sqlite", "store.path", "/tmp/x.sqlite"),
        ("MEMDECK_MEMORY_SEARCH_CITATIONS", "on", "citations", "on"),
    ],
)
def test_variable(load: Load, name: str, text: str, key: str, value: object) -> None:
    loaded = load(environ={name: text})
    assert leaves()[key].value(loaded.settings) == value
    assert str(loaded.origins[key]) == f"environment ({name})"


def test_every_setting_has_a_variable_of_its_own(load: Load) -> None:
    assert len({variable_of(leaf) for leaf in leaves().values()}) == len(leaves())


def test_an_empty_variable_sets_nothing(load: Load) -> None:
    assert load(environ={"MEMDECK_MODEL": ""}).settings.model is None


def test_a_variable_with_a_wrong_value(load: Load) -> None:
    assert problems(load, environ={"MEMDECK_QUERY_MAX_RESULTS": "many"}) == [
        'MEMDECK_QUERY_MAX_RESULTS = "many": must be a whole number from 1 to 200 (environment)'
    ]


@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_a_variable_that_is_nested_too_deeply(load: Load, depth: int) -> None:
    (problem,) = problems(load, environ={"MEMDECK_KEYMAP": '{"a":' * depth + "1" + "}" * depth})
    assert "must be a table of names and texts" in problem


def test_a_variable_that_is_not_utf8(load: Load) -> None:
    (problem,) = problems(load, environ={"MEMDECK_EXTRA_PATHS": "/n/\udcff"})
    assert problem.isprintable()


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(load: Load) -> None:
    assert load(environ={"MEMDECK_QUERY_MAX_RESULT": "3", "MEMDECK_LOG": "debug"}).warnings == (
        "MEMDECK_QUERY_MAX_RESULT: no such setting (environment); did you mean MEMDECK_QUERY_MAX_RESULTS?",
    )


def test_variables_in_values_are_replaced_and_doubled_dollars_are_not(load: Load) -> None:
    loaded = load(
        'extra_paths = ["${NOTES}/a", "$${NOTES}", "$5"]\nquery.max_results = "${COUNT}"',
        environ={"NOTES": "/n", "COUNT": "7"},
    )
    assert loaded.settings.extra_paths == ("/n/a", "${NOTES}", "$5")
    assert loaded.settings.query.max_results == 7


def test_a_missing_variable_is_one_line_that_names_it(load: Load, config: Path) -> None:
    assert problems(load, '\nstore.path = "${NOWHERE}/x.sqlite"') == [
        f'store.path = "${{NOWHERE}}/x.sqlite": the variable NOWHERE is not set, or empty ({config}:2)'
    ]


def test_a_missing_variable_for_a_key_leaves_memdeck_usable(load: Load, config: Path) -> None:
    loaded = load('[remote]\napi_key = "${NO_KEY}"\nheaders = { "X-A" = "a", "X-B" = "${NO_KEY}" }')
    assert loaded.settings.remote.api_key is None
    assert loaded.settings.remote.header_values() == {"X-A": "a"}
    assert loaded.warnings[0] == (
        f"remote.api_key: the variable NO_KEY is not set, or empty ({config}:2); no key is sent from here"
    )


# Flags


def test_flags_may_be_text_lists_or_missing(load: Load) -> None:
    loaded = load(flags={"query.maxResults": "9", "extra_paths": ["a"], "model": None})
    assert (loaded.settings.query.max_results, loaded.settings.extra_paths, loaded.settings.model) == (9, ("a",), None)
