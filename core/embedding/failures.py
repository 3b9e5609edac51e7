"""What a provider's answer means when it is no vector: wait, give up, ask for less, or set something right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from core.embedding.http import Reply
from core.errors import EmbeddingError, ProviderUnavailable, QuotaExhausted
from core.records import record

QUOTED = 200
"""Characters of a provider's own words that an error repeats."""

_SIZE = re.compile(
    r"too (?:large|long|big|many (?:inputs|tokens|texts|requests in|items|elements))|context.length|input length"
    r"|max(?:imum)?[_ ](?:\d+|allowed|batch|context|input|number|request|sequence|tokens)|batch.?size|larger than"
    r"|exceed|split into more|payload|at most \d+",
    re.I,
)
_SIZE_OF_A_FAILURE = re.compile(r"input is too large|input length|context length|increase the physical batch", re.I)
_RATE = re.compile(r"rate.?limit|tokens per day", re.I)
_PASSING = re.compile(r"cloudflare|overloaded", re.I)
_KEY = re.compile(r"api.?key (?:not valid|expired|is invalid)|(?:invalid|incorrect) api.?key", re.I)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|billing_hard_limit|billing hard limit|out of credits?"
    r"|credit balance|payment required|quota (?:is )?(?:exhausted|used up)",
    re.I,
)
_BETWEEN_SECRETS = re.compile(r"[\s;,=:]+")
_SECRETS = re.compile(r"\b(?:sk|pa|rk|AIza|Bearer)[-_ ]?[-\w*.]{8,}")


class Rejected(EmbeddingError):
    """The provider will not take this request; `about_size` when it said that there is too much of it."""

    def __init__(self, message: str, *, about_size: bool) -> None:
        super().__init__(message)
        self.about_size = about_size


class BadReply(EmbeddingError):
    """An answer that does not match its request: too few, too many, twice, or out of place."""


@record(frozen=True, slots=True)
class Addressee:
    """Whom requests go to, as errors name it.

    `key_remedy` says what to do when the key is refused, `model_remedy` when the model is unknown, `start_remedy` when
    nobody answers. `secrets` never appear in an error. `is_quota` tells by an error's text and JSON whether the quota
    is used up, beyond what is told alike everywhere.
    """

    name: str
    host: str
    model: str
    key_remedy: str
    model_remedy: str
    start_remedy: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_quota: Callable[[str, object], bool] | None = None

    def cleaned(self, text: str) -> str:
        """A provider's words on one short line, without a secret; of a header like "Bearer TOKEN" neither part."""
        parts = {part for secret in self.secrets for part in (secret, *_BETWEEN_SECRETS.split(secret))}
        for part in sorted(parts, key=len, reverse=True):
            if len(part) >= 6:
                text = text.replace(part, "***")
        return " ".join(_SECRETS.sub("***", text).split())[:QUOTED]


def failure_of(reply: Reply, to: Addressee, *, now: float) -> EmbeddingError:
    """The error that a reply with a status other than 200 stands for; `now` in epoch seconds."""
    status = reply.status
    if 300 <= status < 400:
        target = _host(reply.headers.get("location", "")) or "another address"
        message = f"{to.host} sends its callers on to {to.cleaned(target)}, where no key and no text is sent"
        return ProviderUnavailable(message, remedy=f"set the base_url of {to.name} to the address that answers")
    value = parsed(reply.body)
    words = "" if value is None and b"<html" in reply.body[:1000].lower() else _words(value, reply.body)
    said = f": {to.cleaned(words)}" if words else ""
    raw = reply.body.decode("utf-8", "replace")
    if status == 402 or (status in (403, 429) and _is_quota(to, raw, value)):
        return QuotaExhausted(f"the quota of {to.name} is used up{said}", remedy="top up, or choose another provider")
    refused = any(detail.get("reason") == "API_KEY_INVALID" for detail in details(value)) or _KEY.search(words)
    if status == 401 or (status in (400, 403) and refused):
        return ProviderUnavailable(f"{to.name} refuses the key ({status})", remedy=to.key_remedy)
    # A provider's words may quote the text that was sent: only where none was read are they searched whole.
    if status in (408, 409, 425, 429) or _RATE.search(words) or (status == 403 and _PASSING.search(raw)):
        wait = waiting_time(reply, value, now=now)
        message = f"{to.name} has reached its limit of requests ({status}){said}"
        return EmbeddingError(message, retryable=True, retry_after=wait)
    if status >= 500:
        if _SIZE_OF_A_FAILURE.search(words):
            return Rejected(f"{to.name} cannot take this much{said}", about_size=True)
        wait = waiting_time(reply, value, now=now)
        return EmbeddingError(f"{to.name} failed ({status}){said}", retryable=True, retry_after=wait)
    if status == 403:
        return ProviderUnavailable(f"{to.name} refuses access (403){said}", remedy=to.key_remedy)
    if status == 404:
        return ProviderUnavailable(f"{to.name} has no model {to.model} there (404){said}", remedy=to.model_remedy)
    if status in (400, 413, 422):
        about_size = status == 413 or _SIZE.search(words) is not None
        return Rejected(f"{to.name} rejects the text ({status}){said}", about_size=about_size)
    return EmbeddingError(f"{to.name} gave an unexpected answer ({status}){said}", remedy=to.model_remedy)


def waiting_time(reply: Reply, value: object, *, now: float) -> float | None:
    """Seconds that a reply asks to wait: Retry-After in seconds or as a date, or Google's RetryInfo; else None."""
    headers = reply.headers
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    hint = headers.get("retry-after", "").strip()
    stated = _seconds(hint)
    if stated is None and hint:
        until = _epoch(hint)
        sent = _epoch(headers.get("date", ""))  # the provider's clock, where it says, not ours
        stated = max(0.0, until - (sent if sent is not None else now)) if until is not None else None
    if stated is not None:
        return stated
    for detail in details(value):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _seconds(delay[:-1])
    return None


def details(value: object) -> Iterable[dict[str, object]]:
    """The `error.details` of a Google reply."""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error") if isinstance(value, dict) else None
    found = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in found if isinstance(detail, dict)] if isinstance(found, list) else []


def parsed(body: bytes) -> object:
    """The JSON of a body, None if there is none; a byte order mark, blanks and noise before it are skipped.

    NaN and Infinity are numbers here, so that they can be refused with the text that they belong to.
    """
    import orjson

    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    else:
        return value
    text = body.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    for start in [0, *sorted(place for place in (text.find("{"), text.find("[")) if place > 0)]:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return value
    return None


def _is_quota(to: Addressee, raw: str, value: object) -> bool:
    return to.is_quota(raw, value) if to.is_quota is not None else _QUOTA.search(raw) is not None


def _words(value: object, body: bytes) -> str:
    """What an error reply says to people."""
    if isinstance(value, list) and value:
        value = value[0]
    for _ in range(3):
        if not isinstance(value, dict):
            break
        value = next((value[name] for name in ("error", "message", "detail", "msg") if value.get(name)), None)
        if isinstance(value, list) and value:
            value = value[0]
    if isinstance(value, str):
        return value
    return "" if value is not None else body.decode("utf-8", "replace")


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _epoch(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
