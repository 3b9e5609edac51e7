"""The installed model with its words looked up before they are scaled: the same vectors, for less."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.embedding.model_files import LOOKUP, ModelFiles, default_model, default_model_path
from core.embedding.onnx_model import OnnxModel, OnnxTokenizer
from core.errors import ProviderUnavailable
from tests.local_model import TEXTS
from tests.lookup_patch import TABLE, graph_of, pieces_of


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    return default_model(tmp_path_factory.mktemp("cache"))


def test_the_patch_is_that_of_the_installed_model() -> None:
    assert json.loads(LOOKUP.read_text("utf-8")) == pieces_of(default_model_path().read_bytes())


def test_only_the_three_steps_over_the_whole_table_are_left_out(files: ModelFiles) -> None:
    def steps(data: bytes) -> list[tuple[str, tuple[str, ...], str]]:
        return [(node.kind, tuple(node.inputs), node.output) for node in graph_of(data)[1]]

    patched = files.source()
    assert isinstance(patched, bytes)
    before, after = steps(files.model.read_bytes()), steps(patched)
    assert [step[0] for step in before if step not in after] == ["Cast", "Mul", "Gather"]
    assert [step[0] for step in after if step not in before] == ["Gather", "Gather", "Cast", "Mul"]
    assert not [step for step in after if TABLE in step[1]]


@pytest.mark.parametrize("optimised", [False, True])
def test_its_numbers_are_those_of_the_file_to_the_bit(files: ModelFiles, optimised: bool) -> None:
    tokenizer = OnnxTokenizer(files)
    rows = [tokenizer.encode(text) for text in TEXTS]
    every_token = [list(range(start, start + 200)) for start in range(0, 30_400, 3_800)]
    patched, plain = OnnxModel(files, optimised=optimised), OnnxModel(replace(files, patch=()), optimised=optimised)
    for batch in (*([row] for row in rows), rows, every_token):
        np.testing.assert_array_equal(patched.run(batch), plain.run(batch))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is told by /proc")
def test_it_takes_less_memory(files: ModelFiles, tmp_path: Path) -> None:
    code = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from core import give_back_free_pages
from core.embedding.model_files import default_model
from core.embedding.onnx_model import OnnxModel
files = default_model(Path(sys.argv[1]))
model = OnnxModel(files if sys.argv[2] == "patched" else replace(files, patch=()))
model.run([[101, 2073, 102]])
give_back_free_pages()
print(int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize() // 1_000_000)
"""
    taken = [
        int(
            subprocess.run(
                [sys.executable, "-c", code, str(tmp_path), how], capture_output=True, text=True, check=True
            ).stdout
        )
        for how in ("patched", "plain")
    ]
    assert taken[0] + 20 < taken[1]


def test_a_model_that_was_cut_off_is_refused(files: ModelFiles, tmp_path: Path) -> None:
    for content in (b"", files.model.read_bytes()[:1_000]):
        (tmp_path / "model.onnx").write_bytes(content)
        with pytest.raises(ProviderUnavailable, match="cannot be loaded"):
            OnnxModel(replace(files, model=tmp_path / "model.onnx"))
