"""The layers of settings: defaults, presets, precedence, names, and what is said about wrong values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import PRESETS, LoadedSettings, Settings, field_docs, load_settings, settings_of
from core.settings.keys import ALIASES, find, leaves, variable_of

Load = Callable[..., LoadedSettings]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".config" / "memdeck" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def load(tmp_path: Path, config: Path) -> Load:
    def load(
        text: str = "",
        *,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
        agent: str = "main",
        strict: bool = True,
    ) -> LoadedSettings:
        config.write_text(text, encoding="utf-8")
        (tmp_path / "ws").mkdir(exist_ok=True)
        return load_settings(
            workspace=tmp_path / "ws", agent=agent, environ=environ or {}, home=tmp_path, flags=flags, strict=strict
        )

    return load


def problems(load: Load, text: str = "", **given: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(text, **given)
    return list(caught.value.problems)


# Defaults


def test_without_any_file_every_setting_has_its_default(tmp_path: Path) -> None:
    loaded = load_settings(workspace=None, agent="main", environ={}, home=tmp_path)
    assert loaded.settings == Settings()
    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert (loaded.problems, loaded.warnings, loaded.files) == ((), (), ())


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("enabled", True),
        ("sources", ("memory",)),
        ("provider", "auto"),
        ("fallback", "none"),
        ("remote.allow", False),
        ("remote.batch.concurrency", 2),
        ("remote.batch.poll_interval_ms", 2000),
        ("remote.batch.timeout_minutes", 60),
        ("local.ollama.base_url", "http://127.0.0.1:11434"),
        ("chunking.tokens", 400),
        ("chunking.overlap", 80),
        ("sessions.chunking.tokens", 200),
        ("sessions.chunking.overlap", 40),
        ("sessions.agents", ()),
        ("sync.watch_debounce_ms", 1500),
        ("sync.interval_minutes", 0),
        ("sync.sessions.delta_bytes", 100_000),
        ("sync.sessions.delta_messages", 50),
        ("query.max_results", 6),
        ("query.min_score", None),
        ("query.candidate_multiplier", 4),
        ("query.rule", "standard"),
        ("query.deadline_ms", 3000),
        ("query.matrix_mb", 512),
        ("query.mmr.lambda", 0.7),
        ("query.temporal_decay.half_life_days", 30),
        ("cache.max_entries", 50_000),
        ("citations", "auto"),
        ("backend", "builtin"),
        ("multimodal.max_file_bytes", 10 * 1024 * 1024),
        ("flush.reserve_tokens_floor", 20_000),
        ("flush.soft_threshold_tokens", 4000),
        ("flush.force_flush_transcript_bytes", 2 * 1024 * 1024),
        ("excerpt.messages", 15),
    ],
)
def test_default(key: str, default: object) -> None:
    assert leaves()[key].value(Settings()) == default


# Presets

PRESET_VALUES = {
    "production": {
        "provider": "openai",
        "fallback": "ollama",
        "chunking.tokens": 256,
        "chunking.overlap": 32,
        "cache.max_entries": 10_000,
        "query.candidate_multiplier": 3,
        "query.mmr.lambda": 0.5,
        "query.temporal_decay.half_life_days": 90,
        "sync.interval_minutes": 15,
        "sources": ("memory", "sessions"),
        "sync.sessions.delta_bytes": 10_000,
        "sync.sessions.delta_messages": 20,
    },
    "private": {
        "provider": "ollama",
        "model": "nomic-embed-text",
        "chunking.tokens": 512,
        "chunking.overlap": 64,
        "query.hybrid.vector_weight": 0.5,
        "query.hybrid.text_weight": 0.5,
        "cache.max_entries": 5000,
        "sync.interval_minutes": 60,
        "sync.sessions.delta_bytes": 50_000,
        "sync.sessions.delta_messages": 50,
    },
    "frugal": {
        "provider": "local",
        "chunking.tokens": 512,
        "chunking.overlap": 0,
        "query.hybrid.vector_weight": 0.3,
        "query.hybrid.text_weight": 0.7,
        "query.candidate_multiplier": 2,
        "cache.max_entries": 2000,
        "sync.interval_minutes": 60,
    },
    "classic": {
        "query.rule": "classic",
        "query.min_score": 0.35,
        "query.hybrid.vector_weight": 0.7,
        "query.hybrid.text_weight": 0.3,
        "query.candidate_multiplier": 4,
        "query.max_results": 6,
        "chunking.tokens": 400,
        "chunking.overlap": 80,
    },
}


@pytest.mark.parametrize(
    ("preset", "key", "value"),
    [(preset, key, value) for preset, values in PRESET_VALUES.items() for key, value in values.items()],
)
def test_preset_value(load: Load, preset: str, key: str, value: object) -> None:
    loaded = load(f'preset = "{preset}"')
    assert leaves()[key].value(loaded.settings) == value
    assert loaded.origins[key].layer == f"preset:{preset}"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_value_of_a_preset_is_allowed(load: Load, preset: str) -> None:
    values = [(key, list(value) if isinstance(value, tuple) else value) for key, value in PRESETS[preset].items()]
    written = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values)
    assert replace(load(written).settings, preset=preset) == load("", flags={"preset": preset}).settings


def test_a_preset_stands_below_config_wherever_it_is_named(load: Load) -> None:
    loaded = load("[chunking]\ntokens = 300", environ={"MEMDECK_PRESET": "private"})
    assert (loaded.settings.chunking.tokens, loaded.settings.chunking.overlap) == (300, 64)
    assert loaded.origins["chunking.overlap"].where == "MEMDECK_PRESET"


def test_an_unknown_preset_gets_the_nearest_name(load: Load, config: Path) -> None:
    assert problems(load, 'preset = "prod"') == [
        f'preset = "prod": must be "classic", "frugal", "private" or "production" ({config}:1); '
        'did you mean "production"?'
    ]


# Precedence


def test_later_layers_win(load: Load, tmp_path: Path) -> None:
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text('{"memorySearch": {"query": {"maxResults": 10}}}')
    assert load("").settings.query.max_results == 10
    (tmp_path / "ws").mkdir(exist_ok=True)
    config = "[query]\nmax_results = 12"
    assert load('preset = "classic"').settings.query.max_results == 6
    assert load(f'preset = "classic"\n{config}').settings.query.max_results == 12
    (tmp_path / "ws" / ".memdeck.toml").write_text("[query]\nmax_results = 13")
    assert load(config).settings.query.max_results == 13
    environ = {"MEMDECK_QUERY_MAX_RESULTS": "14"}
    assert load(config, environ=environ).settings.query.max_results == 14
    flagged = load(config, environ=environ, flags={"query.max_results": 15})
    assert flagged.settings.query.max_results == 15
    assert str(flagged.origins["query.max_results"]) == "flag (command line)"


def test_the_origin_names_layer_file_and_line(load: Load, config: Path) -> None:
    origin = load("# comment\n\n[query]\nmax_results = 3 # few").origins["query.max_results"]
    assert (origin.layer, origin.where) == ("config.toml", f"{config}:4")


def test_keys_of_the_keymap_are_merged_across_layers(load: Load) -> None:
    loaded = load('[keymap]\napp.quit = "x"\n"app.help" = "h"', flags={"keymap": {"app.quit": "q"}})
    assert loaded.settings.keymap == {"app.quit": "q", "app.help": "h"}


def test_files_read_are_listed(load: Load, config: Path) -> None:
    assert load("").files == (config,)


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


# Wrong values


def test_all_problems_at_once(load: Load, config: Path) -> None:
    text = """
