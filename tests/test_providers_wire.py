"""What each provider is sent, byte for byte, and how its replies are read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from core.embedding.base import Vector
from core.errors import BadVector, EmbeddingError
from tests.provider_server import KEY, Answer, ProviderServer, openai_reply, provider_server, remote, unit, vector_of

TEXTS = ["first", "zwei — ü 猫"]


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


def vectors(outcomes: list[Vector | EmbeddingError]) -> np.ndarray:
    assert not [outcome for outcome in outcomes if isinstance(outcome, EmbeddingError)]
    return np.asarray(outcomes)


SENT = [
    (
        "openai",
        {},
        "/v1/embeddings",
        '{"model":"text-embedding-3-small","input":["first","zwei — ü 猫"],"encoding_format":"float"}',
        "/v1/embeddings",
        '{"model":"text-embedding-3-small","input":["ask"],"encoding_format":"float"}',
    ),
    (
        "openai",
        {"model": "text-embedding-3-large", "output_dimensionality": 8},
        "/v1/embeddings",
        '{"model":"text-embedding-3-large","input":["first","zwei — ü 猫"],"encoding_format":"float","dimensions":8}',
        "/v1/embeddings",
        '{"model":"text-embedding-3-large","input":["ask"],"encoding_format":"float","dimensions":8}',
    ),
    (
        "gemini",
        {},
        "/v1beta/models/gemini-embedding-001:batchEmbedContents",
        '{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"first"}]},'
        '"taskType":"RETRIEVAL_DOCUMENT"},{"model":"models/gemini-embedding-001","content":{"parts":'
        '[{"text":"zwei — ü 猫"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}',
        "/v1beta/models/gemini-embedding-001:embedContent",
        '{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"ask"}]},"taskType":"RETRIEVAL_QUERY"}',
    ),
    (
        "gemini",
        {"model": "models/gemini-embedding-2-preview", "output_dimensionality": 8},
        "/v1beta/models/gemini-embedding-2-preview:batchEmbedContents",
        '{"requests":[{"model":"models/gemini-embedding-2-preview","content":{"parts":[{"text":"title: none | text: '
        'first"}]},"outputDimensionality":8},{"model":"models/gemini-embedding-2-preview","content":{"parts":[{"text":'
        '"title: none | text: zwei — ü 猫"}]},"outputDimensionality":8}]}',
        "/v1beta/models/gemini-embedding-2-preview:embedContent",
        '{"model":"models/gemini-embedding-2-preview","content":{"parts":[{"text":"task: search result | query: ask"}]}'
        ',"outputDimensionality":8}',
    ),
    (
        "voyage",
        {"output_dimensionality": 8},
        "/v1/embeddings",
        '{"model":"voyage-4-large","input":["first","zwei — ü 猫"],"input_type":"document","output_dimension":8}',
        "/v1/embeddings",
        '{"model":"voyage-4-large","input":["ask"],"input_type":"query","output_dimension":8}',
    ),
    (
        "mistral",
        {},
        "/v1/embeddings",
        '{"model":"mistral-embed","input":["first","zwei — ü 猫"],"encoding_format":"float"}',
        "/v1/embeddings",
        '{"model":"mistral-embed","input":["ask"],"encoding_format":"float"}',
    ),
    (
        "mistral",
        {"model": "codestral-embed", "output_dimensionality": 8},
        "/v1/embeddings",
        '{"model":"codestral-embed","input":["first","zwei — ü 猫"],"encoding_format":"float","output_dimension":8}',
        "/v1/embeddings",
        '{"model":"codestral-embed","input":["ask"],"encoding_format":"float","output_dimension":8}',
    ),
    (
        "ollama",
        {},
        "/api/embed",
        '{"model":"nomic-embed-text","input":["search_document: first","search_document: zwei — ü 猫"],'
        '"truncate":true}',
        "/api/embed",
        '{"model":"nomic-embed-text","input":["search_query: ask"],"truncate":true}',
    ),
    (
        "ollama",
        {"model": "mxbai-embed-large", "output_dimensionality": 8},
        "/api/embed",
        '{"model":"mxbai-embed-large","input":["first","zwei — ü 猫"],"truncate":true,"dimensions":8}',
        "/api/embed",
        '{"model":"mxbai-embed-large","input":["Represent this sentence for searching relevant passages: ask"],'
        '"truncate":true,"dimensions":8}',
    ),
    (
        "openai-compatible",
        {"query_input_type": "query", "document_input_type": "passage", "output_dimensionality": 8},
        "/v1/embeddings",
        '{"model":"m","input":["first","zwei — ü 猫"],"encoding_format":"float","dimensions":8,"input_type":"passage"}',
        "/v1/embeddings",
        '{"model":"m","input":["ask"],"encoding_format":"float","dimensions":8,"input_type":"query"}',
    ),
    (
        "openai-compatible",
        {"model": "Qwen/Qwen3-Embedding-0.6B"},
        "/v1/embeddings",
        '{"model":"Qwen/Qwen3-Embedding-0.6B","input":["first","zwei — ü 猫"],"encoding_format":"float"}',
        "/v1/embeddings",
        '{"model":"Qwen/Qwen3-Embedding-0.6B","input":["Instruct: Given a web search query, retrieve relevant passages '
        'that answer the query\\nQuery:ask"],"encoding_format":"float"}',
    ),
]


@pytest.mark.parametrize(("provider", "values", "path", "body", "query_path", "query_body"), SENT)
def test_requests_are_what_the_provider_documents(
    server: ProviderServer,
    provider: str,
    values: dict[str, object],
    path: str,
    body: str,
    query_path: str,
    query_body: str,
) -> None:
    embedder = remote(server, provider, **values)
    made = vectors(embedder.embed_documents(TEXTS))
    asked = embedder.embed_query("ask")
    embedder.close()

    documents, query = server.seen
    assert (documents.method, documents.path, documents.body.decode()) == ("POST", path, body)
    assert (query.method, query.path, query.body.decode()) == ("POST", query_path, query_body)
    assert documents.headers["content-type"] == "application/json"
    np.testing.assert_allclose(made, [unit(text) for text in documents.texts], atol=1e-6)
    np.testing.assert_allclose(asked, unit(query.texts[0]), atol=1e-6)


@pytest.mark.parametrize("provider", ["openai", "voyage", "mistral"])
def test_the_key_goes_as_a_bearer(server: ProviderServer, provider: str) -> None:
    embedder = remote(server, provider)
    embedder.embed_query("ask")
    embedder.close()

    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_geminis_key_goes_in_its_own_header_and_not_in_the_address(server: ProviderServer) -> None:
    embedder = remote(server, "gemini")
    embedder.embed_query("ask")
    embedder.close()

    assert server.seen[0].headers["x-goog-api-key"] == KEY
    assert "authorization" not in server.seen[0].headers
    assert KEY not in server.seen[0].path


def test_a_server_of_ones_own_gets_no_key_that_was_not_set_for_it(server: ProviderServer) -> None:
    for provider in ("openai-compatible", "ollama"):
        embedder = remote(server, provider)
        embedder.embed_query("ask")
        embedder.close()

    assert not [seen for seen in server.seen if "authorization" in seen.headers]


def test_headers_of_the_settings_are_sent(server: ProviderServer) -> None:
    embedder = remote(server, "openai-compatible", remote={"headers": {"X-Team": "blue"}, "api_key": "local-key-1"})
    embedder.embed_query("ask")
    embedder.close()

    assert (server.seen[0].headers["x-team"], server.seen[0].headers["authorization"]) == ("blue", "Bearer local-key-1")


def test_vectors_have_length_one_whatever_the_provider_gives(server: ProviderServer) -> None:
    embedder = remote(server, "gemini", output_dimensionality=8)
    made = vectors(embedder.embed_documents(["a", "b"]))
    embedder.close()

    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    assert made.dtype == np.float32


def test_rows_in_another_order_find_their_texts_by_index(server: ProviderServer) -> None:
    def reordered(seen: object) -> Answer:
        reply = openai_reply(TEXTS)
        reply["data"].reverse()
        return Answer(reply)

    server.then(reordered)
    embedder = remote(server)
    made = vectors(embedder.embed_documents(TEXTS))
    embedder.close()

    np.testing.assert_allclose(made, [unit(text) for text in TEXTS], atol=1e-6)


def test_rows_without_an_index_are_taken_as_they_stand(server: ProviderServer) -> None:
    rows = [{"embedding": vector_of(text)} for text in TEXTS]
    server.then(Answer({"data": rows}))
    embedder = remote(server, "openai-compatible")
    made = vectors(embedder.embed_documents(TEXTS))
    embedder.close()

    np.testing.assert_allclose(made, [unit(text) for text in TEXTS], atol=1e-6)


@pytest.mark.parametrize("noise", [b"\xef\xbb\xbf", b"\n\n  \n", b": keep-alive\n\n", b"[INFO] warm\n"])
def test_noise_before_the_json_is_skipped(server: ProviderServer, noise: bytes) -> None:
    server.then(Answer(noise + json.dumps(openai_reply(["ask"])).encode()))
    embedder = remote(server)
    made = embedder.embed_query("ask")
    embedder.close()

    np.testing.assert_allclose(made, unit("ask"), atol=1e-6)


def test_a_packed_reply_is_unpacked(server: ProviderServer) -> None:
    server.then(Answer(openai_reply(["ask"]), packed=True))
    embedder = remote(server)
    made = embedder.embed_query("ask")
    embedder.close()

    np.testing.assert_allclose(made, unit("ask"), atol=1e-6)


BAD = ["[NaN,0,0,0,0,0,0,0]", "[Infinity,0,0,0,0,0,0,0]", "[0,0,0,0,0,0,0,0]", "[]", '["x"]', "null", "[1,2,3]", "{}"]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_vector_is_refused_alone(server: ProviderServer, bad: str) -> None:
    texts = ["a", "b", "c", "d"]

    def spoilt(seen: object) -> Answer:
        reply = json.dumps(openai_reply(texts))
        return Answer(reply.replace(json.dumps(vector_of("b")), bad).encode())

    server.then(spoilt)
    embedder = remote(server)
    outcomes = embedder.embed_documents(texts)
    embedder.close()

    assert isinstance(outcomes[1], BadVector)
    np.testing.assert_allclose(
        [outcomes[0], outcomes[2], outcomes[3]], [unit(text) for text in ("a", "c", "d")], atol=1e-6
    )


def test_a_bad_query_vector_is_an_error(server: ProviderServer) -> None:
    server.then(Answer(b'{"data":[{"index":0,"embedding":[0,0,0]}]}'))
    embedder = remote(server)
    with pytest.raises(BadVector):
        embedder.embed_query("ask")
    embedder.close()


def test_a_model_that_gives_no_usable_vector_fails_as_a_whole(server: ProviderServer) -> None:
    server.rule = lambda seen: Answer({"data": [{"index": i, "embedding": None} for i in range(len(seen.texts))]})
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match="gives no usable vectors") as caught:
        embedder.embed_documents(["a", "b", "c"])
    embedder.close()

    assert not caught.value.retryable


def test_a_length_that_was_not_asked_for_is_named(server: ProviderServer) -> None:
    embedder = remote(server, output_dimensionality=256)
    with pytest.raises(EmbeddingError, match="8 numbers where 256 were expected") as caught:
        embedder.embed_documents(["a", "b"])
    embedder.close()

    assert caught.value.remedy == "unset output_dimensionality"


def test_lone_surrogates_and_nuls_are_not_sent(server: ProviderServer) -> None:
    embedder = remote(server)
    vectors(embedder.embed_documents(["a\ud800b", "c\0d"]))
    embedder.close()

    assert server.seen[0].texts == ["a?b", "c d"]


def test_blank_texts_are_refused_without_a_request(server: ProviderServer) -> None:
    embedder = remote(server)
    outcomes = embedder.embed_documents(["  \n"])
    with pytest.raises(BadVector):
        embedder.embed_query(" ")
    embedder.close()

    assert isinstance(outcomes[0], EmbeddingError)
    assert server.seen == []


def test_equal_texts_are_sent_once(server: ProviderServer) -> None:
    embedder = remote(server)
    made = vectors(embedder.embed_documents(["a", "b", "a"]))
    embedder.close()

    assert server.seen[0].texts == ["a", "b"]
    np.testing.assert_array_equal(made[0], made[2])
