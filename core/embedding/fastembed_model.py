"""Any other local model by its fastembed name, fetched on first use."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.embedding import telemetry
from core.embedding.base import EmbedderLimits, Vector, normalised
from core.embedding.fetch import fetch_model
from core.embedding.prefixes import prefixes_of
from core.embedding.profiles import profile_of
from core.embedding.threads import BatchThreads, batches, raise_if_cancelled, vectors_of
from core.errors import EmbeddingError, ProviderUnavailable
from core.types import EmbeddingIdentity, Progress

if TYPE_CHECKING:
    from fastembed import TextEmbedding

BATCH_CHARACTERS = 2048
REQUEST_ROWS = 32
MOST_CHARACTERS = 32_768

OFFLINE = frozenset({"1", "true", "yes", "on"})


class FastembedEmbedder:
    """A model that fastembed knows. Raises ProviderUnavailable where it is unknown, or neither here nor to be had.

    `on_progress` gets bytes while the model is fetched, from the thread that fetches.
    """

    limits = EmbedderLimits(batch_items=REQUEST_ROWS)

    def __init__(
        self,
        name: str,
        models_dir: Path,
        *,
        environ: Mapping[str, str],
        threads: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._name = name
        self._models_dir = models_dir
        self._offline = environ.get("HF_HUB_OFFLINE", "").strip().lower() in OFFLINE
        self._endpoint = environ.get("HF_ENDPOINT") or None
        self._on_progress = on_progress
        self._query_prefix, self._document_prefix = prefixes_of(name)
        recipe = f"fastembed, prefixes {self._query_prefix!r} {self._document_prefix!r}"
        self.identity = EmbeddingIdentity("local", name, recipe=recipe)
        self.profile = profile_of(name)
        self._threads_wanted = threads
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._threads: BatchThreads | None = None
        self._model: TextEmbedding | None = None
        self._closed = threading.Event()

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        raise_if_cancelled(cancel)
        if not texts:
            return []
        model = self._loaded(cancel)
        with self._lock:
            self._raise_if_closed()
            if self._threads is None:
                self._threads = BatchThreads(self._threads_wanted)
            threads = self._threads
        sound = [_sound(self._document_prefix + text) for text in texts]

        def run(group: list[int]) -> list[object]:
            chosen = [sound[index] for index in group]
            return _made(lambda: list(model.passage_embed(chosen, batch_size=len(chosen))))

        return vectors_of(run, batches([len(text) for text in sound], BATCH_CHARACTERS), threads, cancel)

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        raise_if_cancelled(cancel)
        model = self._loaded(cancel)
        query = _sound(self._query_prefix + text)
        return normalised(_made(lambda: list(model.query_embed(query)))[0])

    def elsewhere(self, threads: int | None, cancel: threading.Event | None = None) -> Callable[[], FastembedEmbedder]:
        """What makes it in another process, once its files are fetched. Raises ProviderUnavailable."""
        raise_if_cancelled(cancel)
        with self._loading_alone(cancel):
            self._files(cancel)
        offline = {"HF_HUB_OFFLINE": "1"}
        return partial(FastembedEmbedder, self._name, self._models_dir, environ=offline, threads=threads)

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            threads, self._threads = self._threads, None
            self._model = None
        if threads is not None:
            threads.close()

    def _raise_if_closed(self) -> None:
        if self._closed.is_set():
            raise EmbeddingError("the embedder is closed")

    @contextmanager
    def _loading_alone(self, cancel: threading.Event | None) -> Iterator[None]:
        while not self._loading.acquire(timeout=0.1):  # another thread may be fetching for minutes
            raise_if_cancelled(cancel)
            self._raise_if_closed()
        try:
            self._raise_if_closed()
            yield
        finally:
            self._loading.release()

    def _loaded(self, cancel: threading.Event | None) -> TextEmbedding:
        with self._loading_alone(cancel):
            if self._model is None:
                model = self._load(cancel)
                with self._lock:
                    self._raise_if_closed()
                    self._model = model
            return self._model

    def _files(self, cancel: threading.Event | None) -> tuple[str, Path]:
        """The model's name in full and the folder that it lies in; fetches it if need be."""
        telemetry.forbid()
        try:
            from fastembed import TextEmbedding
            from loguru import logger
        except (ImportError, OSError) as error:
            message = f"fastembed cannot be loaded: {error}"
            raise ProviderUnavailable(message, remedy="reinstall memdeck with its dependencies") from error
        logger.disable("fastembed")  # it writes to the terminal
        known = {str(entry["model"]).lower(): entry for entry in TextEmbedding.list_supported_models()}
        entry = known.get(self._name.lower())
        if entry is None:
            near = difflib.get_close_matches(self._name.lower(), known, n=1, cutoff=0.3)
            remedy = "leave `model` unset for the model that is installed"
            hint = f"did you mean {known[near[0]]['model']}? Or {remedy}" if near else remedy
            raise ProviderUnavailable(f"no local model is called {self._name}", remedy=hint)
        return str(entry["model"]), fetch_model(
            entry,
            self._models_dir,
            offline=self._offline,
            endpoint=self._endpoint,
            on_progress=self._on_progress,
            cancel=lambda: raise_if_cancelled(cancel, self._closed),
        )

    def _load(self, cancel: threading.Event | None) -> TextEmbedding:
        name, folder = self._files(cancel)
        from fastembed import TextEmbedding

        try:
            return TextEmbedding(
                name,
                cache_dir=str(self._models_dir),
                threads=1,  # batches run side by side instead
                providers=["CPUExecutionProvider"],
                specific_model_path=str(folder),
                enable_cpu_mem_arena=False,
            )
        except Exception as error:  # whatever onnxruntime, tokenizers and fastembed raise
            raise ProviderUnavailable(
                f"{self._name} cannot be loaded: {_first_line(error)}",
                remedy=f"delete {folder} to have it fetched again",
            ) from error


def _made(work: Callable[[], list[Any]]) -> list[Any]:
    try:
        return work()
    except Exception as error:  # as above
        raise EmbeddingError(f"the local model failed: {_first_line(error)}") from error


def _sound(text: str) -> str:
    return text[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
