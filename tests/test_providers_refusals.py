"""Replies of a provider that are refused, and requests that it finds too large."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from core.embedding import asking
from core.errors import EmbeddingError, InputTooLarge, ProviderUnavailable, QuotaExhausted
from tests.provider_server import KEY, Answer, ProviderServer, Seen, openai_reply, provider_server, remote, unit


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts that are short."""
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)


# -- refusals


@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage", "mistral"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_where_it_came_from(server: ProviderServer, provider: str, status: int) -> None:
    server.rule = lambda seen: Answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status)
    embedder = remote(server, provider)
    with pytest.raises(ProviderUnavailable, match=rf"{provider} refuses the key \({status}\)") as caught:
        embedder.embed_documents(["a"])
    embedder.close()

    assert f"{provider.upper()}_API_KEY" in caught.value.remedy
    assert len(server.seen) == 1


def test_googles_word_for_a_bad_key_is_understood(server: ProviderServer) -> None:
    error = {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    server.rule = lambda seen: Answer({"error": {**error, "details": [reason]}}, 400)
    embedder = remote(server, "gemini")
    with pytest.raises(ProviderUnavailable, match="refuses the key"):
        embedder.embed_documents(["a", "b"])
    embedder.close()

    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        (
            "openai",
            Answer({"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}, 429),
        ),
        ("voyage", Answer({"detail": "payment required"}, 402)),
        (
            "gemini",
            Answer(
                {"error": {"message": "quota", "details": [{"violations": [{"quotaId": "EmbedRequestsPerDayFree"}]}]}},
                429,
            ),
        ),
    ],
)
def test_a_quota_used_up_is_a_state(server: ProviderServer, provider: str, answer: Answer) -> None:
    server.rule = lambda seen: answer
    embedder = remote(server, provider)
    for _ in range(3):
        with pytest.raises(QuotaExhausted, match=f"the quota of {provider} is used up"):
            embedder.embed_documents(["a"])
    embedder.close()

    assert len(server.seen) == 1


def test_a_model_that_ollama_lacks_is_to_be_pulled(server: ProviderServer) -> None:
    server.rule = lambda seen: Answer({"error": 'model "nomic-embed-text" not found, try pulling it first'}, 404)
    embedder = remote(server, "ollama")
    with pytest.raises(ProviderUnavailable, match="nomic-embed-text") as caught:
        embedder.embed_query("a")
    embedder.close()

    assert caught.value.remedy == "run `ollama pull nomic-embed-text`"


# -- sizes


def limited(items: int, units: int, message: str = "bad request") -> Callable[[Seen], Answer | None]:
    """Refuses more than so many texts, and any text of more characters."""

    def rule(seen: Seen) -> Answer | None:
        if len(seen.texts) > items or any(len(text) > units for text in seen.texts):
            return Answer({"error": {"message": message}}, 400)
        return None

    return rule


def test_a_batch_that_is_too_large_is_halved_until_it_fits(server: ProviderServer) -> None:
    server.rule = limited(10, 1600)
    embedder = remote(server)
    texts = [f"text {number}" for number in range(32)]
    made = embedder.embed_documents(texts)
    taken = [len(seen.texts) for seen in server.seen]
    embedder.embed_documents([f"more {number}" for number in range(32)])
    embedder.close()

    np.testing.assert_allclose(made, [unit(text) for text in texts], atol=1e-6)
    assert taken == [32, 16, 8, 8, 16, 8, 8]
    assert [len(seen.texts) for seen in server.seen[7:]] == [8, 8, 8, 8], "what was learnt is kept"


def test_a_text_that_is_rejected_is_named_alone(server: ProviderServer) -> None:
    server.rule = lambda seen: Answer({"error": {"message": "no"}}, 400) if "odd" in seen.texts else None
    embedder = remote(server)
    outcomes = embedder.embed_documents(["a", "odd", "b"])
    embedder.close()

    assert str(outcomes[1]) == "openai rejects the text (400): no"
    np.testing.assert_allclose([outcomes[0], outcomes[2]], [unit("a"), unit("b")], atol=1e-6)


def test_a_text_that_is_too_long_for_the_provider_is_embedded_in_pieces(server: ProviderServer) -> None:
    server.rule = limited(10, 1600, "maximum context length is 1600")
    embedder = remote(server)
    outcomes = embedder.embed_documents(["x" * 3000, "：" * 2000, "short"])
    embedder.close()

    assert not [outcome for outcome in outcomes if isinstance(outcome, EmbeddingError)]
    pieces = [text for seen in server.seen for text in seen.texts if len(seen.texts) <= 10]
    assert "x" * 1500 in pieces


def test_a_text_that_no_cutting_helps_is_refused_by_name(server: ProviderServer) -> None:
    server.rule = lambda seen: (
        Answer({"error": {"message": "input is too large"}}, 413) if any("x" in text for text in seen.texts) else None
    )
    embedder = remote(server)
    outcomes = embedder.embed_documents(["x" * 10_000, "fine"])
    embedder.close()

    assert isinstance(outcomes[0], InputTooLarge)
    np.testing.assert_allclose(outcomes[1], unit("fine"), atol=1e-6)


def test_a_text_beyond_the_known_limit_is_never_sent_whole(server: ProviderServer) -> None:
    embedder = remote(server)
    limit = embedder.limits.item_bytes
    long = "wörter und sätze " * 5000
    (made,) = embedder.embed_documents([long])
    embedder.close()

    sent = server.embedded()
    assert all(len(text.encode()) <= limit for text in sent)
    assert "".join(sent) == long
    expected = sum(unit(text) * len(text) for text in sent)
    np.testing.assert_allclose(made, expected / np.linalg.norm(expected), atol=1e-5)


def test_requests_stay_within_the_byte_limit(server: ProviderServer) -> None:
    embedder = remote(server, "mistral")
    embedder.embed_documents([str(number) * 3000 for number in range(10, 50)])
    embedder.close()

    assert all(sum(len(text.encode()) for text in seen.texts) <= 32_000 for seen in server.seen)


def test_a_provider_that_takes_nothing_is_told_from_a_text_that_is_odd(server: ProviderServer) -> None:
    server.rule = lambda seen: Answer({"error": {"message": "unknown field encoding_format"}}, 400)
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match=r"openai takes no text at all: .*unknown field") as caught:
        embedder.embed_documents([f"text {number}" for number in range(32)])
    embedder.close()

    assert not caught.value.retryable
    assert len(server.seen) <= 8


