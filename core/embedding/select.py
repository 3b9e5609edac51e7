"""Which embedder the settings ask for, and in words why it is not the one that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.embedding.base import Embedder
from core.embedding.fastembed_model import FastembedEmbedder
from core.embedding.local import UNMEASURED_PROFILE, LocalEmbedder, own_model
from core.embedding.model_files import DEFAULT_MODEL
from core.errors import EmbeddingError
from core.settings import Settings
from core.types import Progress


@dataclass(frozen=True, slots=True)
class Selection:
    """The embedder to use, None for keyword search alone.

    `requested` is the provider that was asked for, `provider` and `model` are what is used ("none" and "" without an
    embedder). `reason` says, in one line, why that differs from what was asked for; `remedy` what to do about it.
    """

    embedder: Embedder | None
    requested: str
    provider: str
    model: str
    reason: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a provider is made from besides the settings. `on_progress` gets bytes while a model is fetched."""

    environ: Mapping[str, str]
    cache_dir: Path
    on_progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What a factory gives: an embedder or None, and what the user should be told."""

    embedder: Embedder | None
    reason: str | None = None
    remedy: str | None = None


Factory = Callable[[Settings, Surroundings], Made]


def select_embedder(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    cache_dir: Path,
    on_progress: Callable[[Progress], None] | None = None,
) -> Selection:
    """Choose and build the embedder; cheap, since nothing is loaded before its first use. No provider raises here."""
    requested = settings.provider
    surroundings = Surroundings(environ, cache_dir, on_progress)
    name = "local" if requested == "auto" else requested
    factory = PROVIDERS.get(name)
    if factory is None:
        reason = f"the provider {name} is not part of this version of memdeck; searches go by keyword"
        return Selection(None, requested, "none", "", reason, 'provider = "local" searches by meaning on this machine')
    try:
        made = factory(settings, surroundings)
    except EmbeddingError as error:
        return Selection(None, requested, "none", "", f"{error}; searches go by keyword", error.remedy or None)
    if made.embedder is None:
        return Selection(None, requested, "none", "", made.reason, made.remedy)
    identity = made.embedder.identity
    return Selection(made.embedder, requested, identity.provider, identity.model, made.reason, made.remedy)


def _local(settings: Settings, surroundings: Surroundings) -> Made:
    """An ONNX folder, a fastembed model by name, or the model that is installed. Raises ProviderUnavailable."""
    local = settings.local
    cache_dir, threads = surroundings.cache_dir, local.threads
    installed = LocalEmbedder(cache_dir, threads=threads)
    path, name = (local.model_path or "").strip(), (settings.model or "").strip()
    for text, key in ((path, "local.model_path"), (name, "model")):
        if _is_gguf(text):
            reason = f"{text} ({key}) is a GGUF model, which is not usable here; {DEFAULT_MODEL} is used"
            return Made(installed, reason, f"unset {key}, or name a folder with an ONNX model in local.model_path")
    if path:
        folder = Path(_expanded(path, surroundings.environ))
        return Made(LocalEmbedder(cache_dir, model=own_model(folder, cache_dir), threads=threads))
    if not name or name.lower().removeprefix("sentence-transformers/") == DEFAULT_MODEL.lower():
        return Made(installed)
    if "/" not in name:
        reason = f"{name} is not a local model; {DEFAULT_MODEL} is used"
        return Made(installed, reason, "unset model, or name a fastembed model like BAAI/bge-small-en-v1.5")
    models_dir = Path(_expanded(local.model_cache_dir, surroundings.environ)) if local.model_cache_dir else None
    embedder = FastembedEmbedder(
        name,
        models_dir or cache_dir / "models",
        environ=surroundings.environ,
        profile=UNMEASURED_PROFILE,
        threads=threads,
        on_progress=surroundings.on_progress,
    )
    return Made(embedder)


def _none(settings: Settings, surroundings: Surroundings) -> Made:
    return Made(None)


PROVIDERS: Mapping[str, Factory] = {"local": _local, "none": _none}
"""Every provider that this version can use, by the name that the setting has."""


def _is_gguf(text: str) -> bool:
    return text.lower().endswith(".gguf") or text.lower().startswith("hf:")


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return str(Path(path).expanduser())
