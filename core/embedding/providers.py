"""The remote providers made from settings: whose key, which address, which model, and who may come into question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from core.embedding import gemini, mistral, ollama, openai, openai_compatible, voyage
from core.embedding.asking import Asker
from core.embedding.base import Embedder, EmbedderLimits
from core.embedding.batch import BatchApi
from core.embedding.failures import Addressee
from core.embedding.gemini_batch import GeminiBatches
from core.embedding.http import Connection
from core.embedding.multimodal import GeminiMediaEmbedder
from core.embedding.openai_batch import OpenAIBatches
from core.embedding.prefixes import Prefixes, prefixes_of
from core.embedding.profiles import profile_of
from core.embedding.remote import RemoteEmbedder, Seconds, Wire
from core.errors import ProviderUnavailable
from core.records import record
from core.settings import Settings
from core.settings.kinds import CLOUD, is_loopback
from core.settings.model import Endpoint, Remote
from core.types import EmbeddingIdentity

RemoteName = Literal["openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible"]

AUTO_ORDER: tuple[RemoteName, ...] = ("openai", "gemini", "voyage", "mistral")
"""Whom `auto` takes, given a key and `remote.allow`."""

LOCAL_SECONDS = Seconds(query=300.0, documents=600.0)
"""What a server on this machine gets where the settings say nothing else: it may have to load its model first."""

_SECTIONS: Mapping[str, str] = {"openai": "open_ai", "gemini": "gemini", "voyage": "voyage", "mistral": "mistral"}
_KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": openai.KEYS,
    "gemini": gemini.KEYS,
    "voyage": voyage.KEYS,
    "mistral": mistral.KEYS,
    "ollama": ollama.KEYS,
    "openai-compatible": (),
}
_BASES: Mapping[str, str] = {
    "openai": openai.BASE_URL,
    "gemini": gemini.BASE_URL,
    "voyage": voyage.BASE_URL,
    "mistral": mistral.BASE_URL,
}
_MODELS: Mapping[str, str] = {
    "openai": openai.MODEL,
    "gemini": gemini.MODEL,
    "voyage": voyage.MODEL,
    "mistral": mistral.MODEL,
    "ollama": ollama.MODEL,
}
_LIMITS: Mapping[str, EmbedderLimits] = {
    "openai": openai.LIMITS,
    "gemini": gemini.LIMITS,
    "voyage": voyage.LIMITS,
    "mistral": mistral.LIMITS,
    "ollama": ollama.LIMITS,
    "openai-compatible": openai_compatible.LIMITS,
}


@record(frozen=True, slots=True)
class Key:
    """A key, and the setting or variable that it came from."""

    value: str = field(repr=False)
    origin: str


@record(frozen=True, slots=True)
class _Choice:
    """What the settings say of one provider; `dims` and the input types are None where they are not its own."""

    name: RemoteName
    key: Key | None
    base_url: str
    model: str
    headers: Mapping[str, str] = field(repr=False)
    dims: int | None = None
    query_type: str | None = None
    document_type: str | None = None

    @property
    def here(self) -> bool:
        return is_loopback(self.base_url)


def make_remote(name: RemoteName, settings: Settings, environ: Mapping[str, str], *, standby: bool = False) -> Embedder:
    """The embedder of a remote provider; nothing is sent yet.

    As `standby` it gets only what was set for it alone: the general `remote.*`, `model` and `output_dimensionality`
    are the first provider's. Raises ProviderUnavailable, which names what is missing and where to set it.
    """
    if not _may_leave(name, settings):
        raise ProviderUnavailable(
            f"{name} would send text to another machine, which no setting of memdeck allows",
            remedy=f'set provider = "{name}" or remote.allow = true in memdeck\'s config.toml',
        )
    choice = _chosen(name, settings, environ, standby=standby)
    wire, recipe = _wire(choice)
    endpoint = normalised_endpoint(choice.base_url)
    identity = EmbeddingIdentity(name, choice.model, endpoint, choice.dims, recipe)
    limits = _LIMITS[name]
    if name == "gemini" and gemini.is_second_generation(choice.model):
        limits = gemini.LIMITS_2
    connection = Connection(
        choice.base_url, _headers(choice), connections=max(4, settings.indexing.concurrency or 4) + 2, here=choice.here
    )
    asker = Asker(connection, _addressee(choice, connection.host))
    media = name == "gemini" and gemini.is_second_generation(choice.model)
    kind = GeminiMediaEmbedder if media else RemoteEmbedder
    return kind(
        identity, wire, asker, limits=limits, profile=profile_of(choice.model), seconds=_seconds(choice, settings)
    )


def batch_api(embedder: Embedder | None) -> BatchApi | None:
    """The asynchronous batch API of an embedder's provider, where it has one."""
    if not isinstance(embedder, RemoteEmbedder):
        return None
    if embedder.identity.provider == "openai" and isinstance(embedder.wire, openai.OpenAIWire):
        return OpenAIBatches(embedder, embedder.wire)
    if embedder.identity.provider == "gemini" and isinstance(embedder.wire, gemini.GeminiWire):
        return GeminiBatches(embedder, embedder.wire)
    return None