provder = "openai"
citations = "maybe"
[query]
max_results = "many"
max_result = 3
[query.mmr]
lambda = 1.5
[sync]
watch = 1
[qurey]
max_results = 3
"""
    assert sorted(problems(load, text)) == [
        f'citations = "maybe": must be "on", "off" or "auto" ({config}:3)',
        f'provder = "openai": no such setting ({config}:2); did you mean provider?',
        f"query.max_result = 3: no such setting ({config}:6); did you mean query.max_results?",
        f'query.max_results = "many": must be a whole number from 1 to 200 ({config}:5)',
        f"query.mmr.lambda = 1.5: must be a number from 0 to 1 ({config}:8)",
        f"qurey: no such setting ({config}:11); did you mean query?",
        f"sync.watch = 1: must be true or false ({config}:10)",
    ]


def test_without_strict_the_right_values_count_and_the_wrong_are_listed(load: Load) -> None:
    loaded = load("query.max_results = 3\nquery.deadline_ms = -1\nchunking.tokens = true", strict=False)
    assert loaded.settings.query.max_results == 3
    assert loaded.settings.query.deadline_ms == 3000
    assert len(loaded.problems) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('provider = "opnai"', 'did you mean "openai"?'),
        ('sources = ["memory", "session"]', 'sources[1] = "session": must be "memory" or "sessions"'),
        ('sources = "memory"', 'sources = "memory": must be a list of "memory" and/or "sessions"'),
        ("query = 3", "query = 3: must be a table"),
        ("query.min_score = true", "must be a number from 0 to 1"),
        ("chunking.tokens = 300.0", "must be a whole number from 1 to 8192"),
        ('[[agents.list]]\nname = "x"', "agents.list[0].id: must name an agent"),
        ("query.min_score = nan", "must be a number from 0 to 1"),
        ("chunking.tokens = 2026-01-01", "must be a whole number from 1 to 8192"),
        ("chunking = { tokens = 100, overlap = 100 }", "must be less than chunking.tokens, which is 100"),
        ('remote.base_url = "ftp://x"', "must be an http:// or https:// address"),
        ('sessions.redact_patterns = ["("]', "must be a regular expression"),
        ('qmd.update.interval = "often"', 'must be a duration like "30s"'),
        ('local.model_path = "~/m.gguf"', "must be an ONNX model, a GGUF file cannot be used"),
        ("memory.query.maxResult = 3", "did you mean query.maxResults?"),
        ("tokens = 300", "did you mean chunking.tokens?"),
        ('store.path = "~/.openclaw/memory/{agentId}.sqlite"', "must not lie among OpenClaw's own files"),
        ('qmd.paths = [{ name = "x" }]', "qmd.paths[0].path: is missing"),
    ],
)
def test_what_a_wrong_value_is_told(load: Load, text: str, line: str) -> None:
    assert line in problems(load, text)[0]


def test_many_unknown_keys_are_told_quickly(load: Load) -> None:
    assert len(problems(load, "".join(f"unknown_{number} = 1\n" for number in range(30_000)))) == 30_000


def test_every_problem_is_one_line_without_control_characters(load: Load) -> None:
    for line in problems(load, '"a\\nb\\u001b[2J" = 1\ncitations = "x\\n\\u001b]0;t\\u202e"'):
        assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('remote.apikye = "sk-live-0123456789abcdef"', "0123456789"),
        ('provider = "sk-live-0123456789abcdef"', "0123456789"),
        ('remote.headers = "Bearer abcdef"', "abcdef"),
        ("remote.api_key = 8675309", "8675309"),
        ('remote.base_url = "https://user:hunter2@host"', "hunter2"),
        ('remote.base_url = "https://host/?code=hunter2"', "hunter2"),
        ('remote = { headers = { "Bad Name" = "hunter2" } }', "hunter2"),
        ('citations = "${TOKEN}"', "hunter2"),
    ],
)
def test_a_problem_never_shows_a_secret(load: Load, text: str, secret: str) -> None:
    assert all(secret not in line for line in problems(load, text, environ={"TOKEN": "hunter2"}))


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"a = 1\nb = = 2\n", 2, "is not TOML"),
        (b"a = 1\na = 2\n", 2, "is not TOML"),
        (b"x = '\xff'\n", 1, "is not UTF-8 text"),
        (b"a = " + b"[" * 5000, None, "is nested too deeply"),
        (b"a = " + b"9" * 5000, None, "is not TOML"),
        (b'a = """\nnever ends\n', None, "is not TOML"),
    ],
)
def test_a_config_that_cannot_be_parsed(load: Load, config: Path, data: bytes, line: int | None, reason: str) -> None:
    config.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])
    (problem,) = caught.value.problems
    assert problem.startswith(f"{config}:{line} " if line else str(config))
    assert reason in problem


