"""The kinds of values that settings have, each described once: for reading them, checking them and telling of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from core.regexes import late_regex
from core.settings.secret import Secret

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
UNITS_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
UNITS_BYTES = {"b": 1, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30}
_DURATION = late_regex(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)|0")
_SIZE = late_regex(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b)", re.I)


class Says:
    """Mark of a kind: what a value must be, in words that stand after "must be"."""

    def __init__(self, text: str) -> None:
        self.text = text


class Range:
    """Mark of a number: its bounds, which are allowed themselves."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high


class Filled:
    """Mark of a text or list: not empty."""


class Before:
    """Mark of a kind: a function from what is given to what is then checked."""

    def __init__(self, change: Callable[[object], object]) -> None:
        self.change = change


class After:
    """Mark of a kind: a function from a checked value to the one that counts. It raises ValueError ("must be …")."""

    def __init__(self, change: Callable[[Any], object]) -> None:
        self.change = change


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
    if isinstance(value, Secret):
        return value.get_secret_value()
    return value.strip() if isinstance(value, str) else value


def _headers(headers: dict[str, Secret]) -> dict[str, Secret]:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.get_secret_value().isprintable():
            raise ValueError("must be HTTP headers: names of letters, digits and signs, values on one line")
    return headers


def once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


Flag = bool
Count = Annotated[int, Range(0, 10**12)]
Positive = Annotated[int, Range(1, 10**9)]
Milliseconds = Annotated[int, Range(0, 86_400_000)]
Seconds = Annotated[float, Range(0.001, 86_400)]
Share = Annotated[float, Range(0, 1)]
Text = Annotated[str, Filled(), After(_plain)]
Texts = Annotated[tuple[Text, ...], After(once)]
Patterns = Annotated[tuple[Annotated[Text, After(_pattern)], ...], After(once)]
BaseUrl = Annotated[Text, After(_base_url), URL]
Duration = Annotated[Text, After(_duration), DURATION]
Bytes = Annotated[int, Before(_size), Range(1, 10**12), SIZE]
SecretText = Annotated[Secret, Filled(), Before(_stripped)]
Headers = Annotated[dict[str, SecretText], After(_headers)]
Ids = Annotated[dict[str, Text], Before(_ids)]
Provider = Literal["auto", "local", "openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible", "none"]
FallbackProvider = Literal["none", "local", "openai", "gemini", "voyage", "mistral", "ollama", "openai-compatible"]
CLOUD = frozenset({"openai", "gemini", "voyage", "mistral"})
