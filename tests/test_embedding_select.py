from __future__ import annotations

import hashlib
import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from core.embedding.apart import ApartEmbedder
from core.embedding.fastembed_model import FastembedEmbedder, prefixes_of
from core.embedding.model_files import DATA, DEFAULT_MODEL, default_model_path
from core.embedding.select import Selection, select_embedder
from core.errors import EmbeddingError, ProviderUnavailable
from core.settings import settings_of
from core.types import Progress

REVISION = "5" * 40
REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"


def select(values: dict[str, object], cache_dir: Path, **environ: str) -> Selection:
    return select_embedder(settings_of(values), environ=environ, cache_dir=cache_dir)


def embeds(selection: Selection) -> bool:
    assert selection.embedder is not None
    vector = selection.embedder.embed_query("hello")
    selection.embedder.close()
    return float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("provider", ["auto", "local"])
def test_without_settings_the_installed_model_is_used(provider: str, tmp_path: Path) -> None:
    selection = select({"provider": provider}, tmp_path)

    assert (selection.requested, selection.provider, selection.model) == (provider, "local", "all-MiniLM-L6-v2")
    assert selection.reason is None
    assert embeds(selection)


def test_auto_never_sends_text_out_for_a_key_alone(tmp_path: Path) -> None:
    selection = select({"remote": {"api_key": "sk-1"}}, tmp_path, OPENAI_API_KEY="sk-2", GEMINI_API_KEY="g")

    assert selection.provider == "local"


def test_none_is_keyword_search_without_complaint(tmp_path: Path) -> None:
    selection = select({"provider": "none"}, tmp_path)

    assert selection == Selection(None, "none", "none", "")


@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage", "mistral"])
def test_a_provider_that_cannot_be_used_is_named_with_a_remedy_and_replaced_by_none(
    provider: str, tmp_path: Path
) -> None:
    selection = select({"provider": provider}, tmp_path)

    assert (selection.embedder, selection.requested, selection.provider) == (None, provider, "none")
    assert provider in (selection.reason or "").lower()
    assert selection.remedy


@pytest.mark.parametrize(
    "values",
    [
        {"local": {"model_path": "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"}},
        {"local": {"model_path": "~/models/embeddinggemma.GGUF"}},
        {"model": "embeddinggemma-300m-qat-Q8_0.gguf"},
        {"provider": "local", "model": "nomic/embed.gguf"},
    ],
)
def test_a_gguf_model_is_reported_and_the_installed_one_used(values: dict[str, object], tmp_path: Path) -> None:
    selection = select(values, tmp_path)

    assert selection.model == "all-MiniLM-L6-v2"
    assert "GGUF" in (selection.reason or "")
    assert embeds(selection)


def test_a_model_of_another_provider_is_reported_and_the_installed_one_used(tmp_path: Path) -> None:
    selection = select({"model": "text-embedding-3-small"}, tmp_path)

    assert selection.model == "all-MiniLM-L6-v2"
    assert selection.reason == "text-embedding-3-small is not a local model; all-MiniLM-L6-v2 is used"


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-minilm-l6-v2"])
def test_the_installed_model_by_its_name_is_not_fetched(name: str, tmp_path: Path) -> None:
    selection = select({"model": name}, tmp_path, HF_HUB_OFFLINE="1")

    assert selection.model == DEFAULT_MODEL
    assert embeds(selection)
    assert selection.reason is None


def test_a_folder_with_a_model_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "tokenizer.json").symlink_to(DATA / "tokenizer.json")
    (folder / "model.onnx").symlink_to(default_model_path())

    selection = select({"local": {"model_path": "~/house"}}, tmp_path / "cache", HOME=str(tmp_path))

    assert (selection.provider, selection.model) == ("local", "house")
    assert embeds(selection)


def test_a_folder_without_a_model_leaves_keyword_search(tmp_path: Path) -> None:
    selection = select({"local": {"model_path": str(tmp_path / "gone")}}, tmp_path)

    assert (selection.embedder, selection.provider) == (None, "none")
    assert f"not a folder: {tmp_path / 'gone'}" in (selection.reason or "")
    assert "model.onnx" in (selection.remedy or "")


def test_threads_of_the_settings_count(tmp_path: Path) -> None:
    selection = select({"local": {"threads": 3}}, tmp_path)
    assert isinstance(selection.embedder, ApartEmbedder)

    there = selection.embedder._here.elsewhere(selection.embedder._threads, None)()
    there.embed_documents(["hello"])

    assert len([thread for thread in threading.enumerate() if thread.name.startswith("memdeck-model")]) <= 3
    assert there._threads.count == 3  # type: ignore[attr-defined]
    there.close()


def test_choosing_another_model_loads_and_fetches_nothing(tmp_path: Path) -> None:
    selection = select({"model": "BAAI/bge-small-en-v1.5"}, tmp_path / "cache")

    assert (selection.provider, selection.model) == ("local", "BAAI/bge-small-en-v1.5")
    assert not (tmp_path / "cache").exists()


def test_offline_another_model_is_a_clear_line(tmp_path: Path) -> None:
    selection = select({"model": "BAAI/bge-small-en-v1.5"}, tmp_path, HF_HUB_OFFLINE="1")
    assert selection.embedder is not None

    with pytest.raises(ProviderUnavailable, match=r"BAAI/bge-small-en-v1\.5 is not on this machine") as caught:
        selection.embedder.embed_query("hello")
    assert str(tmp_path / "models") in caught.value.remedy