MISMATCHES = {
    "short": lambda data: data[:-1],
    "long": lambda data: [*data, data[0]],
    "out of range": lambda data: [{**row, "index": row["index"] + 1} for row in data],
    "half indexed": lambda data: [{"embedding": data[0]["embedding"]}, {**data[0], "index": 7}, *data[2:]],
}


@pytest.mark.parametrize("spoil", MISMATCHES.values(), ids=MISMATCHES)
def test_replies_that_do_not_match_are_refused(
    server: ProviderServer, quick: None, spoil: Callable[[list[object]], list[object]]
) -> None:
    server.rule = lambda seen: Answer({"data": spoil(openai_reply(seen.texts)["data"])})
    embedder = remote(server)
    with pytest.raises(EmbeddingError, match="came back"):
        embedder.embed_documents(["a", "b", "c", "d"])
    embedder.close()

    assert len(server.seen) <= 5


def test_a_row_given_twice_is_never_taken_for_another(server: ProviderServer, quick: None) -> None:
    def spoilt(seen: Seen) -> Answer:
        data = openai_reply(seen.texts)["data"]
        return Answer({"data": [{**row, "index": 0} for row in data]})

    server.rule = spoilt
    embedder = remote(server)
    made = embedder.embed_documents(["a", "b", "c", "d"])
    embedder.close()

    np.testing.assert_allclose(made, [unit(text) for text in "abcd"], atol=1e-6)


def test_a_text_that_a_provider_leaves_out_costs_only_itself(server: ProviderServer, quick: None) -> None:
    server.rule = lambda seen: Answer(openai_reply([text for text in seen.texts if text != "lost"]))
    embedder = remote(server)
    outcomes = embedder.embed_documents(["a", "b", "lost", "c"])
    embedder.close()

    assert "0 vectors came back for 1 texts" in str(outcomes[2])
    np.testing.assert_allclose([outcomes[0], outcomes[1], outcomes[3]], [unit(t) for t in "abc"], atol=1e-6)


def test_what_a_failed_call_had_made_is_not_asked_for_again(server: ProviderServer, quick: None) -> None:
    texts = [f"{number} " + "x" * 20_000 for number in range(8)]
    server.then(lambda seen: None, *[Answer(b"", 500)] * 3)
    embedder = remote(server, "openai")
    with pytest.raises(EmbeddingError):
        embedder.embed_documents(texts)
    made = embedder.embed_documents(texts)
    embedder.close()

    answered = [text for seen in [server.seen[0], *server.seen[4:]] for text in seen.texts]
    assert sorted(answered) == sorted(texts)
    np.testing.assert_allclose(made, [unit(text) for text in texts], atol=1e-6)
