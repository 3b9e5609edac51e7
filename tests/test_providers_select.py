"""Which remote provider the settings choose, with which key, address and model, and what its vectors are known by."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest

from core.embedding.base import text_goes_to
from core.embedding.prefixes import prefixes_of
from core.embedding.profiles import profile_of
from core.embedding.providers import auto_choice, make_remote, normalised_endpoint
from core.embedding.remote import RemoteEmbedder, Seconds
from core.embedding.select import PROVIDERS, Selection, select_embedder
from core.settings import settings_of
from core.settings.kinds import Provider

CLOUD = ["openai", "gemini", "voyage", "mistral"]


def select(values: dict[str, object], cache_dir: Path, **environ: str) -> Selection:
    return select_embedder(settings_of(values), environ=environ, cache_dir=cache_dir)


def embedder_of(values: dict[str, object], **environ: str) -> RemoteEmbedder:
    settings = settings_of(values)
    embedder = make_remote(settings.provider, settings, environ)  # type: ignore[arg-type]
    assert isinstance(embedder, RemoteEmbedder)
    return embedder


def headers_of(embedder: RemoteEmbedder) -> dict[str, str]:
    return dict(embedder.asker._connection._headers)


def test_every_provider_of_the_settings_can_be_made() -> None:
    assert set(PROVIDERS) == set(typing.get_args(Provider)) - {"auto"}


@pytest.mark.parametrize("provider", CLOUD)
def test_a_missing_key_names_its_variable_and_setting(provider: str, tmp_path: Path) -> None:
    selection = select({"provider": provider}, tmp_path)

    assert (selection.embedder, selection.requested, selection.provider) == (None, provider, "none")
    assert selection.reason == f"{provider} needs an API key; searches go by keyword"
    assert f"{provider.upper()}_API_KEY" in (selection.remedy or "")
    assert "remote." in (selection.remedy or "")


@pytest.mark.parametrize(
    ("provider", "model", "endpoint"),
    [
        ("openai", "text-embedding-3-small", "https://api.openai.com/v1"),
        ("gemini", "gemini-embedding-001", "https://generativelanguage.googleapis.com/v1beta"),
        ("voyage", "voyage-4-large", "https://api.voyageai.com/v1"),
        ("mistral", "mistral-embed", "https://api.mistral.ai/v1"),
        ("ollama", "nomic-embed-text", "http://127.0.0.1:11434"),
    ],
)
def test_defaults_are_those_of_the_provider(provider: str, model: str, endpoint: str, tmp_path: Path) -> None:
    selection = select({"provider": provider}, tmp_path, **{f"{provider.upper()}_API_KEY": "k-12345"})

    assert selection.embedder is not None
    identity = selection.embedder.identity
    assert (identity.provider, identity.model, identity.endpoint, identity.dims) == (provider, model, endpoint, None)
    assert selection.embedder.limits.concurrency == (1 if provider == "ollama" else 4)


def test_a_providers_own_settings_win_over_the_general_ones() -> None:
    general = {"api_key": "general-key", "base_url": "https://proxy.example/v1"}
    own = {"api_key": "own-key", "base_url": "https://own.example/v1", "model": "own-model"}
    embedder = embedder_of(
        {"provider": "openai", "model": "general-m", "remote": {**general, "open_ai": own}},
        OPENAI_API_KEY="env-key",
    )

    assert headers_of(embedder)["authorization"] == "Bearer own-key"
    assert (embedder.identity.model, embedder.identity.endpoint) == ("own-model", "https://own.example/v1")


def test_the_general_key_wins_over_the_environment() -> None:
    embedder = embedder_of({"provider": "voyage", "remote": {"api_key": "general-key"}}, VOYAGE_API_KEY="env-key")

    assert headers_of(embedder)["authorization"] == "Bearer general-key"


def test_googles_second_variable_counts() -> None:
    embedder = embedder_of({"provider": "gemini"}, GOOGLE_API_KEY=" g-key-12345\n")

    assert headers_of(embedder)["x-goog-api-key"] == "g-key-12345"


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ({"VOYAGE_API_KEY": "v", "MISTRAL_API_KEY": "m"}, "voyage"),
        ({"OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}, "openai"),
        ({"GOOGLE_API_KEY": "g", "VOYAGE_API_KEY": "v"}, "gemini"),
        ({}, "local"),
        ({"OPENAI_API_KEY": "  "}, "local"),
    ],
)
def test_auto_takes_the_first_provider_with_a_key_if_allowed(keys: dict[str, str], chosen: str, tmp_path: Path) -> None:
    assert select({"remote": {"allow": True}}, tmp_path, **keys).provider == chosen
    assert select({}, tmp_path, **keys).provider == "local"


def test_auto_takes_a_general_key_for_openais_and_for_no_others() -> None:
    settings = settings_of({"remote": {"allow": True, "api_key": "k-12345"}})

    assert auto_choice(settings, {}) == "openai"
    assert auto_choice(settings_of({"remote": {"allow": True}}), {"OLLAMA_API_KEY": "x"}) is None


def test_a_compatible_server_needs_an_address_and_a_model(tmp_path: Path) -> None:
    without_address = select({"provider": "openai-compatible", "model": "m"}, tmp_path)
    without_model = select({"provider": "openai-compatible", "remote": {"base_url": "http://127.0.0.1:9/v1"}}, tmp_path)

    assert "remote.base_url" in (without_address.remedy or "")
    assert "model" in (without_model.remedy or "")


def test_a_compatible_server_never_gets_openais_key() -> None:
    embedder = embedder_of(
        {"provider": "openai-compatible", "model": "m", "remote": {"base_url": "http://127.0.0.1:9/v1/embeddings/"}},
        OPENAI_API_KEY="sk-openai-1",
    )

    assert "authorization" not in headers_of(embedder)
    assert embedder.identity.endpoint == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    "url", ["http://box:11434", "http://box:11434/", "http://box:11434/v1", "http://box:11434/api"]
)
def test_ollamas_address_may_be_that_of_any_of_its_apis(url: str) -> None:
    embedder = embedder_of({"provider": "ollama", "local": {"ollama": {"base_url": url}}})

    assert embedder.identity.endpoint == "http://box:11434"


@pytest.mark.parametrize("provider", ["openai", "voyage", "mistral", "openai-compatible"])
@pytest.mark.parametrize("ending", ["", "/", "/embeddings", "/embeddings/"])
def test_an_address_may_be_that_of_the_method(provider: str, ending: str) -> None:
    values = {"provider": provider, "model": "m", "remote": {"base_url": f"https://gateway.example/v1{ending}"}}
    embedder = embedder_of(values, OPENAI_API_KEY="sk-a", VOYAGE_API_KEY="pa-b", MISTRAL_API_KEY="c")

    assert embedder.identity.endpoint == "https://gateway.example/v1"
    assert embedder.asker._connection.base_url == "https://gateway.example/v1"


def test_ollamas_own_address_and_model_win() -> None:
    remote = {"base_url": "http://other:1"}
    general = embedder_of({"provider": "ollama", "model": "bge-m3", "remote": remote})
    own = {"ollama": {"base_url": "http://box:11434", "model": "mxbai-embed-large"}}
    both = embedder_of({"provider": "ollama", "model": "bge-m3", "remote": remote, "local": own})

    assert (general.identity.endpoint, general.identity.model) == ("http://other:1", "bge-m3")
    assert (both.identity.endpoint, both.identity.model) == ("http://box:11434", "mxbai-embed-large")


# -- identity


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("HTTPS://API.Example.com:443/v1/", "https://api.example.com/v1"),
        ("http://user:secret@host:80/", "http://host"),
        ("http://[::1]:11434/x?key=secret#f", "http://[::1]:11434/x"),
    ],
)
def test_an_endpoint_is_written_one_way_and_without_credentials(url: str, endpoint: str) -> None:
    assert normalised_endpoint(url) == endpoint


def test_whatever_changes_a_vector_changes_the_identity() -> None:
    base = {"provider": "openai-compatible", "model": "m", "remote": {"base_url": "http://127.0.0.1:9/v1"}}
    variants = [
        {},
        {"model": "nomic-embed-text"},
        {"output_dimensionality": 256},
        {"input_type": "x"},
        {"query_input_type": "x"},
        {"document_input_type": "x"},
        {"remote": {"base_url": "http://127.0.0.1:9/v2"}},
    ]
    keys = [embedder_of({**base, **variant}).identity.key for variant in variants]
    keys.append(embedder_of({"provider": "gemini"}, GEMINI_API_KEY="k-12345").identity.key)
    keys.append(embedder_of({"provider": "voyage"}, VOYAGE_API_KEY="k-12345").identity.key)

    assert len(set(keys)) == len(keys)


def test_a_key_is_no_part_of_the_identity() -> None:
    first, second = (embedder_of({"provider": "openai"}, OPENAI_API_KEY=key) for key in ("k-12345", "k-54321"))

    assert first.identity == second.identity
    assert "k-12345" not in repr(first.identity)


def test_the_length_asked_for_is_the_length_known() -> None:
    assert (
        embedder_of({"provider": "openai", "output_dimensionality": 256}, OPENAI_API_KEY="k-12345").identity.dims == 256
    )


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("hf.co/Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0", "Instruct: ", ""),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("bge-m3", "", ""),
        ("text-embedding-3-small", "", ""),
    ],
)
def test_prefixes_follow_the_model_under_any_name(model: str, query: str, document: str) -> None:
    found = prefixes_of(model)

    assert found.query.startswith(query)
    assert bool(found.query) == bool(query)
    assert found.document == document


def test_profiles_follow_the_model_under_any_name() -> None:
    assert profile_of("openai/text-embedding-3-large") == profile_of("text-embedding-3-small")
    assert profile_of("nothing known").floor == 0.5


# -- where text goes


def test_where_text_goes_is_said(tmp_path: Path) -> None:
    cloud = select({"provider": "openai", "fallback": "local"}, tmp_path, OPENAI_API_KEY="k-12345")
    ollama = select({"provider": "ollama"}, tmp_path)

    assert cloud.text_goes_to == "api.openai.com, or as a fallback: this machine only"
    assert ollama.text_goes_to == "this machine only (127.0.0.1:11434)"
    assert select({}, tmp_path).text_goes_to == "this machine only"
    assert select({"provider": "none"}, tmp_path).text_goes_to == "nowhere"
    assert text_goes_to(None) == "nowhere"


def test_a_server_here_has_the_time_to_load_its_model() -> None:
    here = embedder_of({"provider": "ollama"})
    set_by_hand = embedder_of({"provider": "ollama", "remote": {"timeout_seconds": 5.0}})
    away = embedder_of({"provider": "openai"}, OPENAI_API_KEY="k-12345")

    assert here.seconds == Seconds(300, 600)
    assert set_by_hand.seconds == Seconds(5, 600)
    assert away.seconds == Seconds(60, 120)


# -- the fallback


def test_a_fallback_stands_by(tmp_path: Path) -> None:
    selection = select({"provider": "openai", "model": "m-1", "fallback": "ollama"}, tmp_path, OPENAI_API_KEY="k-12345")

    assert selection.provider == "openai"
    assert selection.standby is not None
    assert (selection.standby.identity.provider, selection.standby.identity.model) == ("ollama", "nomic-embed-text")


def test_a_fallback_gets_nothing_that_was_written_for_the_provider() -> None:
    settings = settings_of(
        {
            "provider": "openai",
            "fallback": "voyage",
            "model": "text-embedding-3-large",
            "output_dimensionality": 256,
            "remote": {"api_key": "openai-key", "base_url": "https://proxy.example/v1", "headers": {"X-A": "secret-1"}},
        }
    )
    embedder = make_remote("voyage", settings, {"VOYAGE_API_KEY": "voyage-key"}, standby=True)
    assert isinstance(embedder, RemoteEmbedder)

    assert headers_of(embedder)["authorization"] == "Bearer voyage-key"
    assert "x-a" not in headers_of(embedder)
    assert embedder.identity.endpoint == "https://api.voyageai.com/v1"
    assert (embedder.identity.model, embedder.identity.dims) == ("voyage-4-large", None)


def test_a_local_fallback_is_not_given_the_providers_model(tmp_path: Path) -> None:
    selection = select({"provider": "openai", "model": "a/b", "fallback": "local"}, tmp_path, OPENAI_API_KEY="k-12345")

    assert selection.standby is not None
    assert selection.standby.identity.model == "all-MiniLM-L6-v2"
    assert selection.standby_reason is None


@pytest.mark.parametrize(
    "values",
    [
        {"provider": "openai", "fallback": "openai"},
        {"provider": "openai", "fallback": "voyage"},
        {"provider": "openai", "model": "m", "fallback": "openai-compatible"},
    ],
)
def test_a_fallback_that_cannot_be_is_explained(values: dict[str, object], tmp_path: Path) -> None:
    selection = select(values, tmp_path, OPENAI_API_KEY="k-12345")

    assert selection.embedder is not None
    assert selection.standby is None
    assert selection.standby_reason


def test_no_provider_is_no_reason_for_a_fallback(tmp_path: Path) -> None:
    assert select({"provider": "none", "fallback": "local"}, tmp_path).standby is None