def test_a_hub_that_does_not_answer_is_a_clear_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    selection = select({"model": "BAAI/bge-small-en-v1.5"}, tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
    assert selection.embedder is not None

    with pytest.raises(ProviderUnavailable, match="cannot be fetched") as caught:
        selection.embedder.embed_documents(["hello"])
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_name_that_no_model_has_gets_the_nearest(tmp_path: Path) -> None:
    selection = select({"model": "BAAI/bge-smal-en-v1.5"}, tmp_path)
    assert selection.embedder is not None

    with pytest.raises(ProviderUnavailable, match="no local model is called") as caught:
        selection.embedder.embed_query("hello")
    assert "BAAI/bge-small-en-v1.5" in caught.value.remedy


@pytest.fixture
def hub(httpserver: HTTPServer) -> HTTPServer:
    """A hub with one model: the installed weights under another model's name."""
    files = {file.name: file for file in DATA.glob("*.json")} | {"model_optimized.onnx": default_model_path()}

    def answer(request: Request) -> Response:
        if request.headers.get("Authorization"):
            return Response("no token may be sent", 400)
        if request.path.startswith(f"/api/models/{REPOSITORY}/tree/"):
            entries = [
                {"type": "file", "path": name, "size": file.stat().st_size, "oid": _oid(file)}
                for name, file in files.items()
            ]
            return Response(json.dumps(entries), content_type="application/json")
        if request.path.startswith(f"/api/models/{REPOSITORY}"):
            siblings = [{"rfilename": name} for name in files]
            return Response(
                json.dumps({"id": REPOSITORY, "sha": REVISION, "siblings": siblings}), content_type="application/json"
            )
        file = files.get(request.path.rpartition("/")[2])
        if file is None:
            return Response("", 404)
        headers = {"ETag": f'"{_oid(file)}"', "X-Repo-Commit": REVISION, "Content-Length": str(file.stat().st_size)}
        return Response(file.read_bytes(), 200, headers)

    httpserver.expect_request(re.compile(".*")).respond_with_handler(answer)
    return httpserver


def test_another_model_is_fetched_once_with_progress_and_without_a_word_to_the_terminal(
    hub: HTTPServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[Progress] = []
    environ = {"HF_ENDPOINT": hub.url_for("").rstrip("/")}

    def fresh(environ: dict[str, str]) -> FastembedEmbedder:
        name = "baai/BGE-small-en-v1.5"
        return FastembedEmbedder(name, tmp_path, environ=environ, threads=2, on_progress=seen.append)

    first = fresh(environ)
    document = first.embed_documents(["hello", "the second " * 30])[0]
    first.close()
    fetched = len(hub.log)
    offline = fresh({"HF_HUB_OFFLINE": "1"})
    again = offline.embed_documents(["hello"])[0]
    query = offline.embed_query("hello")
    offline.close()

    assert isinstance(document, np.ndarray)
    np.testing.assert_allclose(document, again, atol=1e-5)
    assert query.shape == (384,)
    assert float(query @ document) < 0.9999, "the query has its prefix"
    assert len(hub.log) == fetched
    assert max(progress.completed for progress in seen) >= default_model_path().stat().st_size
    assert all(progress.completed <= progress.total for progress in seen)
    assert [progress.completed for progress in seen] == sorted(progress.completed for progress in seen)
    assert capfd.readouterr() == ("", "")


def test_fetching_can_be_cancelled(hub: HTTPServer, tmp_path: Path) -> None:
    cancel = threading.Event()
    embedder = FastembedEmbedder(
        "BAAI/bge-small-en-v1.5",
        tmp_path,
        environ={"HF_ENDPOINT": hub.url_for("").rstrip("/")},
        on_progress=lambda _: cancel.set(),
    )

    with pytest.raises(EmbeddingError, match="cancelled"):
        embedder.embed_documents(["hello"], cancel)
    embedder.close()
    with pytest.raises(EmbeddingError, match="closed"):
        embedder.embed_query("hello")


def test_a_model_that_is_damaged_names_its_folder(hub: HTTPServer, tmp_path: Path) -> None:
    environ = {"HF_ENDPOINT": hub.url_for("").rstrip("/")}
    name = "BAAI/bge-small-en-v1.5"
    first = FastembedEmbedder(name, tmp_path, environ=environ)
    first.embed_query("hello")
    first.close()
    weights = next(path for path in tmp_path.rglob("model_optimized.onnx"))
    weights.unlink()
    weights.write_bytes(b"damaged")

    with pytest.raises(ProviderUnavailable, match="cannot be loaded") as caught:
        FastembedEmbedder(name, tmp_path, environ=environ).embed_query("hello")
    assert str(weights.parent) in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("nomic-ai/nomic-embed-text-v1.5-Q", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("BAAI/bge-base-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("jinaai/jina-embeddings-v2-small-en", "", ""),
    ],
)
def test_models_get_the_prefixes_that_they_were_trained_with(name: str, query: str, document: str) -> None:
    assert prefixes_of(name) == (query, document)


def _oid(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()
