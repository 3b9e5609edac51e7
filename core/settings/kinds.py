"""The kinds of values that settings have, and the base of every group."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, Strict, StringConstraints
from pydantic.alias_generators import to_camel

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
UNITS_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
UNITS_BYTES = {"b": 1, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)|0")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b)", re.I)


@dataclass(frozen=True, slots=True)
class Says:
    """What a value must be, in words that stand after "must be"."""

    text: str


URL = Says("an http:// or https:// address without user, password and query")
DURATION = Says('a duration like "30s", "5m" or "1h", or "0" for never')
SIZE = Says('a number of bytes above 0, or text like "2MiB"')


def is_loopback(url: str) -> bool:
    """Whether an address stays on this machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def seconds(duration: str) -> float:
    """`30s`, `5m`, `1h` in seconds; `0` is 0."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise ValueError(f"must be {DURATION.text}")
    return float(match[1]) * UNITS_SECONDS[match[2]] if match[1] else 0.0


def _duration(text: str) -> str:
    seconds(text)
    return text


def _base_url(text: str) -> str:
    problem = f"must be {URL.text}"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise ValueError(problem) from error
    extras = parts.username or parts.password or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or extras or re.search(r"\s", text):
        raise ValueError(problem)
    return text


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("must be text without NUL characters")
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"must be a regular expression ({error})") from error
    return text


def _size(value: object) -> object:
    """Bytes as a number, or text like 2MiB; k, M and G are powers of 1024."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(float(match[1]) * UNITS_BYTES[match[2].lower()]) if match else value


def _ids(value: object) -> object:
    """Nested tables as one table with dotted names: TOML reads `app.quit = "q"` as a table in a table."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, object] = {}
    for name, inner in value.items():
        nested = _ids(inner)
        if isinstance(nested, dict):
            flat.update({f"{name}.{rest}": leaf for rest, leaf in nested.items()})
        else:
            flat[str(name)] = nested
    return flat


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _headers(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.get_secret_value().isprintable():
            raise ValueError("must be HTTP headers: names of letters, digits and signs, values on one line")
    return headers


def once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=10**12)]
Positive = Annotated[int, Strict(), Field(ge=1, le=10**9)]
Milliseconds = Annotated[int, Strict(), Field(ge=0, le=86_400_000)]
Seconds = Annotated[float, Strict(), Field(ge=0.001, le=86_400, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Strict(), StringConstraints(min_length=1), AfterValidator(_plain)]
Texts = Annotated[tuple[Text, ...], AfterValidator(once)]
Patterns = Annotated[tuple[Annotated[Text, AfterValidator(_pattern)], ...], AfterValidator(once)]
BaseUrl = Annotated[Text, AfterValidator(_base_url), URL]
Duration = Annotated[Text, AfterValidator(_duration), DURATION]
Bytes = Annotated[int, BeforeValidator(_size), Strict(), Field(ge=1, le=10**12), SIZE]
Secret = Annotated[SecretStr, Field(min_length=1), BeforeValidator(_stripped)]
Headers = Annotated[dict[str, Secret], AfterValidator(_headers)]
Ids = Annotated[dict[str, Text], BeforeValidator(_ids)]
Provider = Literal["auto", "local", "openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible", "none"]
FallbackProvider = Literal["none", "local", "openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible"]
CLOUD = frozenset({"openai", "gemini", "voyage", "mistral"})


class Item(BaseModel):
    """Base of the tables that stand in lists: immutable, closed, snake_case or camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )


class Group(Item):
    """Base of the groups of settings."""
