"""Keys, headers, proxies and certificates: none of their secrets appears anywhere, what is wrong with them is named."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest

from core.embedding import asking
from core.errors import EmbeddingError, ProviderUnavailable
from tests.provider_server import KEY, Answer, ProviderServer, provider_server, remote


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts that are short."""
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)


def test_the_key_appears_nowhere(
    server: ProviderServer, quick: None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    leaky = {"error": {"message": f"bad {KEY} and Bearer {KEY} and header-secret-77"}}
    shown: list[str] = []
    for status in (301, 400, 401, 403, 404, 413, 418, 429, 500):
        server.rule = lambda seen, status=status: Answer(leaky, status, {"location": f"http://{KEY}.example/"})
        for provider in ("openai", "gemini"):
            embedder = remote(server, provider, remote={"headers": {"X-Secret": "header-secret-77"}})
            shown.append(repr(vars(embedder)) + repr(vars(embedder.asker)) + str(embedder.identity))
            try:
                shown.append(repr(embedder.embed_documents(["a"])))
            except EmbeddingError as error:
                shown += [str(error), repr(error), error.remedy, "".join(traceback.format_exception(error))]
                shown += [repr(vars(cause)) for cause in (error.__cause__, error.__context__) if cause is not None]
            embedder.close()

    captured = capfd.readouterr()
    everything = "\n".join([*shown, caplog.text, captured.out, captured.err])
    assert KEY not in everything
    assert "header-secret-77" not in everything


@pytest.mark.parametrize(
    ("header", "echoed"),
    [
        ("Bearer gateway-token-1", "token gateway-token-1 is not allowed"),
        ("session=cookie-secret-2; theme=dark", "the session cookie-secret-2 is over"),
        ("Basic dXNlcjpwYXNzd29yZA==", "who is dXNlcjpwYXNzd29yZA== anyway"),
        ("plain-secret-3", " " * 391 + "plain-secret-3"),
    ],
)
def test_no_part_of_a_header_appears_in_an_error(server: ProviderServer, quick: None, header: str, echoed: str) -> None:
    embedder = remote(server, remote={"headers": {"Authorization": header}})
    said = []
    for answer in (Answer({"error": echoed}, 403), Answer({"message": echoed}, 404), Answer(echoed.encode(), 500)):
        server.rule = lambda _, answer=answer: answer
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed_documents(["a"])
        said.append(str(caught.value))
    embedder.close()

    secret = max(header.replace(";", " ").replace("session=", "").split(), key=len)
    assert not [line for line in said if secret[:8] in line]


def test_a_key_that_no_header_can_hold_is_refused_without_being_shown() -> None:
    from core.embedding.providers import make_remote
    from core.settings import settings_of

    for key in ("sk-line\nbreak", "sk-schlüssel"):
        with pytest.raises(ProviderUnavailable, match="HTTP does not allow") as caught:
            make_remote("openai", settings_of({"provider": "openai"}), {"OPENAI_API_KEY": key})
        assert key not in str(caught.value) + caught.value.remedy


def test_no_proxy_stands_between_here_and_here(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    embedder = remote(server, "ollama")
    embedder.embed_query("a")
    embedder.close()

    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ALL_PROXY", "socks5://user:pw-secret@127.0.0.1:9", "ALL_PROXY"),
        ("HTTP_PROXY", "gopher://user:pw-secret@127.0.0.1:9", "HTTP_PROXY"),
        ("HTTP_PROXY", "http://user:pw-secret@[::1", "HTTP_PROXY"),
        ("SSL_CERT_FILE", "/nowhere/pw-secret.pem", "SSL_CERT_FILE"),
    ],
)
def test_a_proxy_or_certificate_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    from core.embedding.providers import make_remote
    from core.settings import settings_of

    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    settings = {"provider": "openai", "remote": {"base_url": "http://provider.invalid/v1"}}
    embedder = make_remote("openai", settings_of(settings), {"OPENAI_API_KEY": KEY})
    for embed in (embedder.embed_query, lambda text: embedder.embed_documents([text])):
        with pytest.raises(ProviderUnavailable) as caught:
            embed("a")
        assert said in caught.value.remedy
        assert "pw-secret" not in "".join(traceback.format_exception(caught.value)) + caught.value.remedy
    embedder.close()
