"""The names of settings: what people write, in any of its spellings, to the one name that each setting has."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, Literal, get_type_hints

from core.records import record
from core.settings.group import Group
from core.settings.model import Settings

Folded = tuple[str, ...]

# Whole families of names that mean the same; the longest that fits wins.
ROOTS: dict[Folded, Folded] = {
    ("agents", "defaults", "memorysearch"): (),
    ("agents", "defaults", "memory", "search"): (),
    ("agents", "defaults", "compaction", "memoryflush"): ("flush",),
    ("agents", "defaults", "compaction", "reservetokensfloor"): ("flush", "reservetokensfloor"),
    ("agents", "defaults", "compaction", "postindexsync"): ("sync", "sessions", "postindexsync"),
    ("agents", "defaults", "workspace"): ("workspace",),
    ("agents", "list", "memorysearch"): (),
    ("agents", "list", "memory", "search"): (),
    ("agents", "list", "workspace"): ("workspace",),
    ("hooks", "internal", "entries", "sessionmemory", "messages"): ("excerpt", "messages"),
    ("logging", "redactpatterns"): ("sessions", "redactpatterns"),
    ("memorysearch",): (),
    ("memory", "search"): (),
    ("memory",): (),
}
ALIASES: dict[Folded, Folded] = {
    ("maxresults",): ("query", "maxresults"),
    ("minscore",): ("query", "minscore"),
    ("candidatemultiplier",): ("query", "candidatemultiplier"),
    ("hybrid",): ("query", "hybrid"),
    ("mmr",): ("query", "mmr"),
    ("temporaldecay",): ("query", "temporaldecay"),
    ("vectorweight",): ("query", "hybrid", "vectorweight"),
    ("textweight",): ("query", "hybrid", "textweight"),
    ("query", "vectorweight"): ("query", "hybrid", "vectorweight"),
    ("query", "textweight"): ("query", "hybrid", "textweight"),
    ("query", "hybrid", "candidatemultiplier"): ("query", "candidatemultiplier"),
    ("query", "hybrid", "mmr"): ("query", "mmr"),
    ("query", "hybrid", "temporaldecay"): ("query", "temporaldecay"),
    ("remote", "nonbatchconcurrency"): ("indexing", "concurrency"),
    ("remote", "ollama"): ("local", "ollama"),
    ("sync", "embeddingbatchtimeoutseconds"): ("remote", "batchtimeoutseconds"),
    ("rememberacrossconversations",): ("experimental", "sessionmemory"),
}
ENVIRONMENT_PREFIX = "MEMDECK_"
# Variables of that prefix that are no settings.
NO_SETTINGS = frozenset({"LOG", "TRACE", "OPS", "KILLS", "AGENT"})


def fold(name: str) -> str:
    """snake_case, camelCase and kebab-case of one name are equal."""
    return name.replace("_", "").replace("-", "").casefold()


@record(frozen=True, slots=True)
class Leaf:
    """One setting: its dotted name, the attributes that lead to it, and the group that holds it."""

    key: str
    names: tuple[str, ...]
    group: type[Group]

    @property
    def annotation(self) -> Any:
        return get_type_hints(self.group, include_extras=True)[self.names[-1]]

    @property
    def default(self) -> object:
        return getattr(self.group(), self.names[-1])

    def value(self, settings: Settings) -> object:
        value: object = settings
        for name in self.names:
            value = getattr(value, name)
        return value


def _walk(group: type[Group], names: tuple[str, ...]) -> Iterator[Leaf]:
    for field in fields(group):
        path = (*names, field.name)
        if isinstance(field.default, Group):
            yield from _walk(type(field.default), path)
        else:
            yield Leaf(".".join(part.rstrip("_") for part in path), path, group)


@functools.cache
def leaves() -> dict[str, Leaf]:
    """Every setting by its dotted name, in the order of the model."""
    return {leaf.key: leaf for leaf in _walk(Settings, ())}


@functools.cache
def _folded_leaves() -> dict[Folded, Leaf]:
    return {tuple(fold(part) for part in leaf.key.split(".")): leaf for leaf in leaves().values()}


@functools.cache
def _ways() -> frozenset[Folded]:
    """All paths that lead on to a setting, through groups and through aliases."""
    ends = [*_folded_leaves(), *ALIASES, *ROOTS]
    return frozenset(end[:length] for end in ends for length in range(len(end)))


def canonical(path: Folded) -> Folded:
    """A folded path with its aliases replaced."""
    for length in range(len(path), 0, -1):
        if path[:length] in ROOTS:
            path = ROOTS[path[:length]] + path[length:]
            break
    replaced = True
    while replaced:
        replaced = False
        for length in range(len(path), 0, -1):
            if path[:length] in ALIASES:
                path = ALIASES[path[:length]] + path[length:]
                replaced = True
                break
    return path


def find(path: Folded) -> Leaf | Literal["group"] | None:
    """The setting that a folded path names, "group" if settings lie below it, None if nothing is there."""
    target = canonical(path)
    leaf = _folded_leaves().get(target)
    if leaf is not None:
        return leaf
    return "group" if target in _ways() or path in _ways() else None


def find_key(dotted: str) -> Leaf | None:
    """The setting of a dotted name in any spelling."""
    found = find(tuple(fold(part) for part in dotted.split(".")))
    return found if isinstance(found, Leaf) else None


def key_of(dotted: str) -> str | None:
    """The dotted name of a setting, or of a group of them, from any spelling of it; None if there is none."""
    target = canonical(tuple(fold(part) for part in dotted.split(".")))
    for path, leaf in _folded_leaves().items():
        if path[: len(target)] == target:
            return ".".join(leaf.key.split(".")[: len(target)])
    return None


@functools.cache
def _environment_names() -> dict[str, Leaf]:
    names: dict[str, Leaf] = {"store": leaves()["store.path"]}
    for path, leaf in _folded_leaves().items():
        names["".join(path)] = leaf
        for alias, target in ALIASES.items():
            if path[: len(target)] == target:
                names.setdefault("".join(alias + path[len(target) :]), leaf)
    return names


def find_variable(name: str) -> Leaf | None:
    """The setting of an environment variable: MEMDECK_QUERY_MAX_RESULTS, or __ between groups."""
    rest = fold(name.removeprefix(ENVIRONMENT_PREFIX))
    for root in ("", "memorysearch", "memory"):
        leaf = _environment_names().get(rest.removeprefix(root))
        if leaf is not None and rest.startswith(root):
            return leaf
    return None


def variable_of(leaf: Leaf) -> str:
    """The environment variable of a setting."""
    return ENVIRONMENT_PREFIX + leaf.key.replace(".", "_").upper()


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, None if none is alike; spelling, a common beginning, then difflib."""
    import difflib

    known = {fold(candidate): candidate for candidate in names}
    wanted = fold(name)
    if wanted in known:
        return known[wanted]
    begun = [
        folded for folded in known if len(wanted) >= 3 and (folded.startswith(wanted) or wanted.startswith(folded))
    ]
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    if close and (len(begun) != 1 or close[0] in begun):
        return known[close[0]]
    return known[begun[0]] if len(begun) == 1 else None


def nearest_key(path: Folded) -> str | None:
    """The dotted name of the setting or group most like an unknown folded path."""
    target = canonical(path)
    above, last = target[:-1], target[-1]
    siblings = {
        way[len(above)]: way
        for way in [*_folded_leaves(), *_ways()]
        if way[: len(above)] == above and len(way) > len(above)
    }
    found = nearest(last, siblings) if not above or above in _ways() else None
    if found is None or above == ():
        by_last = {leaf_path[-1]: leaf.key for leaf_path, leaf in reversed(_folded_leaves().items())}
        if last in by_last:
            return by_last[last]
    if found is None:
        whole = {leaf.key: leaf for leaf in leaves().values()}
        return nearest(".".join(target), whole)
    return _spelled((*above, found))


def _spelled(path: Folded) -> str:
    """The dotted name of a folded path, which may be a group's."""
    for folded, leaf in _folded_leaves().items():
        if folded[: len(path)] == path:
            return ".".join(leaf.key.split(".")[: len(path)])
    return ".".join(path)
