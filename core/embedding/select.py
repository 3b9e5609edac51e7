"""Which embedder the settings ask for, and in words why it is not the one that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.courtesy import Courtesy
from core.embedding.apart import ApartEmbedder, Portable
from core.embedding.base import Embedder, text_goes_to
from core.embedding.local import LocalEmbedder, own_model
from core.embedding.model_files import DEFAULT_MODEL
from core.errors import EmbeddingError
from core.records import record
from core.settings import Settings
from core.types import Progress

if TYPE_CHECKING:
    from core.embedding.providers import RemoteName


@record(frozen=True, slots=True)
class Selection:
    """The embedder to use, None for keyword search alone.

    `requested` is the provider that was asked for, `provider` and `model` are what is used ("none" and "" without an
    embedder). `reason` says, in one line, why that differs from what was asked for; `remedy` what to do about it.
    `standby` is the fallback, for `Failover` to use; `standby_reason` why there is none although it was asked for.
    `courtesy` is what making vectors, and all other work in the background, waits for.
    """

    embedder: Embedder | None
    requested: str
    provider: str
    model: str
    reason: str | None = None
    remedy: str | None = None
    standby: Embedder | None = None
    standby_reason: str | None = None
    courtesy: Courtesy = field(default_factory=Courtesy, compare=False)

    @property
    def text_goes_to(self) -> str:
        """Where text goes, in words, with the fallback's place."""
        places = [text_goes_to(embedder) for embedder in (self.embedder, self.standby) if embedder is not None]
        return ", or as a fallback: ".join(dict.fromkeys(places)) or "nowhere"

    def close(self) -> None:
        """Close the embedder and its fallback. Idempotent."""
        for embedder in (self.embedder, self.standby):
            if embedder is not None:
                embedder.close()


@record(frozen=True, slots=True)
class Surroundings:
    """What a provider is made from besides the settings. `on_progress` gets bytes while a model is fetched."""

    environ: Mapping[str, str]
    cache_dir: Path
    on_progress: Callable[[Progress], None] | None = None
    courtesy: Courtesy = field(default_factory=Courtesy)


@record(frozen=True, slots=True)
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
    name = _automatic(settings, environ) if requested == "auto" else requested
    standby = _standby(name, settings, surroundings)
    try:
        made = PROVIDERS[name](settings, surroundings)
    except EmbeddingError as error:
        instead = "" if standby.embedder is not None else "; searches go by keyword"
        made = Made(None, f"{error}{instead}", error.remedy or None)
    identity = made.embedder.identity if made.embedder is not None else None
    return Selection(
        made.embedder,
        requested,
        identity.provider if identity is not None else "none",
        identity.model if identity is not None else "",
        made.reason,
        made.remedy,
        standby.embedder,
        standby.reason,
        surroundings.courtesy,
    )


def _automatic(settings: Settings, environ: Mapping[str, str]) -> str:
    """Local, unless the user allowed remote providers and the key of one is set."""
    if not settings.remote.allow:
        return "local"
    from core.embedding.providers import auto_choice

    return auto_choice(settings, environ) or "local"


def _standby(name: str, settings: Settings, surroundings: Surroundings) -> Made:
    """The fallback of the provider `name`, or why there is none; `model` is not for it."""
    wanted = settings.fallback
    if wanted == "none" or name == "none":
        return Made(None)
    if wanted == name:
        return Made(None, f"the fallback is the provider itself, {name}")
    try:
        if wanted == "local":
            return _local(replace(settings, model=None), surroundings)
        return _remote(wanted, standby=True)(settings, surroundings)
    except EmbeddingError as error:
        return Made(None, f"no fallback: {error}", error.remedy or None)


def _remote(name: RemoteName, *, standby: bool = False) -> Factory:
    def make(settings: Settings, surroundings: Surroundings) -> Made:
        from core.embedding.providers import make_remote  # what requests need costs a keyword search too much

        return Made(make_remote(name, settings, surroundings.environ, standby=standby))

    return make


def _local(settings: Settings, surroundings: Surroundings) -> Made:
    """An ONNX folder, a fastembed model by name, or the model that is installed. Raises ProviderUnavailable."""
    local = settings.local
    cache_dir, courtesy = surroundings.cache_dir, surroundings.courtesy

    def apart(make: Callable[[int | None], Portable]) -> Embedder:
        if not sys.executable:  # a frozen program: there is nothing to start
            return make(local.threads)
        return ApartEmbedder(make(1), threads=local.threads, courtesy=courtesy)

    installed = apart(lambda threads: LocalEmbedder(cache_dir, threads=threads, courtesy=courtesy))
    path, name = (local.model_path or "").strip(), (settings.model or "").strip()
    for text, key in ((path, "local.model_path"), (name, "model")):
        if _is_gguf(text):
            reason = f"{text} ({key}) is a GGUF model, which is not usable here; {DEFAULT_MODEL} is used"
            return Made(installed, reason, f"unset {key}, or name a folder with an ONNX model in local.model_path")
    if path:
        folder = Path(_expanded(path, surroundings.environ))
        model = own_model(folder, cache_dir)
        return Made(apart(lambda threads: LocalEmbedder(cache_dir, model=model, threads=threads, courtesy=courtesy)))
    if not name or name.lower().removeprefix("sentence-transformers/") == DEFAULT_MODEL.lower():
        return Made(installed)
    if "/" not in name:
        reason = f"{name} is not a local model; {DEFAULT_MODEL} is used"
        return Made(installed, reason, "unset model, or name a fastembed model like BAAI/bge-small-en-v1.5")
    from core.embedding.fastembed_model import FastembedEmbedder  # searches with the installed model need none of it

    models_dir = Path(_expanded(local.model_cache_dir, surroundings.environ)) if local.model_cache_dir else None
    place, environ, on_progress = models_dir or cache_dir / "models", surroundings.environ, surroundings.on_progress
    return Made(
        apart(lambda threads: FastembedEmbedder(name, place, environ=environ, threads=threads, on_progress=on_progress))
    )


def _none(settings: Settings, surroundings: Surroundings) -> Made:
    return Made(None)


REMOTE: tuple[RemoteName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible")
PROVIDERS: Mapping[str, Factory] = {"local": _local, "none": _none, **{name: _remote(name) for name in REMOTE}}
"""Every provider that this version can use, by the name that the setting has."""


def _is_gguf(text: str) -> bool:
    return text.lower().endswith(".gguf") or text.lower().startswith("hf:")


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return str(Path(path).expanduser())
