"""A model in a folder of the user's: what is in it, what it is known by, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.embedding.local import LocalEmbedder, own_model
from core.embedding.model_files import DATA, default_model_path, folder_model
from core.errors import ProviderUnavailable
from tests.local_model import TEXTS


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder(tmp_path_factory.mktemp("cache"), threads=2)
    yield embedder
    embedder.close()


def own_folder(folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(DATA / "tokenizer.json", folder)
    (folder / "model.onnx").symlink_to(default_model_path())
    return folder


def test_a_folder_of_the_users_is_a_model(tmp_path: Path, embedder: LocalEmbedder) -> None:
    folder = own_folder(tmp_path / "house-model")
    own = LocalEmbedder(tmp_path / "cache", model=own_model(folder, tmp_path / "cache"))

    assert own.identity.model == "house-model"
    assert own.identity.key != embedder.identity.key
    assert float(own.embed_query(TEXTS[0]) @ embedder.embed_query(TEXTS[0])) > 0.9999
    own.close()


def test_a_folder_model_follows_the_files_that_describe_it(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "m")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: ", "passage": "passage: "}}'
    )

    files = folder_model(folder)

    assert (files.pooling, files.max_tokens) == ("cls", 128)
    assert (files.query_prefix, files.document_prefix) == ("query: ", "passage: ")


def test_pooling_that_is_not_supported_is_refused(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "m")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')

    with pytest.raises(ProviderUnavailable, match="max_tokens"):
        folder_model(folder)


def test_weights_that_change_are_another_identity(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "m")
    before = own_model(folder, tmp_path).identity
    (folder / "model.onnx_data").write_bytes(b"external weights")

    assert own_model(folder, tmp_path).identity.key != before.key


@pytest.mark.parametrize(("file", "named"), [("model.onnx", "no model.onnx"), ("tokenizer.json", "no tokenizer.json")])
def test_an_incomplete_folder_is_named(file: str, named: str, tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "m")
    (folder / file).unlink()

    with pytest.raises(ProviderUnavailable, match=named):
        folder_model(folder)


def test_a_file_that_is_no_onnx_model_is_one_clear_line(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "m")
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    embedder = LocalEmbedder(tmp_path / "cache", model=own_model(folder, tmp_path / "cache"))

    with pytest.raises(ProviderUnavailable, match=r"cannot be loaded: .*model\.onnx") as caught:
        embedder.embed_query("hello")
    assert "\n" not in str(caught.value)
