"""OpenClaw's own openclaw.json: read as JSON5, and what of it counts here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.regexes import late_regex
from core.settings.files import KeyPath, SettingsFile, Unreadable, decode, shallow
from core.settings.keys import leaves

if TYPE_CHECKING:
    from core.settings.policy import Entry

# The parts of that file that speak of memory; everything else in it is not ours to read.
BRANCHES = ("agents", "memory", "memorysearch", "hooks", "logging")
# Inside these every key ought to be known.
INSIDE: tuple[tuple[str, ...], ...] = (
    ("memory",),
    ("memorysearch",),
    ("agents", "defaults", "memorysearch"),
    ("agents", "defaults", "memory", "search"),
    ("agents", "defaults", "compaction", "memoryflush"),
    ("agents", "list", "memorysearch"),
    ("agents", "list", "memory", "search"),
)
# Never taken from there: where the index lies, what may be sent out, whose transcripts are read.
NEVER = frozenset({"remote.allow", "preset", "sessions.agents", "sessions.paths", "keymap"})
# Known there, without a meaning here; not worth a word.
SILENT = frozenset({"store.path"})
UNUSED = frozenset({("qmd", "update", "startup"), ("qmd", "update", "startupdelayms")})
# json5 needs 3 s for this much.
SLOW_CHARACTERS = 128 << 10

_TOKEN = late_regex(
    r"""(?P<space>[\s\ufeff]+) | (?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/) | (?P<double>"(?:[^"\\\n]|\\.)*")
    | (?P<single>'(?:[^'\\\n]|\\.)*') | (?P<sign>[{}\[\],:]) | (?P<word>[^\s{}\[\],:"'/\ufeff]+)""",
    re.S | re.X,
)
_IDENTIFIER = late_regex(r"[A-Za-z_$][\w$]*")
_JSON_STRING = late_regex(r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"')
_JSON_WORD = late_regex(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


def parse(path: Path, data: bytes) -> SettingsFile:
    """Raises Unreadable with the parser's reason and its line."""
    text = decode(data)
    values = _load(text)
    if not isinstance(values, dict):
        raise Unreadable("is not a JSON5 object", 1)
    shallow(values)
    return SettingsFile(path, _whole_numbers(values), _lines(text) if _speaks_of_memory(values) else {})


def adapt(key: str, value: object, environ: Mapping[str, str]) -> object:
    """A value in the forms that only OpenClaw knows, in ours.

    Entries of extraPaths may be tables with a path; secrets may be references to a variable; patterns may be /…/flags.
    """
    if key == "extra_paths" and isinstance(value, list):
        return [item["path"] if isinstance(item, dict) and "path" in item else item for item in value]
    if key.endswith("api_key") and isinstance(value, dict) and value.get("source") == "env":
        return f"${{{value.get('id', '')}}}"
    if key == "sessions.redact_patterns" and isinstance(value, list):
        return [_python_pattern(item) for item in value]
    return value


def _python_pattern(pattern: object) -> object:
    match = re.fullmatch(r"/(.*)/([a-z]*)", pattern, re.S) if isinstance(pattern, str) else None
    if match is None:
        return pattern
    flags = "".join(flag for flag in "ims" if flag in match[2])
    return f"(?{flags}){match[1]}" if flags else match[1]


def move_ollama(entries: dict[str, Entry]) -> None:
    """OpenClaw gives Ollama's address as remote.baseUrl."""
    provider, url = entries.get("provider"), entries.get("remote.base_url")
    if provider is None or provider.value != "ollama" or url is None:
        return
    moved = entries.pop("remote.base_url")
    entries.setdefault("local.ollama.base_url", replace(moved, leaf=leaves()["local.ollama.base_url"]))


def is_gguf(model: object) -> bool:
    """Whether a model's name or path is one of a GGUF file, which only OpenClaw's local provider can use."""
    return isinstance(model, str) and (".gguf" in model.lower() or model.lower().startswith(("hf:", "http:", "https:")))


