"""Secrets that stand beside a name: assignments, JSON fields, headers, flags of commands, parts of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.sources.redaction_tokens import is_random

_ANCHORS = ("key", "token", "secret", "pass", "pwd", "cvc", "cvv", "card")
_KEYWORD = (
    r"(?:key(?:[_-]?id)?|token|secret|password|passwd|passphrase|passcode|pass(?![a-z])|pwd|cvc|cvv|card[_-]?number)"
)
_FIELD = re.compile(
    f"(?P<keyword>{_KEYWORD})"
    r"(?P<quote>\\{0,6}[\"'`])?\]?\s{0,4}(?P<sign>:=|=>|=(?!=)|:(?![:/]))[ \t]{0,4}"
)
_FLAG = re.compile(rf"--(?P<before>[a-z0-9_-]{{0,40}}?)(?P<keyword>{_KEYWORD})[ \t]{{1,4}}(?=[^\s-])")
_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
_NAME_CHARACTERS = 64

_DOUBLE = re.compile(r"\"((?:[^\"\\\n]|\\.){1,4096}+)\"")
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.){1,4096}+)'|`([^`\n]{1,4096}+)`")
_ESCAPED = re.compile(r"\\{1,6}[\"']((?:[^\"'\\\n]){1,4096}+)")
_BARE = re.compile(r"(?:[^\s\"'`\\&,;<>|]|&(?!(?:amp;)?[\w.%\[\]-]{1,64}=))++")
_BARE_WIDE = re.compile(r"[^\s\"'`\\]++")
_BARE_JUDGED = 512
_LONG_VALUE = re.compile(r"[\"'`\\]{0,7}[A-Za-z0-9+/_.~-]{16}")
_JUDGED = 256
_RANDOM = re.compile(r"(?=[^0-9]{0,256}[0-9][^0-9]{0,256}[0-9][^0-9]{0,256}[0-9])(?:[^a-z]{0,256}[a-z]){3}", re.I)

_SHORT_PASS = ("pass", "pwd")
_PASS = ("password", "passwd", "passphrase", "passcode")
# Before "key": what makes it one that opens something.
_KEY_OPENS = re.compile(
    r"(?:api|access|secret|private|auth|encryption|encrypt|signing|sign|master|service|license|account|storage|admin|"
    r"client|app|ssh|deploy|webhook|subscription|consumer|server|bot|hmac|jwt|aes|rsa|vault|session)[_.-]?$"
)
# Before "token": those of tokenizers and of paging open nothing.
_TOKEN_HARMLESS = re.compile(
    r"(?:max|min|num|per|n|next|prev|previous|page|pad|eos|bos|unk|sep|cls|mask|stop|start|end|special|input|output|"
    r"prompt|completion|total|first|last|current|each|sub|context|continuation|cancel|cancellation)[_.-]?$"
)
_PLACEHOLDER = re.compile(
    r"[$<%{[(].*|\.{3}.*|…\S{4}|\*{3,}|x{3,}|(?:true|false|null|none|nil|undefined|required|optional|string|str|bytes|int|"
    r"bool|boolean|number|any|text|unknown|empty|missing|invalid|and|or|is|not|in|the|a|an)",
    re.I | re.S,
)
_REFERENCE = re.compile(
    r"(?:self|this|config|cfg|settings|env|process|os|args|options|opts|props|req|request|ctx|context|params|state|"
    r"user|data|secrets|import|window|document)(?:[.\[]|\?\.).*",
    re.S,
)
_CALL = re.compile(r"(?:await\s)?[A-Za-z_][\w.]*\(.*", re.S)
_UUID_OR_HASH = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,64}", re.I)
_END_SIGNS = ".,;:?)]}>"
_LOUD = "!"
"""Ends many secrets, and words of prose: it is masked with a value and left out when the value is judged."""
_ESCAPE_LETTERS = "abfnrtv"

_AUTHORIZATION = re.compile(
    r"authorization\\{0,6}[\"'`]?\s{0,4}[:=]\s{0,4}\\{0,6}[\"'`]?"
    r"(?:(?:bearer|basic|bot|token|digest|apikey|negotiate)[ \t]{1,4})?+([^\s\"'`\\,;]{6,}+)"
)
_BEARER = re.compile(r"bearer[ \t]{1,4}([a-z0-9._~+/=-]{18,}+)")
_PORT_DIGITS = 5
_COOKIE = re.compile(
    r"(?:(?<![\w-])|(?<=\\[abfnrtv]))(?:set-)?cookie\\{0,6}[\"'`]?\s{0,4}:\s{0,4}\\{0,6}[\"'`]?"
    r"([^\s\"'`\\=;]{1,128}=[^\n\"'`\\]{1,8192}+)"
)
# The last "@" of the authority ends it; the first one where "?" or "#" stand before it.
_USERINFO = re.compile(
    r"://(?:[^\s:/?#\"'`\\<>]{0,128}:([^\s/?#\"'`\\<>]{1,4096})@|[^\s:/@\"'`\\<>]{0,128}:([^\s@/\"'`\\<>]{1,256})@)"
)
_QUERY = re.compile(
    r"[?&](?:key|sig|signature|code|auth|x-amz-signature|x-amz-credential|x-goog-signature)=([^\s&#\"'`<>\\]{1,4096}+)"
)
_LOGIN = re.compile(r"(?<=[ \t])(?:-u|--user)[ \t]{1,4}[\"']?[\w.@+-]{1,128}:([^\s\"']{1,256})")


def field_secrets(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in `text` that the name before them gives away; `lowered` is the text in lower case."""
    # Single signs are found ten times faster than words, and most kinds need one.
    has_colon, has_equals, has_dash = ":" in lowered, "=" in lowered, "-" in lowered
    if has_colon or has_equals or (has_dash and "--" in lowered):
        places = [place for anchor in _ANCHORS if anchor in lowered for place in _places(anchor, lowered)]
        if places:
            yield from _fields(text, lowered, sorted(places))
    if (has_colon or has_equals) and "authorization" in lowered:
        yield from (found.span(1) for found in _AUTHORIZATION.finditer(lowered))
    if "bearer" in lowered:
        for found in _BEARER.finditer(lowered):
            if is_random(text[found.start(1) : found.end(1)]):
                yield found.span(1)
    if has_colon and has_equals and "cookie" in lowered:
        yield from (found.span(1) for found in _COOKIE.finditer(lowered))
    if has_colon and "://" in lowered:
        for found in _USERINFO.finditer(lowered):
            group = found.lastindex or 0
            if not found[group].isdigit() or len(found[group]) > _PORT_DIGITS:
                yield found.span(group)
        if "?" in lowered:
            for found in _QUERY.finditer(lowered):
                value = text[found.start(1) : found.end(1)]
                if len(value) >= 12 and is_random(value):
                    yield found.span(1)
    if has_colon and has_dash and "-u" in lowered:
        yield from (found.span(1) for found in _LOGIN.finditer(lowered) if not found[1].isdigit())


