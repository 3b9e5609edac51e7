"""Secrets that their own form gives away: tokens with a known prefix, JSON web tokens, webhooks, bot tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = "[A-Za-z0-9_-]"
_PLAIN = "[A-Za-z0-9]"
_SHORTEST = 12
_ESCAPES = (
    r"\\[abfnrtv]",
    r"\\u[0-9A-Fa-f]{4}",
    r"\\x[0-9A-Fa-f]{2}",
    r"%[0-9A-Fa-f]{2}",
    *(rf"\[{shade}m" for shade in ("", "[0-9]", "[0-9]{2}")),
    *(rf";{shade}m" for shade in ("[0-9]", "[0-9]{2}", "[0-9]{3}")),
)

# Prefix, what may follow, how much of it at least.
_PREFIXES: tuple[tuple[str, str, int], ...] = (
    ("sk-", _WORD, 8),
    *((f"gh{kind}_", _PLAIN, 20) for kind in "pousr"),
    ("github_pat_", "[A-Za-z0-9_]", 20),
    ("glpat-", _WORD, 16),
    ("gloas-", _WORD, 16),
    *((f"xox{kind}-", "[A-Za-z0-9-]", 10) for kind in "abprse"),
    ("xapp-", "[A-Za-z0-9-]", 10),
    ("gsk_", _WORD, 10),
    ("AIza", _WORD, 20),
    ("ya29.", _WORD, 10),
    ("1//0", _WORD, 16),
    ("pplx-", _WORD, 10),
    ("fal_", "[A-Za-z0-9_:-]", 16),
    ("fc-", _PLAIN, 16),
    ("bb_live_", _WORD, 10),
    ("sk_live_", _WORD, 10),
    ("sk_test_", _WORD, 10),
    ("rk_live_", _WORD, 10),
    ("rk_test_", _WORD, 10),
    ("whsec_", _WORD, 16),
    ("SG.", "[A-Za-z0-9_.-]", 16),
    ("npm_", _PLAIN, 10),
    ("pypi-", _WORD, 16),
    ("dop_v1_", _PLAIN, 16),
    ("doo_v1_", _PLAIN, 16),
    ("dor_v1_", _PLAIN, 16),
    ("dp.", "[A-Za-z0-9._-]", 20),
    ("dckr_", _WORD, 16),
    ("sbp_", _PLAIN, 16),
    ("glsa_", "[A-Za-z0-9_]", 16),
    ("nfp_", _PLAIN, 16),
    ("CFPAT-", _WORD, 16),
    ("HRKU-AA", _WORD, 16),
    ("pat-eu", _WORD, 16),
    ("pat-na", _WORD, 16),
    ("apify_api_", _PLAIN, 16),
    ("tvly-", _WORD, 12),
    ("exa_", _WORD, 16),
    ("mem0_", _WORD, 16),
    ("xai-", _WORD, 16),
    ("AKIA", "[A-Z0-9]", 12),
    ("ASIA", "[A-Z0-9]", 12),
    ("AKID", _PLAIN, 12),
    ("LTAI", _PLAIN, 12),
    ("hf_", _PLAIN, 16),
    ("api_org_", _PLAIN, 16),
    ("r8_", _PLAIN, 16),
)


def _begun(token: str, joined: str = _PLAIN) -> str:
    """That what was matched, `token`, has no sign of `joined` before it but those that end an escape.

    As in `\\nsk-`, `\\u003dsk-` and `%3Dsk-` within JSON and addresses, and in the colours of a terminal.
    """
    escaped = "".join(f"|(?<={end}{token})" for end in _ESCAPES)
    return f"(?:(?<!{joined}{token}){escaped})"


# The prefix stands first in each pattern, so that the search for it is quick.
_TOKENS = tuple(
    (prefix, re.compile(f"{re.escape(prefix)}{_begun(re.escape(prefix))}{tail}{{{least},}}+"))
    for prefix, tail, least in _PREFIXES
)
# By a sign that the prefix holds: one sign is found ten times faster than a word, and most texts hold few.
_BY_SIGN: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _prefix, _pattern in _TOKENS:
    _BY_SIGN.setdefault(next(sign for sign in "-_./A" if sign in _prefix), []).append((_prefix, _pattern))
_WEB_TOKEN = re.compile(rf"eyJ{_begun('eyJ', _WORD)}[A-Za-z0-9_-]{{6,}}+\.[A-Za-z0-9_-]{{4,}}+(?:\.[A-Za-z0-9_-]*+)?")
_BOT_TOKEN = re.compile(r"[0-9]{6,16}+:([A-Za-z0-9_-]{20,}+)")
# What stands before a bot token: no letter or digit, unless it is `bot` in an address, or the end of an escape.
_BOT_BEGINS = re.compile(rf"{_begun('')}|(?<=bot)", re.I)
_BOT_TAIL = re.compile(":[A-Za-z0-9_-]{20}")
_SLACK_HOOK = re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{8,}+)")
_DISCORD_HOOK = re.compile(r"discord(?:app)?\.com/api/(?:v[0-9]{1,3}/)?webhooks/[0-9]{1,30}/([A-Za-z0-9_-]{8,}+)")
_LONG_RUN = re.compile("[A-Za-z0-9]{16}")
_NOT_LOWER = re.compile("[A-Z0-9]")


def token_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in `text` that can be told by their form."""
    if len(text) < _SHORTEST:
        return
    for sign, tokens in _BY_SIGN.items():
        if sign in text:
            for prefix, pattern in tokens:
                if prefix in text:
                    for found in pattern.finditer(text):
                        if is_random(text[found.start() + len(prefix) : found.end()]):
                            yield found.span()
    if "J" in text and "eyJ" in text:
        yield from (found.span() for found in _WEB_TOKEN.finditer(text))
    if ":" in text and _BOT_TAIL.search(text) is not None:
        for found in _BOT_TOKEN.finditer(text):
            if _BOT_BEGINS.match(text, found.start()) is not None and is_random(found[1]):
                yield found.span()
    if "/" not in text:
        return
    if "hooks.slack.com/" in text:
        yield from (found.span(1) for found in _SLACK_HOOK.finditer(text))
    if "/webhooks/" in text:
        yield from (found.span(1) for found in _DISCORD_HOOK.finditer(text))


def is_random(text: str) -> bool:
    """Whether a text can be random: digits or capitals in it, or a long run; not words joined by signs."""
    return _NOT_LOWER.search(text) is not None or _LONG_RUN.search(text) is not None