def auto_choice(settings: Settings, environ: Mapping[str, str]) -> RemoteName | None:
    """The remote provider that `auto` means: the first whose key is set, if `remote.allow` is true; else None.

    `remote.api_key` alone is taken for OpenAI's.
    """
    if not settings.remote.allow:
        return None
    return next((name for name in AUTO_ORDER if _key(name, settings, environ, standby=name != "openai")), None)


def normalised_endpoint(url: str) -> str:
    """An address as identities hold it: lower-case host, no credentials, no default port, no slash at the end."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port is not None and parts.port != default else ""
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


def _may_leave(name: RemoteName, settings: Settings) -> bool:
    """Whether the settings chose that text may go there, or it stays here."""
    if settings.remote_chosen:
        return True
    if name == "ollama":
        return is_loopback(_ollama_url(settings, standby=False)) and is_loopback(_ollama_url(settings, standby=True))
    return name == "openai-compatible" and is_loopback(settings.remote.base_url or "")


def _chosen(name: RemoteName, settings: Settings, environ: Mapping[str, str], *, standby: bool) -> _Choice:
    remote = settings.remote
    key = _key(name, settings, environ, standby=standby)
    if key is None and name in CLOUD:
        section = _SECTIONS[name]
        wanted = " or ".join(_KEYS[name])
        raise ProviderUnavailable(f"{name} needs an API key", remedy=f"set {wanted}, or remote.{section}.api_key")
    own = _own(name, remote)
    general = not standby
    model = _model(name, settings, own, standby=standby)
    base_url = _base_url(name, settings, own, standby=standby)
    compatible = name == "openai-compatible"
    typed = compatible and (general or settings.provider in ("auto", "local", "none"))
    return _Choice(
        name,
        key,
        base_url,
        model,
        remote.header_values() if general or typed else {},
        settings.output_dimensionality if general else None,
        (settings.query_input_type or settings.input_type) if typed else None,
        (settings.document_input_type or settings.input_type) if typed else None,
    )


def _own(name: RemoteName, remote: Remote) -> Endpoint | None:
    own = {"openai": remote.open_ai, "gemini": remote.gemini, "voyage": remote.voyage, "mistral": remote.mistral}
    return own.get(name)


def _key(name: RemoteName, settings: Settings, environ: Mapping[str, str], *, standby: bool) -> Key | None:
    own = _own(name, settings.remote)
    if own is not None and own.api_key is not None:
        return Key(own.api_key.get_secret_value(), f"remote.{_SECTIONS[name]}.api_key")
    general = settings.remote.api_key
    if general is not None and (not standby or name == "openai-compatible"):
        return Key(general.get_secret_value(), "remote.api_key")
    for variable in _KEYS[name]:
        value = environ.get(variable, "").strip()
        if value:
            return Key(value, variable)
    return None


def _model(name: RemoteName, settings: Settings, own: Endpoint | None, *, standby: bool) -> str:
    if name == "ollama" and settings.local.ollama.model:
        return settings.local.ollama.model
    model = (own.model if own is not None else None) or (
        settings.model if not standby or name == "openai-compatible" else None
    )
    if model is None and name not in _MODELS:
        raise ProviderUnavailable(f"{name} needs a model", remedy="set model to a name that the server knows")
    model = model or _MODELS[name]
    return gemini.model_name(model) if name == "gemini" else model


def _base_url(name: RemoteName, settings: Settings, own: Endpoint | None, *, standby: bool) -> str:
    general = settings.remote.base_url
    if name == "ollama":
        return ollama.ollama_base_url(_ollama_url(settings, standby=standby))
    if name == "openai-compatible":
        if general is None:
            raise ProviderUnavailable(
                f"{name} needs an address", remedy="set remote.base_url, like http://host:1234/v1"
            )
        if standby and settings.provider in CLOUD:
            message = f"as a fallback, {name} has no address of its own: remote.base_url is that of {settings.provider}"
            raise ProviderUnavailable(message, remedy="choose another fallback")
        return openai_compatible.compatible_base_url(general)
    given = (own.base_url if own is not None else None) or (general if not standby else None)
    if given is None:
        return _BASES[name]
    return given if name == "gemini" else openai_compatible.compatible_base_url(given)


def _ollama_url(settings: Settings, *, standby: bool) -> str:
    """Ollama's own address where it was set; else the general one, of a chosen provider."""
    own, general = settings.local.ollama.base_url, settings.remote.base_url
    default = type(settings.local.ollama).base_url
    return general if general is not None and own == default and not standby else own


