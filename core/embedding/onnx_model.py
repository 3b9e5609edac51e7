"""A text model on onnxruntime and tokenizers alone: tokens in, one vector a text out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.embedding import telemetry
from core.embedding.model_files import ModelFiles
from core.errors import EmbeddingError, ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

MOST_CHARACTERS = 32_768
"""No token limit needs more of a text, and a tokenizer reads all that it is given."""
SHORT_TOKENS = 64
"""Tokens of a run, padding included, up to which what its steps took is kept for the next one."""


class OnnxTokenizer:
    """Text to token ids, cut at the model's limit. Any thread may use it."""

    def __init__(self, files: ModelFiles) -> None:
        """Raises ProviderUnavailable."""
        try:
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        except Exception as error:  # the library raises bare Exception
            raise ProviderUnavailable(f"the tokenizer cannot be loaded: {files.tokenizer}: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(files.max_tokens)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, special ones included."""
        sound = text[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(sound).ids
        return ids


class OnnxModel:
    """A session that computes on the calling thread only, so that calls from several threads never queue.

    `optimised` spends 0.2 s of CPU once and makes each run many times cheaper; without it a single short text is had
    with less CPU in all. The steps of a run share blocks of some megabytes, which are given back after a longer one.
    """

    def __init__(self, files: ModelFiles, *, optimised: bool = True) -> None:
        """Raises ProviderUnavailable."""
        telemetry.forbid()
        try:
            import numpy
            import onnxruntime
        except (ImportError, OSError) as error:
            message = f"onnxruntime cannot be loaded: {error}"
            raise ProviderUnavailable(message, remedy="reinstall memdeck with its dependencies") from error
        onnxruntime.set_default_logger_severity(4)  # its log goes to the terminal
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.enable_cpu_mem_arena = optimised
        self._giving_back: Any = None
        if optimised:
            options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
            self._giving_back = onnxruntime.RunOptions()
            self._giving_back.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        else:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.add_session_config_entry("session.disable_prepacking", "1")  # weights laid out for many runs
        try:
            self._session: Any = onnxruntime.InferenceSession(files.source(), options, ["CPUExecutionProvider"])
            self._session._model_bytes = None  # it would keep them, to begin anew on other processors
        except Exception as error:  # the library's own exceptions share no base
            raise ProviderUnavailable(f"the model cannot be loaded: {files.model}: {_first_line(error)}") from error
        self._numpy = numpy
        self._pooling = files.pooling
        types = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
        self._inputs = {node.name: types.get(node.type) for node in self._session.get_inputs()}
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs or None in self._inputs.values():
            raise ProviderUnavailable(f"not a text model: {files.model} (inputs {', '.join(sorted(self._inputs))})")
        outputs = [node.name for node in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def run(self, rows: Sequence[Sequence[int]]) -> Matrix:
        """The pooled output for each row of token ids, float[rows, dims], not normalised. Raises EmbeddingError."""
        np = self._numpy
        longest = max(len(row) for row in rows)
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            given = {name: feed[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
            after = self._giving_back if ids.size > SHORT_TOKENS else None
            output = self._session.run([self._output], given, after)[0]
        except Exception as error:  # as above
            raise EmbeddingError(f"the local model failed: {_first_line(error)}") from error
        return self._pooled(output, mask)

    def _pooled(self, output: Any, mask: Any) -> Matrix:
        np = self._numpy
        if output.ndim not in (2, 3):
            raise EmbeddingError(f"the local model gave an output of shape {output.shape}")
        if output.ndim == 2:
            pooled: Matrix = output
        elif self._pooling == "cls":
            pooled = output[:, 0]
        elif self._pooling == "last":
            pooled = output[np.arange(len(mask)), mask.sum(axis=1) - 1]
        else:
            summed = np.sum(output, axis=1, where=mask[:, :, None].astype(bool), dtype=np.float64)
            pooled = summed / mask.sum(axis=1, keepdims=True)
        return pooled


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