def _places(anchor: str, lowered: str) -> Iterator[int]:
    place = lowered.find(anchor)
    while place >= 0:
        yield place
        place = lowered.find(anchor, place + len(anchor))


def _fields(text: str, lowered: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Secrets after a name; `places` are where keywords may begin, in order."""
    looked = done = 0
    for place in places if "=" in lowered or ":" in lowered else ():
        # Matching where a keyword stands is what searching for the next one comes to, at a fraction of its cost.
        found = _FIELD.match(lowered, place) if place >= looked else None
        if found is None:
            continue
        looked = found.end()
        if place < done:
            continue
        span = _value(text, lowered, found)
        if span is not None:
            yield span
            done = span[1]
    if "--" in lowered:
        for found in _FLAG.finditer(lowered):
            if _grade(found["before"], found["keyword"]) in ("strong", "middle"):
                span, quoted = _span(text, found.end(), wide=True)
                if span is not None and (quoted or _is_value(text[span[0] : span[1]].rstrip(_LOUD))):
                    yield span if quoted else _whole(text, span, wide=True)


def _value(text: str, lowered: str, found: re.Match[str]) -> tuple[int, int] | None:
    """The span of a field's value, if it is a secret."""
    keyword, sign = found["keyword"], found["sign"]
    ahead = lowered[max(0, found.start() - _NAME_CHARACTERS) : found.start()]
    name_at = len(ahead.rstrip(_NAME_SIGNS))
    before = ahead[name_at:]
    if before and before[0] in _ESCAPE_LETTERS and ahead[:name_at].endswith("\\"):
        before = before[1:]  # of an escape as in "\nTOKEN=" within JSON
    written = text[found.start() - len(before) : found.end("keyword")]
    is_env = sign != "=>" and written.upper() == written
    grade = "strong" if is_env and keyword not in _SHORT_PASS else _grade(before, keyword)
    if grade == "none" or (grade == "weak" and _LONG_VALUE.match(text, found.end()) is None):
        return None
    span, quoted = _span(text, found.end(), wide=is_env)
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if not quoted:
        value = value.rstrip(_LOUD)
    if grade == "weak":
        return span if _is_surely_random(value) else None
    if not value or _is_harmless(value, written, quoted=quoted or is_env):
        return None
    if is_env and not keyword.startswith(("pass", "secret", "c")) and value.isdigit() and len(value) < 6:
        return None
    if keyword.startswith("c") and not any(character.isdigit() for character in value[:_JUDGED]):
        return None
    bare = not quoted and found["quote"] is None and sign == ":"
    if bare and not is_env and not _is_likely(text, span, before, grade):
        return None
    return span if quoted else _whole(text, span, wide=is_env)


def _grade(before: str, keyword: str) -> str:
    """How much a name says: strong, middle (a secret if it is written like one), weak (only if it looks random)."""
    before = before.lstrip("-.")
    if keyword in _PASS:
        return "strong"
    if keyword in _SHORT_PASS:  # alone it is a word, or the working directory
        return "strong" if before and before[-1] in "_-." else "none"
    if keyword in ("cvc", "cvv") or keyword.startswith("card"):
        return "strong" if not before or before[-1] in "_.-" else "none"
    if keyword == "secret":
        return "strong" if before else "middle"
    if keyword == "token":
        if _TOKEN_HARMLESS.search(before):
            return "none"
        return "strong" if before else "middle"
    if _KEY_OPENS.search(before):
        return "strong"
    return "weak" if not before or before[-1] in "_.-" else "none"


def _span(text: str, start: int, *, wide: bool) -> tuple[tuple[int, int] | None, bool]:
    """Where the value that begins at `start` stands, without quotes and signs after it, and whether it is quoted."""
    sign = text[start : start + 1]
    quoted: re.Match[str] | None = None
    if sign == '"':
        quoted = _DOUBLE.match(text, start)
    elif sign in ("'", "`") and sign:
        quoted = _SINGLE.match(text, start)
    elif sign == "\\":
        quoted = _ESCAPED.match(text, start)
    if quoted is not None:
        return quoted.span(quoted.lastindex or 0), True
    if sign in ('"', "'", "`"):
        start += 1
    bare = (_BARE_WIDE if wide else _BARE).match(text, start, start + _BARE_JUDGED)
    if bare is None:
        return None, False
    end = bare.end()
    while end > bare.start() and text[end - 1] in _END_SIGNS:
        end -= 1
    return ((bare.start(), end) if end > bare.start() else None), False


def _whole(text: str, span: tuple[int, int], *, wide: bool) -> tuple[int, int]:
    """The span of a bare value that may go on beyond what was judged."""
    if span[1] - span[0] < _BARE_JUDGED - 1:
        return span
    whole = (_BARE_WIDE if wide else _BARE).match(text, span[0])
    return whole.span() if whole is not None else span


def _is_value(bare: str) -> bool:
    return bare != "" and _PLACEHOLDER.fullmatch(bare[:_JUDGED]) is None


def _is_harmless(value: str, written: str, *, quoted: bool) -> bool:
    """Placeholders, references to variables and calls are no secrets."""
    head = value[:_JUDGED]
    if _PLACEHOLDER.fullmatch(head) or head.lower() == written.rpartition(".")[2].lower():
        return True
    return not quoted and (_REFERENCE.fullmatch(head) is not None or _CALL.fullmatch(head) is not None)


def _is_likely(text: str, span: tuple[int, int], before: str, grade: str) -> bool:
    """Whether the word after `name: ` is a value and no prose."""
    if grade == "strong" and before:
        return True
    value = text[span[0] : span[1]].rstrip(_LOUD)
    if grade == "middle":
        return _is_surely_random(value)
    if not value.isalpha() or not value.islower():
        return True
    end = span[0] + len(value)
    line_end = text.find("\n", end, end + 8)
    rest = text[end : line_end if line_end >= 0 else end + 8]
    return not rest.strip(" \t\r,;")


def _is_surely_random(value: str) -> bool:
    """At least 16 characters with 3 digits and 3 letters, and no hash or UUID."""
    head = value[:_JUDGED]
    return len(head) >= 16 and _RANDOM.match(head) is not None and _UUID_OR_HASH.fullmatch(head) is None
