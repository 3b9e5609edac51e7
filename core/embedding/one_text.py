"""The installed model for one text, with numpy alone: a process that asks once need not load onnxruntime.

The file is pinned by its sha256, so its layout is known: a BERT of six layers, weights as int8 with a scale for each
column. What comes out is what onnxruntime computes, but for the last digits of float32.
"""

from __future__ import annotations

import math
import mmap
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.errors import ProviderUnavailable

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_HEADS = 12
_EPSILON = 1e-12
_MATRICES = 6
"""Matrices of a layer, in the order of the file: query, key, value, output of attention, up, down."""
_GRAPH, _INITIALIZER, _DIMS, _NAME, _RAW = 7, 5, 1, 8, 9
"""Field numbers of ONNX's ModelProto, GraphProto and TensorProto."""
_ROWS = 16
_MOST = 1 << 18
"""Multiplications of one product: with more OpenBLAS has threads of its own take part, which spin while they wait. On a
busy machine that took fifty times as long as the work itself."""
_TYPES = {1: np.float32, 3: np.int8}
# Abramowitz and Stegun, 7.1.26: within 1.5e-7, which is what float32 can tell.
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class OneTextModel:
    """Runs the installed model; weights stay in the file, of which a short text touches a half.

    Any thread may use it, one at a time.
    """

    def __init__(self, model: Path) -> None:
        """Raises ProviderUnavailable for a file of another layout."""
        self._lock = threading.Lock()
        try:
            with model.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._tensors = dict(_tensors(self._data))
            named = [name for name in self._tensors if name.startswith("val_") and name.endswith("_q")]
            self._layers = [named[at : at + _MATRICES] for at in range(0, len(named), _MATRICES)]
            self._room = np.empty(max(self._tensors[name].size for name in named), np.float32)
        except (OSError, ValueError, LookupError, StopIteration) as error:
            raise ProviderUnavailable(f"the model cannot be loaded: {model}: {error}") from error

    def run(self, rows: Sequence[Sequence[int]]) -> Floats:
        """The mean of the output over each row of token ids, float[rows, dims], not normalised."""
        with self._lock:
            return np.stack([self._one(row) for row in rows])

    def _one(self, ids: Sequence[int]) -> Floats:
        x = self._looked_up("word_embeddings", np.array(ids))
        x += self._looked_up("position_embeddings", np.arange(len(ids)))
        x = self._normal(x + self._tensor("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
        for number, matrices in enumerate(self._layers):
            x = self._layer(x, f"encoder.layer.{number}", *matrices)
        mean: Floats = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        return mean

    def _layer(self, x: Floats, name: str, query: str, key: str, value: str, out: str, up: str, down: str) -> Floats:
        q, k, v = (
            self._linear(x, matrix, f"{name}.attention.self.{part}").reshape(len(x), _HEADS, -1).transpose(1, 0, 2)
            for matrix, part in ((query, "query"), (key, "key"), (value, "value"))
        )
        scores = _product(q, k.transpose(0, 2, 1)) / np.float32(math.sqrt(q.shape[-1]))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        seen = _product(weights, v).transpose(1, 0, 2).reshape(x.shape)
        attention = f"{name}.attention.output"
        x = self._normal(x + self._linear(seen, out, f"{attention}.dense"), f"{attention}.LayerNorm")
        wide = _gelu(self._linear(x, up, f"{name}.intermediate.dense"))
        return self._normal(x + self._linear(wide, down, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Floats, matrix: str, bias: str) -> Floats:
        packed = self._tensors[matrix]
        weights = self._room[: packed.size].reshape(packed.shape)
        np.copyto(weights, packed)
        made = _product(x, weights)
        made *= self._tensors[f"{matrix.removesuffix('_q')}_scale"]
        made += self._tensor(f"{bias}.bias")
        return made

    def _normal(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        made: Floats = x * self._tensor(f"{name}.weight") + self._tensor(f"{name}.bias")
        return made

    def _looked_up(self, table: str, ids: npt.NDArray[np.int64]) -> Floats:
        name = f"embeddings.{table}.weight"
        made: Floats = self._tensor(f"{name}_q")[ids].astype(np.float32) * self._tensor(f"{name}_scale")[ids]
        return made

    def _tensor(self, name: str) -> Floats:
        return self._tensors[f"inner.{name}"]


def _product(left: Floats, right: Floats) -> Floats:
    """`left @ right` of matrices, or of rows of matrices, all of it by the thread that calls."""
    rows, inner = left.shape[-2:]
    made = np.empty((*left.shape[:-1], right.shape[-1]), np.float32)
    for down in _parts(rows, _ROWS):
        for along in _parts(right.shape[-1], _MOST // ((down.stop - down.start) * inner)):
            made[..., down, along] = left[..., down, :] @ right[..., along]
    return made


def _parts(size: int, most: int) -> list[slice]:
    """Of like size: one row or column alone would be a product of another kind, with another limit."""
    count = -(-size // most)
    return [slice(size * at // count, size * (at + 1) // count) for at in range(count)]


def _gelu(x: Floats) -> Floats:
    scaled = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    tail = np.zeros_like(t)
    for factor in _ERF:
        tail = (tail + np.float32(factor)) * t
    tail *= np.exp(-scaled * scaled)
    made: Floats = x * np.where(x < 0, tail, 2 - tail) * np.float32(0.5)
    return made


def _tensors(data: mmap.mmap) -> Iterator[tuple[str, Floats]]:
    """Every tensor of numbers that the file holds, as views of it."""
    start, end = next(place for field, place in _fields(data, 0, len(data)) if field == _GRAPH)
    for field, (first, last) in _fields(data, start, end):
        if field != _INITIALIZER:
            continue
        dims: list[int] = []
        kind, name, raw = 0, "", (0, 0)
        for inner, (at, until) in _fields(data, first, last):
            if inner == _DIMS:
                while at < until:
                    number, at = _number(data, at)
                    dims.append(number)
            elif inner == _DIMS + 1:
                kind = _number(data, at)[0]
            elif inner == _NAME:
                name = data[at:until].decode()
            elif inner == _RAW:
                raw = (at, until)
        if kind in _TYPES:
            yield name, np.frombuffer(data, _TYPES[kind], math.prod(dims), raw[0]).reshape(dims)


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Number and place of each field of a message of Protocol Buffers."""
    while at < end:
        key, at = _number(data, at)
        start = at
        if key & 7 == 2:
            size, start = _number(data, at)
            at = start + size
        elif key & 7 == 0:
            _, at = _number(data, at)
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, (start, at)


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
