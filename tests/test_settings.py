"""The layers of settings: defaults, presets, precedence, names, and what is said about wrong values."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core.settings import PRESETS, Settings, field_docs, load_settings, settings_of
from core.settings.keys import leaves
from tests.config_text import Load, loader, problems


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".config" / "memdeck" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def load(tmp_path: Path, config: Path) -> Load:
    return loader(tmp_path, config)


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
        ('sessions.paths = ["~/talks"]', ("memory", "sessions")),
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
