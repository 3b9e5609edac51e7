"""openclaw.json as the lowest layer: what of it counts, what it may never decide, and how it is read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.settings import LoadedSettings, load_settings
from core.settings.files import Unreadable
from core.settings.keys import leaves
from core.settings.openclaw import parse

FIXTURES = Path(__file__).parent / "fixtures" / "settings"
Load = Callable[..., LoadedSettings]


@pytest.fixture
def openclaw(tmp_path: Path) -> Path:
    path = tmp_path / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def load(tmp_path: Path, openclaw: Path) -> Load:
    def load(
        content: object = None, config: str = "", *, environ: Mapping[str, str] | None = None, agent: str = "main"
    ) -> LoadedSettings:
        if content is not None:
            openclaw.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        own = tmp_path / ".config" / "memdeck" / "config.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(config)
        return load_settings(workspace=None, agent=agent, environ=environ or {}, home=tmp_path)

    return load


def search(**values: object) -> dict[str, object]:
    return {"agents": {"defaults": {"memorySearch": values}}}


# Every documented key


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", False),
        ("sources", ("memory", "sessions")),
        ("experimental.session_memory", True),
        ("extra_paths", ("../team-docs", "~/notes")),
        ("multimodal.enabled", True),
        ("multimodal.modalities", ("image",)),
        ("multimodal.max_file_bytes", 10_000_000),
        ("provider", "openai"),
        ("model", "text-embedding-3-large"),
        ("output_dimensionality", 1024),
        ("input_type", "passage"),
        ("query_input_type", "query"),
        ("document_input_type", "document"),
        ("fallback", "gemini"),
        ("remote.base_url", "https://proxy.example/v1"),
        ("remote.batch.enabled", True),
        ("remote.batch.wait", False),
        ("remote.batch.concurrency", 4),
        ("remote.batch.poll_interval_ms", 5000),
        ("remote.batch.timeout_minutes", 30),
        ("remote.batch_timeout_seconds", 90),
        ("indexing.concurrency", 3),
        ("local.model_path", "~/models/bge-small-onnx"),
        ("local.model_cache_dir", "~/models"),
        ("local.context_size", 2048),
        ("store.driver", "sqlite"),
        ("store.vector.enabled", False),
        ("store.vector.extension_path", "/opt/vec0.so"),
        ("store.fts.tokenizer", "trigram"),
        ("chunking.tokens", 300),
        ("chunking.overlap", 60),
        ("sync.on_session_start", False),
        ("sync.on_search", False),
        ("sync.watch", False),
        ("sync.watch_debounce_ms", 2000),
        ("sync.interval_minutes", 5),
        ("sync.sessions.delta_bytes", 50_000),
        ("sync.sessions.delta_messages", 25),
        ("sync.sessions.post_compaction_force", False),
        ("sync.sessions.post_index_sync", "await"),
        ("query.max_results", 8),
        ("query.min_score", 0.4),
        ("query.candidate_multiplier", 5),
        ("query.hybrid.enabled", False),
        ("query.hybrid.vector_weight", 0.6),
        ("query.hybrid.text_weight", 0.4),
        ("query.mmr.enabled", True),
        ("query.mmr.lambda", 0.6),
        ("query.temporal_decay.enabled", True),
        ("query.temporal_decay.half_life_days", 45),
        ("cache.enabled", False),
        ("cache.max_entries", 1234),
        ("citations", "on"),
        ("backend", "qmd"),
        ("qmd.command", "/usr/local/bin/qmd"),
        ("qmd.search_mode", "query"),
        ("qmd.include_default_memory", False),
        ("qmd.update.interval", "10m"),
        ("qmd.update.debounce_ms", 20_000),
        ("qmd.update.on_boot", False),
        ("qmd.update.wait_for_boot_sync", True),
        ("qmd.update.embed_interval", "2h"),
        ("qmd.update.command_timeout_ms", 31_000),
        ("qmd.update.update_timeout_ms", 121_000),
        ("qmd.update.embed_timeout_ms", 122_000),
        ("qmd.limits.max_results", 4),
        ("qmd.limits.max_snippet_chars", 450),
        ("qmd.limits.max_injected_chars", 2200),
        ("qmd.limits.timeout_ms", 5000),
        ("qmd.sessions.enabled", True),
        ("qmd.sessions.export_dir", "~/qmd-sessions"),
        ("qmd.sessions.retention_days", 30),
        ("qmd.scope.default", "allow"),
        ("qmd.mcporter.enabled", True),
        ("qmd.mcporter.server_name", "qmd2"),
        ("qmd.mcporter.start_daemon", False),
        ("flush.enabled", False),
        ("flush.soft_threshold_tokens", 4100),
        ("flush.reserve_tokens_floor", 21_000),
        ("flush.force_flush_transcript_bytes", 3 * 1024 * 1024),
        ("flush.prompt", "Write what lasts."),
        ("flush.system_prompt", "Before compaction."),
        ("flush.model", "anthropic/claude-haiku-4-5"),
        ("excerpt.messages", 25),
        ("sessions.redact_patterns", ("(?i)acme_[a-z]{8}",)),
    ],
)
def test_documented_key(load: Load, key: str, value: object) -> None:
    loaded = load((FIXTURES / "openclaw-documented.json").read_text(), "remote.allow = true")
    assert leaves()[key].value(loaded.settings) == value
    assert loaded.origins[key].layer == "openclaw.json"


def test_the_documented_file_gives_no_warning_and_its_tables(load: Load) -> None:
    loaded = load((FIXTURES / "openclaw-documented.json").read_text(), "remote.allow = true")
    assert loaded.warnings == ()
    remote, qmd = loaded.settings.remote, loaded.settings.qmd
    assert remote.api_key is not None
    assert remote.api_key.get_secret_value() == "sk-documented-key"
    assert remote.header_values() == {"X-Team": "memory"}
    assert [(path.path, path.name, path.pattern) for path in qmd.paths] == [("~/docs", "docs", "**/*.md")]
    (rule,) = qmd.scope.rules
    assert (rule.action, rule.match.chat_type, rule.match.key_prefix) == ("deny", "group", "discord:")


@pytest.mark.parametrize("written", ["300", 300.0])
def test_numbers_are_javascripts(load: Load, written: object) -> None:
    loaded = load(search(chunking={"tokens": written}))
    assert loaded.settings.chunking.tokens == (300 if written == 300.0 else 400)


# JSON5


def test_a_file_written_by_hand(load: Load, tmp_path: Path, openclaw: Path) -> None:
    loaded = load((FIXTURES / "openclaw-by-hand.json").read_text(), agent="research")
    assert loaded.warnings == ()
    assert loaded.settings.extra_paths == ("~/team", "~/papers")
    assert (loaded.settings.query.max_results, loaded.settings.query.min_score) == (9, 0.2)
    assert loaded.settings.sync.watch_debounce_ms == 900
    assert loaded.settings.workspace == "~/notes"
    assert loaded.origins["query.min_score"].where == f"{openclaw}:19"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{\n agents: {\n  x: ] }", ":3 is not JSON5: Unexpected"),
        ("", " is not JSON5"),
        ("[1, 2]", ":1 is not a JSON5 object"),
        ("[" * 3000, " is nested too deeply"),
        ('{"a":' * 90 + "1" + "}" * 90, " is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_warning(load: Load, openclaw: Path, text: str, place: str) -> None:
    loaded = load(text)
    (warning,) = loaded.warnings
    assert warning.startswith(f"{openclaw}{place}")
    assert warning.endswith("none of its settings count")


def test_a_folder_in_its_place_is_a_warning(load: Load, openclaw: Path) -> None:
    openclaw.mkdir()
    assert load().warnings == (f"{openclaw} is not a regular file; none of its settings count",)


def test_openclaws_own_variables_say_where_the_file_is(load: Load, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.json"
    other.write_text(json.dumps(search(query={"maxResults": 3})))
    assert load(environ={"OPENCLAW_CONFIG_PATH": str(other)}).settings.query.max_results == 3


@given(st.text(alphabet="{}[]:,'\"\\/*\n a1.+-", max_size=40))
def test_reading_never_raises_anything_else(text: str) -> None:
    with contextlib.suppress(Unreadable):
        parse(Path("x"), text.encode())


# What is not ours


def test_keys_outside_memory_are_ignored_and_unknown_ones_inside_are_warnings(load: Load, openclaw: Path) -> None:
    content = search(provider="local", maxResultz=3) | {
        "query": {"max_results": 9},
        "gateway": {"port": 1},
        "memory": {"qmd": {"comand": "qmd"}, "citations": "perhaps"},
    }
    content["agents"] |= {"list": [{"id": "main", "model": "x", "tools": {}}]}  # type: ignore[operator]
    loaded = load(json.dumps(content))
    assert loaded.settings.query.max_results == 6
    assert loaded.warnings == (
        f"ignored: agents.defaults.memorySearch.maxResultz = 3: no such setting ({openclaw}:1); "
        "did you mean query.maxResults?",
        f'ignored: memory.qmd.comand = "qmd": no such setting ({openclaw}:1); did you mean qmd.command?',
        f'ignored: memory.citations = "perhaps": must be "on", "off" or "auto" ({openclaw}:1)',
    )


def test_included_files_are_not_followed_and_that_is_said(load: Load, openclaw: Path) -> None:
    loaded = load('{"$include": "./base.json5", "agents": {"defaults": {"$include": "./memory.json5"}}}')
    assert loaded.warnings == (
        f"ignored: $include: other files are not followed ({openclaw}:1)",
        f"ignored: agents.defaults.$include: other files are not followed ({openclaw}:1)",
    )


def test_a_provider_unknown_here_is_a_warning(load: Load) -> None:
    loaded = load(search(provider="bedrock", model="amazon.titan-embed-text-v2:0"))
    assert (loaded.settings.provider, loaded.settings.model) == ("auto", None)
    assert 'provider = "bedrock": must be "auto", "local"' in loaded.warnings[0]


def test_missing_variables_are_warnings_here(load: Load) -> None:
    loaded = load(search(extraPaths=["${TEAM_DOCS}"], query={"maxResults": 3}))
    assert (loaded.settings.extra_paths, loaded.settings.query.max_results) == ((), 3)
    assert "the variable TEAM_DOCS is not set, or empty" in loaded.warnings[0]


def test_a_secret_reference_to_a_variable(load: Load) -> None:
    content = search(provider="openai", remote={"apiKey": {"source": "env", "provider": "default", "id": "KEY"}})
    loaded = load(content, "remote.allow = true", environ={"KEY": "sk-from-env"})
    assert loaded.settings.remote.api_key is not None
    assert loaded.settings.remote.api_key.get_secret_value() == "sk-from-env"


def test_the_store_path_is_never_taken(load: Load) -> None:
    loaded = load(search(store={"path": "/tmp/openclaw.sqlite"}))
    assert loaded.settings.store.path is None
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    "values",
    [
        {"remote": {"allow": True}},
        {"preset": "production"},
        {"sessions": {"agents": ["codex"]}},
        {"sessions": {"paths": ["/"]}},
        {"keymap": {"app.quit": "x"}},
    ],
)
def test_what_only_memdecks_own_settings_decide(load: Load, values: dict[str, object]) -> None:
    loaded = load(search(**values))
    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert "does not count in openclaw.json" in loaded.warnings[0]


def test_a_gguf_model_is_reported_and_ignored(load: Load) -> None:
    model = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
    loaded = load(search(provider="local", local={"modelPath": model}))
    assert (loaded.settings.provider, loaded.settings.local.model_path) == ("local", None)
    assert "a GGUF model cannot be used here" in loaded.warnings[0]
    assert loaded.warnings[0].endswith("the default local model is used")


@pytest.mark.parametrize(
    ("values", "sources"),
    [
        ({"sources": ["memory", "sessions"]}, ("memory",)),
        ({"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}, ("memory", "sessions")),
        ({"sources": ["sessions"]}, ("memory",)),
        ({"experimental": {"sessionMemory": True}}, ("memory",)),
    ],
)
def test_sessions_count_there_only_with_the_switch(
    load: Load, values: dict[str, object], sources: tuple[str, ...]
) -> None:
    assert load(search(**values)).settings.sources == sources


def test_saying_whose_sessions_are_read_adds_them(load: Load) -> None:
    loaded = load(search(sources=["memory"]), 'sessions.agents = ["openclaw"]')
    assert loaded.settings.sources == ("memory", "sessions")
    assert loaded.origins["sources"].layer == "config.toml"


# Text leaves this machine only by memdeck's own settings

REMOTE = {
    "provider": "openai",
    "model": "text-embedding-3-large",
    "remote": {"apiKey": "sk-x", "baseUrl": "https://e.x/v1"},
}


def test_a_provider_named_only_there_sends_nothing_out(load: Load) -> None:
    loaded = load(search(**REMOTE, fallback="gemini"))
    settings = loaded.settings
    assert (settings.provider, settings.fallback, settings.model, settings.remote.api_key) == (
        "auto",
        "none",
        None,
        None,
    )
    assert settings.remote.base_url is None
    assert not settings.remote_chosen
    assert len(loaded.warnings) == 2
    assert 'provider = "openai": sends text to another machine, which openclaw.json alone may not' in loaded.warnings[0]
    assert 'set provider = "openai" or remote.allow = true in ' in loaded.warnings[0]


@pytest.mark.parametrize("config", ["remote.allow = true", 'provider = "openai"'])
def test_it_counts_once_memdecks_settings_choose(load: Load, config: str) -> None:
    settings = load(search(**REMOTE), config).settings
    assert (settings.provider, settings.model, settings.remote.base_url) == (
        "openai",
        "text-embedding-3-large",
        "https://e.x/v1",
    )
    assert settings.remote_chosen


def test_its_key_is_not_handed_to_another_provider(load: Load) -> None:
    loaded = load(search(**REMOTE), 'provider = "voyage"')
    assert (loaded.settings.remote.api_key, loaded.settings.remote.base_url, loaded.settings.model) == (
        None,
        None,
        None,
    )
    assert "written for provider openai, not used with voyage" in loaded.warnings[0]


def test_a_model_for_its_usual_provider_is_not_handed_to_the_local_one(load: Load) -> None:
    assert load(search(model="text-embedding-3-small")).settings.model is None


def test_ollama_on_this_machine_is_taken(load: Load) -> None:
    settings = load(search(provider="ollama", remote={"baseUrl": "http://localhost:11435"})).settings
    assert (settings.provider, settings.local.ollama.base_url) == ("ollama", "http://localhost:11435")
    assert not settings.remote_chosen


@pytest.mark.parametrize(
    "values",
    [
        {"provider": "ollama", "remote": {"baseUrl": "http://gpu.lan:11434"}},
        {"provider": "ollama", "local": {"ollama": {"baseUrl": "http://127.0.0.1.evil.example"}}},
        {"provider": "openai-compatible", "remote": {"baseUrl": "https://api.example/v1"}},
        {"provider": "openai-compatible"},
    ],
)
def test_servers_elsewhere_are_not(load: Load, values: dict[str, object]) -> None:
    loaded = load(search(**values))
    assert loaded.settings.provider == "auto"
    assert not loaded.settings.remote_chosen
    assert "sends text to another machine" in loaded.warnings[0]


def test_ollama_chosen_here_is_not_sent_elsewhere_by_it(load: Load) -> None:
    loaded = load(search(provider="ollama", remote={"baseUrl": "http://gpu.lan:11434"}), 'preset = "private"')
    assert loaded.settings.local.ollama.base_url == "http://127.0.0.1:11434"
    assert not loaded.settings.remote_chosen
    assert "another machine, where openclaw.json alone may not send text" in loaded.warnings[0]
