"""The local embedder: a model on this machine's CPU, loaded at first use; queries never wait for documents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from core.courtesy import Courtesy
from core.embedding.base import EmbedderLimits, ModelProfile, Vector, normalised
from core.embedding.model_files import (
    DEFAULT_DIMS,
    DEFAULT_MODEL,
    DEFAULT_TOKENS,
    MODEL_SHA256,
    ModelFiles,
    content_hash,
    default_model,
    folder_model,
)
from core.embedding.onnx_model import OnnxModel, OnnxTokenizer
from core.embedding.profiles import profile_of
from core.embedding.threads import BatchThreads, batches, raise_if_cancelled, vectors_of
from core.errors import EmbeddingError
from core.records import record
from core.spare_memory import give_back_free_pages
from core.types import EmbeddingIdentity

BATCH_TOKENS = 256
"""Tokens of one run, padding included: on CPUs as fast as larger runs or faster, and a query competes with little."""

REQUEST_ROWS = 32


@record(frozen=True, slots=True)
class LocalModel:
    """Which model, and how its files are found when it is first needed; `find` raises ProviderUnavailable."""

    identity: EmbeddingIdentity
    profile: ModelProfile
    find: Callable[[], ModelFiles] = field(repr=False)


def minilm(cache_dir: Path) -> LocalModel:
    """The model that is installed with memdeck; nothing is read until it is needed."""
    recipe = f"sha256 {MODEL_SHA256[:16]}, {DEFAULT_TOKENS} tokens, mean"
    identity = EmbeddingIdentity("local", DEFAULT_MODEL, dims=DEFAULT_DIMS, recipe=recipe)
    return LocalModel(identity, profile_of(DEFAULT_MODEL), partial(default_model, cache_dir))


def own_model(folder: Path, cache_dir: Path) -> LocalModel:
    """An ONNX model in a folder of the user's; its files are looked at and hashed. Raises ProviderUnavailable."""
    files = folder_model(folder)
    recipe = f"sha256 {content_hash(files, cache_dir)}, {files.recipe}"
    identity = EmbeddingIdentity("local", folder.name, recipe=recipe)
    return LocalModel(identity, profile_of(folder.name), partial(folder_model, folder))


class LocalEmbedder:
    """Embeds on onnxruntime alone; without `model` with the model that is installed with memdeck.

    Documents run in small batches on low-priority threads, one a core unless `threads` says otherwise. A query runs on
    the caller's thread: the first of a process on a model that loads fast, later ones on the one that runs fast.
    Missing or damaged files raise ProviderUnavailable at every use, so that a repair is noticed.
    """

    limits = EmbedderLimits(batch_items=REQUEST_ROWS)

    def __init__(
        self,
        cache_dir: Path,
        *,
        model: LocalModel | None = None,
        threads: int | None = None,
        courtesy: Courtesy | None = None,
    ) -> None:
        self._cache_dir = cache_dir
        self._model = model or minilm(cache_dir)
        self._lock = threading.Lock()
        self._loading_quick = threading.Lock()
        self._loading_fast = threading.Lock()
        self._threads_wanted = threads
        self._courtesy = courtesy
        self._threads: BatchThreads | None = None
        self._files: ModelFiles | None = None
        self._tokenizer: OnnxTokenizer | None = None
        self._quick: OnnxModel | None = None
        self._fast: OnnxModel | None = None
        self._following: threading.Thread | None = None
        self._closed = threading.Event()

    @property
    def identity(self) -> EmbeddingIdentity:
        return self._model.identity

    @property
    def profile(self) -> ModelProfile:
        return self._model.profile

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        raise_if_cancelled(cancel)
        if not texts:
            return []
        files, tokenizer, model, threads = *self._loaded_files(), self._fast_model(), self._batch_threads()
        rows = threads.map(lambda text: tokenizer.encode(files.document_prefix + text), texts, cancel)
        groups = batches([len(row) for row in rows], BATCH_TOKENS)
        return vectors_of(lambda group: model.run([rows[index] for index in group]), groups, threads, cancel)

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        raise_if_cancelled(cancel)
        files, tokenizer = self._loaded_files()
        model = self._query_model()
        raise_if_cancelled(cancel)
        return normalised(model.run([tokenizer.encode(files.query_prefix + text)])[0])

    def elsewhere(self, threads: int | None, cancel: threading.Event | None = None) -> Callable[[], LocalEmbedder]:
        """What makes it in another process, of the files as they are now. Raises ProviderUnavailable."""
        raise_if_cancelled(cancel)
        self._raise_if_closed()
        model = replace(self._model, find=partial(_found, self._model.find()))
        return partial(LocalEmbedder, self._cache_dir, model=model, threads=threads)

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            threads, self._threads = self._threads, None
            self._quick = self._fast = self._tokenizer = None
        if threads is not None:
            threads.close()

    def _loaded_files(self) -> tuple[ModelFiles, OnnxTokenizer]:
        self._raise_if_closed()
        with self._lock:
            if self._files is None or self._tokenizer is None:
                self._files = self._model.find()
                self._tokenizer = OnnxTokenizer(self._files)
            return self._files, self._tokenizer

    def _query_model(self) -> OnnxModel:
        fast, quick = self._fast, self._quick
        if fast is not None:
            return fast
        if quick is not None:
            self._follow_with_fast()
            return quick
        with self._loading_quick:
            if self._quick is None and self._fast is None:
                self._keep(quick=OnnxModel(self._loaded_files()[0], optimised=False))
            model = self._fast or self._quick
        if model is None:
            raise EmbeddingError("the embedder is closed")
        return model

    def _fast_model(self) -> OnnxModel:
        with self._loading_fast:
            if self._fast is None:
                self._keep(fast=OnnxModel(self._loaded_files()[0]))
                give_back_free_pages()
            model = self._fast
        if model is None:
            raise EmbeddingError("the embedder is closed")
        return model

    def _follow_with_fast(self) -> None:
        """A second query means more to come: load the fast model beside it, once."""
        with self._lock:
            if self._following is not None or self._closed.is_set():
                return
            # Not a daemon: a process that ends while onnxruntime builds a session crashes.
            self._following = threading.Thread(target=self._load_fast_quietly, name="memdeck-model-load")
        self._following.start()

    def _load_fast_quietly(self) -> None:
        try:
            self._fast_model()
        except EmbeddingError:
            return  # the next use of it says why

    def _keep(self, *, quick: OnnxModel | None = None, fast: OnnxModel | None = None) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._fast = fast or self._fast
            self._quick = None if self._fast is not None else quick

    def _batch_threads(self) -> BatchThreads:
        with self._lock:
            self._raise_if_closed()
            if self._threads is None:
                self._threads = BatchThreads(self._threads_wanted, self._courtesy)
            return self._threads

    def _raise_if_closed(self) -> None:
        if self._closed.is_set():
            raise EmbeddingError("the embedder is closed")


def _found(files: ModelFiles) -> ModelFiles:
    return files
