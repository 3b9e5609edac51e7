"""Values of settings: what is allowed, how they are shown, and how text from outside becomes one of them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.regexes import late_regex
from core.settings.description import Kind, Odd, kind_of
from core.settings.files import Unreadable, shallow
from core.settings.keys import Leaf, fold, nearest
from core.settings.secret import Secret

MASK = "***"
_VARIABLE = late_regex(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME = late_regex(r"key|token|secret|passw|auth|header|cookie|credential", re.I)
_SECRET_TEXT = late_regex(
    r"(?i)\b(?:sk|pk|pa|xai|gsk|ghp|hf)[-_]\w|AIza\w|bearer |//[^/\s]*@|[?&][^=\s]+="
    r"|[0-9a-f]{8}-[0-9a-f]{4}-|(?=\w*\d)(?=\w*[a-z])\w{20,}"
)
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@functools.cache
def leaf_kind(leaf: Leaf) -> Kind:
    return kind_of(leaf.annotation)


def shown(value: object, *, secret: bool = False, name: str = "") -> str:
    """A value as one short line without control characters; whatever may be a secret is masked."""
    if isinstance(value, Secret) or (secret and value is not None):
        return MASK
    if isinstance(value, str) and (_SECRET_NAME.search(name) or _SECRET_TEXT.search(value)):
        return MASK
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [shown(item, name=name) for item in value[:5]]
        return f"[{', '.join([*parts, '…'] if len(value) > 5 else parts)}]"
    return printable(json.dumps(value, ensure_ascii=False, default=str), 60)


def printable(text: str, limit: int = 200) -> str:
    """`text` on one line, cut to `limit`, with whatever does not print as an escape."""
    cut = text if len(text) <= limit else f"{text[:limit]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


def expand(value: object, environ: Mapping[str, str]) -> tuple[object, tuple[str, ...], bool]:
    """`${NAME}` replaced by variables, also in lists and tables; `$${` stands for `${`.

    Returns the value, the names of variables that are not set or empty, and whether anything was replaced.
    """
    missing: list[str] = []
    replaced = False

    def variable(match: re.Match[str]) -> str:
        nonlocal replaced
        replaced = True
        if match[1] is None:
            return "${"
        if not environ.get(match[1]):
            missing.append(match[1])
        return environ.get(match[1], "")

    def visit(inner: object) -> object:
        if isinstance(inner, str):
            return _VARIABLE.sub(variable, inner) if "${" in inner else inner
        if isinstance(inner, list):
            return [visit(item) for item in inner]
        if isinstance(inner, dict):
            return {name: visit(item) for name, item in inner.items()}
        return inner

    return visit(value), tuple(dict.fromkeys(missing)), replaced


def from_text(text: str, kind: Kind) -> object:
    """Text of a variable or flag as the value that the kind wants; unchanged where it cannot be."""
    stripped = text.strip()
    if kind.name == "bool":
        return _WORDS.get(stripped.lower(), text)
    if kind.name in ("int", "float"):
        try:
            return int(stripped) if kind.name == "int" else float(stripped)
        except ValueError:
            return text
    if kind.name in ("list", "map") and stripped[:1] in ("[", "{"):
        try:
            loaded: object = json.loads(stripped)
            shallow(loaded)
            return loaded
        except (ValueError, RecursionError, Unreadable):
            return text
    if kind.name == "list":
        return [item.strip() for item in text.split(",") if item.strip()]
    return text


def check(leaf: Leaf, value: object, *, key: str, where: str, raw: object = None) -> tuple[object, list[str]]:
    """The value as the model holds it, and one line for each thing wrong with it.

    `raw` is what was written, shown in place of a value that came from a variable.
    """
    kind = leaf_kind(leaf)
    try:
        return kind.fit(value), []
    except Odd:
        from core.settings.checks import checked

    fitting, details = checked(kind, value)
    lines = []
    for detail in details:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in detail["loc"])
        part = kind
        for step in detail["loc"]:
            part = kind.inner if isinstance(step, int) and kind.inner is not None else Kind("text")
        given = detail["input"] if raw is None or raw == value else raw
        lines.append(_line(key + place, part, detail, given, where, kind.secret))
    return fitting, lines


def _line(key: str, kind: Kind, detail: Mapping[str, Any], given: object, where: str, secret: bool) -> str:
    if detail["type"] == "missing":
        return wrong(key, None, "is missing", where)
    if detail["type"] == "extra_forbidden":
        return wrong(key, given, "no such key here", where, secret=True)
    if detail["type"] == "value_error":
        must = str(detail["ctx"]["error"])
    elif kind.name == "text" and len(detail["loc"]) > 1:
        must = "must be " + str(detail["msg"]).removeprefix("Input should be ").replace("a valid string", "text")
    else:
        must = f"must be {kind.allowed()}"
    hint = nearest(given, kind.choices) if isinstance(given, str) and kind.choices else None
    return wrong(key, given, must, where, hint=json.dumps(hint) if hint else None, secret=secret)


def wrong(
    key: str, value: object, must: str, where: str, *, hint: str | None = None, secret: bool = False, name: str = ""
) -> str:
    """One line: key, value, what is allowed, where it stands, the nearest right name."""
    given = "" if value is None else f" = {shown(value, secret=secret, name=name)}"
    return f"{printable(key)}{given}: {must} ({printable(where)}){f'; did you mean {hint}?' if hint else ''}"


def in_style(key: str, written: str) -> str:
    """`key` in camelCase if `written` is, so that a hint looks like the file it is for."""
    if written == written.lower():
        return key
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), key)


def folded(path: Sequence[str | int]) -> tuple[str, ...]:
    """A written path without its list positions, folded."""
    return tuple(fold(part) for part in path if isinstance(part, str))