def _wire(choice: _Choice) -> tuple[Wire, str]:
    """How to speak to a provider, and in words what of that shapes its vectors."""
    model, dims = choice.model, choice.dims
    shape = [f"dims {dims}"] if dims is not None else []
    if choice.name == "gemini":
        wire = gemini.GeminiWire(model, dims)
        tasks = f"{gemini.QUERY_TASK}, {gemini.DOCUMENT_TASK}"
        return wire, "; ".join([str(wire.prompts) or tasks, *shape])
    if choice.name == "voyage":
        return voyage.voyage_wire(model, dims), "; ".join(["input types query, document", *shape])
    if choice.name == "mistral":
        return mistral.mistral_wire(model, dims), "; ".join(shape)
    if choice.name == "openai":
        return openai.openai_wire(model, dims), "; ".join(shape)
    prefixes = prefixes_of(model)
    if choice.name == "ollama":
        return ollama.OllamaWire(model, dims, prefixes), _recipe(prefixes, shape)
    compatible = openai_compatible.compatible_wire(
        model, dims, query_type=choice.query_type, document_type=choice.document_type
    )
    if choice.query_type or choice.document_type:
        shape = [f"input types {choice.query_type}, {choice.document_type}", *shape]
    return compatible, _recipe(compatible.prefixes, shape)


def _recipe(prefixes: Prefixes, shape: list[str]) -> str:
    return "; ".join(part for part in (str(prefixes), *shape) if part)


def _headers(choice: _Choice) -> dict[str, str]:
    headers = {name.lower(): value for name, value in choice.headers.items()}
    if choice.key is not None:
        if choice.name == "gemini":
            headers.setdefault("x-goog-api-key", choice.key.value)
        else:
            headers.setdefault("authorization", f"Bearer {choice.key.value}")
    return headers


def _addressee(choice: _Choice, host: str) -> Addressee:
    origin = choice.key.origin if choice.key is not None else "remote.api_key"
    start = model = ""
    if choice.name == "ollama":
        start = f"start it with `ollama serve`, or set local.ollama.base_url (now {choice.base_url})"
        model = f"run `ollama pull {choice.model}`"
    elif choice.here:
        start = f"start the server at {choice.base_url}, or set remote.base_url"
    secrets = [*choice.headers.values(), *([choice.key.value] if choice.key is not None else [])]
    return Addressee(
        choice.name,
        host,
        choice.model,
        key_remedy=f"check the key in {origin}",
        model_remedy=model or "check model, and base_url if it is set",
        start_remedy=start or "check the network; what is missing follows when it is back",
        secrets=tuple(secrets),
        is_quota=gemini.is_daily_quota if choice.name == "gemini" else None,
    )


def _seconds(choice: _Choice, settings: Settings) -> Seconds:
    remote = settings.remote
    given = Seconds(remote.timeout_seconds, remote.batch_timeout_seconds)
    if not choice.here:
        return given
    if given.query == Remote.timeout_seconds:
        given = replace(given, query=LOCAL_SECONDS.query)
    if given.documents == Remote.batch_timeout_seconds:
        given = replace(given, documents=LOCAL_SECONDS.documents)
    return given
