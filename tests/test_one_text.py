"""One query on numpy alone is what onnxruntime and tokenizers make of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.base import normalised
from core.embedding.local import LocalEmbedder
from core.embedding.model_files import ModelFiles, default_model
from core.embedding.one_text import OneTextModel
from core.embedding.onnx_model import OnnxModel, OnnxTokenizer
from core.embedding.word_pieces import LONGEST, WordPieces
from core.errors import ProviderUnavailable

ROOT = Path(__file__).resolve().parents[1]
TEXTS = (
    "embedding cache eviction",
    "a",
    "",
    "How do I renew the TLS certificate for the staging host? " * 8,
    "Überraschung im Büro: 日本語のテスト",
    "memory " * 400,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    return default_model(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def tokenizer(files: ModelFiles) -> OnnxTokenizer:
    return OnnxTokenizer(files)


@pytest.fixture(scope="module")
def pieces(files: ModelFiles) -> WordPieces:
    return WordPieces(files.tokenizer)


def test_the_vector_is_that_of_onnxruntime(files: ModelFiles, tokenizer: OnnxTokenizer) -> None:
    one, theirs = OneTextModel(files.model), OnnxModel(files)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        ours, wanted = normalised(one.run([ids])[0]), normalised(theirs.run([ids])[0])
        np.testing.assert_allclose(ours, wanted, atol=2e-6, err_msg=text[:40])


def test_a_query_is_work_for_one_thread(files: ModelFiles) -> None:
    """With threads of its own the library for matrices would spin on all cores, for many times what the query takes."""
    code = (
        "import os, sys, threading, time\n"
        "os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
        "from pathlib import Path\n"
        "from core.embedding.one_text import OneTextModel\n"
        "model = OneTextModel(Path(sys.argv[1]))\n"
        "for length in (2, 3, 17, 40, 241, 256):\n"
        "    model.run([[101, *range(2000, 2000 + length - 2), 102]])\n"
        "    own, all_of_them = time.thread_time(), time.process_time()\n"
        "    model.run([[101, *range(2000, 2000 + length - 2), 102]])\n"
        "    own, all_of_them = time.thread_time() - own, time.process_time() - all_of_them\n"
        "    assert all_of_them <= own * 1.2 + 0.005, (length, own, all_of_them)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(files.model)], cwd=ROOT, check=True)


def test_several_threads_get_the_same_vector(files: ModelFiles, tokenizer: OnnxTokenizer) -> None:
    model, rows = OneTextModel(files.model), [tokenizer.encode(text) for text in TEXTS[:3]]
    wanted = [model.run([row])[0] for row in rows]
    made: list[bool] = []

    def work(at: int) -> None:
        made.extend(np.array_equal(model.run([rows[at]])[0], wanted[at]) for _ in range(10))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [True] * 30


def test_every_word_of_the_vocabulary_has_its_number(
    files: ModelFiles, tokenizer: OnnxTokenizer, pieces: WordPieces
) -> None:
    words = json.loads(files.tokenizer.read_text("utf-8"))["model"]["vocab"]
    plain = [word for word in words if word.isascii() and word.isalnum()]
    assert len(plain) > 15_000
    for at in range(0, len(plain), 10):
        text = " ".join(plain[at : at + 10])
        assert pieces.encode(text) in (tokenizer.encode(text), None)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=LONGEST))
def test_any_short_text_has_the_tokens_of_the_library(tokenizer: OnnxTokenizer, pieces: WordPieces, text: str) -> None:
    assert pieces.encode(text) == (None if "[" in text else tokenizer.encode(text))


@pytest.mark.parametrize("text", ["the [MASK] word", "naïve", "tab\there", "日本", "x" * (LONGEST + 1), "del\x7f"])
def test_what_is_not_plain_is_left_to_the_library(pieces: WordPieces, text: str) -> None:
    assert pieces.encode(text) is None


@pytest.mark.parametrize("length", [100, 101])
def test_a_word_too_long_is_unknown(tokenizer: OnnxTokenizer, pieces: WordPieces, length: int) -> None:
    assert pieces.encode("a" * length) == tokenizer.encode("a" * length)


def test_all_kinds_of_queries_get_the_vector_of_the_document(tmp_path: Path) -> None:
    embedder, other = LocalEmbedder(tmp_path), LocalEmbedder(tmp_path)
    documents = other.embed_documents([text or "-" for text in TEXTS])
    for text, document in zip(TEXTS, documents, strict=True):
        assert not isinstance(document, Exception)
        assert float(embedder.embed_query(text or "-") @ document) > 0.99999
    embedder.close()
    other.close()


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x3a\x03abc"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ProviderUnavailable):
        OneTextModel(tmp_path / "file")
    with pytest.raises(ProviderUnavailable):
        WordPieces(tmp_path / "file")


def test_a_short_query_loads_neither_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from core.embedding.local import LocalEmbedder\n"
        f"embedder = LocalEmbedder(Path({str(tmp_path)!r}))\n"
        "for _ in range(3):\n"
        "    assert embedder.embed_query('embedding cache').shape == (384,)\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'fastembed'} & set(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