def test_a_config_that_is_no_file(config: Path) -> None:
    config.mkdir()
    with pytest.raises(SettingsError, match="is not a regular file"):
        load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])


def test_a_config_with_a_byte_order_mark_and_crlf(load: Load, config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbf[query]\r\nmax_results = 3\r\n")
    loaded = load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])
    assert loaded.settings.query.max_results == 3
    assert loaded.origins["query.max_results"].where == f"{config}:2"


@pytest.mark.parametrize("agent", ["", "../x", "a/b", "-x", "a" * 65, "a\0"])
def test_an_agent_that_is_no_name(load: Load, agent: str) -> None:
    assert problems(load, agent=agent)[0].startswith("agent = ")


# What depends on other values


@pytest.mark.parametrize(
    ("text", "overlap"),
    [
        ("chunking.tokens = 100", 20),
        ("chunking.tokens = 1000", 80),
        ("chunking = { tokens = 100, overlap = 99 }", 99),
        ('preset = "private"\nchunking.tokens = 50', 10),
    ],
)
def test_the_overlap_fits_the_tokens(load: Load, text: str, overlap: int) -> None:
    assert load(text).settings.chunking.overlap == overlap


def test_two_weights_of_zero_weigh_nothing(load: Load) -> None:
    loaded = load("query.hybrid.vector_weight = 0\nquery.hybrid.text_weight = 0")
    assert loaded.settings.query.hybrid.vector_weight is None
    assert "are both 0" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ('sessions.agents = ["codex"]', ("memory", "sessions")),
        ('sources = ["memory"]\nsessions.agents = ["codex"]', ("memory",)),
        ("experimental.sessionMemory = true", ("memory", "sessions")),
        ('sources = ["memory", "sessions"]\nexperimental.sessionMemory = false', ("memory",)),
        ('sources = ["sessions"]', ("sessions",)),
        ("", ("memory",)),
    ],
)
def test_sessions_join_when_asked_for(load: Load, text: str, sources: tuple[str, ...]) -> None:
    assert load(text).settings.sources == sources


