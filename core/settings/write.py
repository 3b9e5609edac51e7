"""Writing one setting into config.toml, with all that people wrote there left as it is."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from core.errors import SettingsError
from core.settings.entries import read_entries
from core.settings.files import KeyPath, SettingsFile, Unreadable, decode, parse_toml, read_bytes
from core.settings.group import Item
from core.settings.keys import Leaf, find_key, fold, nearest_key
from core.settings.policy import Layer, Report
from core.settings.secret import Secret
from core.settings.trust import write_private
from core.settings.values import check, folded, from_text, leaf_kind, wrong


def write_setting(path: Path, dotted_key: str, value: object) -> None:
    """Set one setting in a TOML file, None removes it; comments and order stay, the file is replaced in one step.

    The key may be in any spelling; where the file has the setting already, under any of its names, that place is
    changed. One entry of a table is named by the rest of the key (`keymap.app.quit`, `remote.headers.X-Team`).
    Raises SettingsError for an unknown key, a wrong value, a file that is not TOML or cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    leaf, entry = _named(dotted_key)
    plain = None if value is None else _checked(leaf, entry, value, dotted_key, str(path))
    try:
        data = read_bytes(path) or b""
        file = parse_toml(path, data)
    except Unreadable as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise SettingsError([f"{place} {error.reason}; it is left as it is"]) from error
    present = _places(file, leaf)
    refusal = f"{path}: {dotted_key} cannot be set by memdeck in this file, write it by hand"
    try:
        document = tomlkit.parse(decode(data))
        if entry:
            _write_entry(document, present[0] if present else _place(document, leaf), entry, plain)
        else:
            for extra in present[1:] if plain is not None else present:
                _remove(document, extra)
            if plain is not None:
                _put(document, present[0] if present else _place(document, leaf), plain)
        text = tomlkit.dumps(document).encode("utf-8")
        after = parse_toml(path, text)
    except (TOMLKitError, Unreadable, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SettingsError(
            [f"{path}: {dotted_key} cannot be set by memdeck in this file, write it by hand"]
        ) from error
    if bool(_places(after, leaf)) == (plain is None and not entry):
        raise SettingsError([refusal])
    write_private(path, text)


def _places(file: SettingsFile, leaf: Leaf) -> list[KeyPath]:
    """Where a file sets a setting for all agents, under any of its names."""
    raws = read_entries(file, "", Layer("config.toml"), Report())
    return [raw.path for raw in raws if raw.leaf.key == leaf.key]


def _named(dotted_key: str) -> tuple[Leaf, str]:
    """The setting that a key names, and the entry of its table where the key goes on."""
    parts = dotted_key.split(".")
    for length in range(len(parts), 0, -1):
        leaf = find_key(".".join(parts[:length]))
        if leaf is not None and (length == len(parts) or leaf_kind(leaf).name == "map"):
            return leaf, ".".join(parts[length:])
    raise SettingsError([wrong(dotted_key, None, "no such setting", "to be written", hint=nearest_key(folded(parts)))])


def _checked(leaf: Leaf, entry: str, value: object, key: str, where: str) -> object:
    """The value as TOML holds it."""
    given = from_text(value, leaf_kind(leaf)) if isinstance(value, str) and not entry else value
    _, lines = check(leaf, {entry: given} if entry else given, key=key, where=where)
    if lines:
        raise SettingsError(lines)
    return _plain(given)


def _plain(value: object) -> object:
    if isinstance(value, Secret):
        return value.get_secret_value()
    if isinstance(value, Item):
        return {name: _plain(inner) for name, inner in vars(value).items() if inner is not None}
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value


def _place(document: Any, leaf: Leaf) -> KeyPath:
    """Where a new setting goes: below tables that are there in any spelling."""
    path: KeyPath = ()
    node: Any = document
    for name in leaf.key.split("."):
        here = next((key for key in node if fold(key) == fold(name)), name) if isinstance(node, Mapping) else name
        path = (*path, here)
        node = node.get(here, {}) if isinstance(node, Mapping) else {}
    return path


def _table(document: Any, path: KeyPath, *, make: bool) -> MutableMapping[str, Any] | None:
    import tomlkit
    from tomlkit.items import InlineTable

    node: Any = document
    for step in path:
        if isinstance(step, str) and step not in node:
            if not make:
                return None
            inline = isinstance(node, InlineTable)
            node[step] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=step != path[-1])
        node = node[step]
    return node if isinstance(node, MutableMapping) else None


def _put(document: Any, path: KeyPath, value: object) -> None:
    table = _table(document, path[:-1], make=True)
    if table is not None:
        table[str(path[-1])] = value


def _remove(document: Any, path: KeyPath) -> None:
    table = _table(document, path[:-1], make=False)
    if table is not None:
        table.pop(str(path[-1]), None)


def _write_entry(document: Any, path: KeyPath, entry: str, value: object) -> None:
    """One entry of a table, which may be written as a dotted name or as tables in tables."""
    table = _table(document, path, make=value is not None)
    if table is None:
        return
    node, rest = table, entry.split(".")
    while len(rest) > 1 and entry not in table and isinstance(node.get(rest[0]), MutableMapping):
        node = node[rest.pop(0)]
    name = entry if node is table else ".".join(rest)
    if value is None:
        node.pop(name, None)
    else:
        node[name] = value