def _speaks_of_memory(values: Mapping[str, object]) -> bool:
    return bool(values.keys() & {"agents", "memory", "memorySearch", "hooks", "logging"})


def _load(text: str) -> object:
    """json5 reads 40 kB a second; nearly all files are JSON, or JSON with comments and bare keys."""
    for prepare in (str, _as_json):
        try:
            plain = prepare(text)
            if plain is not None:
                loaded: object = json.loads(plain)
                return loaded
        except ValueError:
            continue
        except RecursionError as error:
            raise Unreadable("is nested too deeply") from error
    if len(text) > SLOW_CHARACTERS:
        raise Unreadable("is larger than 128 KiB and neither JSON nor JSON with comments, bare keys and single quotes")
    import json5

    try:
        loaded = json5.loads(text)
    except ValueError as error:
        match = re.match(r"<string>:(\d+) (.*)", str(error), re.S)
        raise Unreadable(f"is not JSON5: {match[2] if match else error}", int(match[1]) if match else None) from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    return loaded


def _as_json(text: str) -> str | None:
    """The same document as JSON; None where it has more of JSON5 than comments, bare keys, single quotes."""
    out: list[str] = []
    at = 0
    comma = False
    for token in _TOKEN.finditer(text):
        if token.start() != at:
            return None
        at = token.end()
        kind, piece = token.lastgroup, token[0]
        if kind in ("space", "comment"):
            continue
        if comma and piece not in ("}", "]"):
            out.append(",")
        comma = False
        if kind == "sign":
            comma = piece == ","
            out.append("" if comma else piece)
        elif kind == "double" and _JSON_STRING.fullmatch(piece):
            out.append(piece)
        elif kind == "single" and "\\" not in piece and '"' not in piece:
            out.append(f'"{piece[1:-1]}"')
        elif kind == "word" and _JSON_WORD.fullmatch(piece):
            out.append(piece)
        elif kind == "word" and _IDENTIFIER.fullmatch(piece) and _is_key(text, at):
            out.append(json.dumps(piece))
        else:
            return None
    return None if comma or at != len(text) else "".join(out)


def _is_key(text: str, at: int) -> bool:
    """Whether a colon is the next sign."""
    while (token := _TOKEN.match(text, at)) is not None and token.lastgroup in ("space", "comment"):
        at = token.end()
    return token is not None and token[0] == ":"


def _lines(text: str) -> dict[KeyPath, int]:
    """The line of every key."""
    lines: dict[KeyPath, int] = {}
    path: list[str | int] = []
    open_lists: list[bool] = []
    number, name, at = 1, "", 0
    while (token := _TOKEN.match(text, at)) is not None:
        kind, piece = token.lastgroup, token[0]
        if kind in ("double", "single", "word"):
            name = piece.strip("\"'") if kind != "word" else piece
            if open_lists and not open_lists[-1] and _is_key(text, token.end()):
                path[-1] = name
                lines.setdefault(tuple(path), number)
        elif piece in ("{", "["):
            open_lists.append(piece == "[")
            path.append(0 if piece == "[" else "")
        elif piece in ("}", "]"):
            if not open_lists:
                break
            open_lists.pop()
            path.pop()
        elif piece == "," and open_lists and open_lists[-1]:
            path[-1] = int(path[-1]) + 1
        number += piece.count("\n")
        at = token.end()
    return lines


def _whole_numbers(value: object) -> dict[str, object]:
    """JavaScript has one kind of number: 6.0 is 6."""

    def visit(inner: object) -> object:
        if isinstance(inner, float) and inner.is_integer():
            return int(inner)
        if isinstance(inner, list):
            return [visit(item) for item in inner]
        if isinstance(inner, dict):
            return {str(name): visit(item) for name, item in inner.items()}
        return inner

    plain = visit(value)
    return plain if isinstance(plain, dict) else {}