def test_a_key_is_not_handed_to_another_provider(load: Load, config: Path) -> None:
    text = 'provider = "openai"\nmodel = "text-embedding-3-large"\n[remote]\napi_key = "sk-openai"\nallow = true'
    loaded = load(text, environ={"MEMDECK_PROVIDER": "voyage"})
    assert (loaded.settings.remote.api_key, loaded.settings.model) == (None, None)
    assert loaded.warnings == (
        f"model, remote.api_key: written for provider openai, not used with voyage ({config}:2)",
    )


def test_the_model_of_a_preset_goes_with_its_provider(load: Load) -> None:
    assert load('preset = "private"\nprovider = "local"').settings.model is None
    assert load('preset = "private"\nmodel = "mxbai-embed-large"').settings.model == "mxbai-embed-large"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", False),
        ("remote.allow = true", True),
        ('provider = "openai"', True),
        ('fallback = "gemini"', True),
        ('preset = "production"', True),
        ('preset = "private"', False),
        ('provider = "ollama"\nlocal.ollama.base_url = "http://gpu.lan:11434"', True),
        ('provider = "openai-compatible"\nremote.base_url = "http://localhost:1234/v1"', False),
        ('provider = "openai-compatible"\nremote.base_url = "https://api.example/v1"', True),
        ('local.ollama.base_url = "http://gpu.lan:11434"', False),
    ],
)
def test_whether_text_may_leave_this_machine(load: Load, text: str, chosen: bool) -> None:
    assert load(text).settings.remote_chosen is chosen


# What is shown


def test_rows_mask_every_secret(load: Load) -> None:
    loaded = load(
        '[remote]\napi_key = "sk-hunter1"\nheaders = { Authorization = "Bearer hunter2" }\n'
        '[remote.gemini]\napi_key = "hunter3"'
    )
    rows = {key: (value, origin.layer) for key, value, origin in loaded.as_rows()}
    assert rows["remote.api_key"] == ('"***"', "config.toml")
    assert rows["remote.headers"] == ('{"Authorization": "***"}', "config.toml")
    assert rows["query.max_results"] == ("6", "default")
    assert rows["model"] == ("unset", "default")
    for text in (str(loaded.as_rows()), repr(loaded), str(loaded.settings), loaded.settings.fingerprint()):
        assert "hunter" not in text


@pytest.mark.parametrize("preset", PRESETS)
def test_loaded_settings_are_as_good_as_checked_ones(load: Load, preset: str) -> None:
    settings = load(f'preset = "{preset}"\nqmd.paths = [{{ path = "a" }}]\nkeymap.app.quit = "q"').settings
    assert settings_of(asdict(settings)) == settings


def test_rows_are_all_settings(load: Load) -> None:
    assert [key for key, _, _ in load().as_rows()] == list(leaves())


def test_fingerprints_differ_exactly_where_settings_do(load: Load) -> None:
    base, same = load('remote.api_key = "a"').settings, load('remote.apiKey = "a"').settings
    other = load('remote.api_key = "b"').settings
    assert base.fingerprint() == same.fingerprint() != other.fingerprint()


def test_every_setting_is_documented() -> None:
    assert [doc.key for doc in field_docs() if not doc.doc.endswith(".")] == []
    assert [doc.key for doc in field_docs()] == list(leaves())


def test_a_row_of_the_documentation() -> None:
    docs = {doc.key: doc for doc in field_docs()}
    assert docs["query.max_results"].type == "a whole number from 1 to 200"
    assert docs["query.max_results"].default == "6"
    assert docs["query.max_results"].doc == "Hits that a search returns at most."
    assert docs["query.mmr.lambda"].default == "0.7"


def test_importing_settings_loads_no_parser() -> None:
    code = (
        "import sys; before = set(sys.modules); import core.settings;"
        "print([m for m in ('json5', 'tomlkit', 'tomllib', 'pydantic') if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
