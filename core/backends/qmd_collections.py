"""Which folders qmd is given as collections, and which sessions may search them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection as Collection_
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from core.records import record
from core.settings.model import Settings
from core.settings.qmd_model import QmdScope, ScopeMatch
from core.sources.rules import IGNORED_FOLDERS, MEMORY_FOLDER, MEMORY_NAMES, extra_root, is_markdown, is_within
from core.types import Source

MARKDOWN = "**/*.md"
INDEX = "memdeck"
"""Name of the index that qmd keeps for one memory, in folders of its own."""

_GLOB_SIGNS = re.compile(r"[\\*?\[\]{}()!+@|,^$]")


def _in_any_case(name: str) -> str:
    return "".join(f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() else sign for sign in name)


# Hidden folders are left out by qmd itself.
_FOLDERS = (
    *(f"**/{_in_any_case(name)}/**" for name in sorted(IGNORED_FOLDERS) if not name.startswith(".")),
    "**/*.[mM][dD]/*/**",
)


@record(frozen=True, slots=True)
class Collection:
    """A folder that qmd indexes: its name, absolute path, which files below it count and which of these do not."""

    name: str
    root: str
    pattern: str
    source: Source = "memory"
    ignore: tuple[str, ...] = ()

    @property
    def is_there(self) -> bool:
        return Path(self.root).is_dir()

    def record(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def of_record(cls, row: Mapping[str, object]) -> Collection:
        """The reverse of `record`. Raises KeyError and TypeError."""
        ignore = row["ignore"]
        if not isinstance(ignore, list):
            raise TypeError("ignore is no list")
        source: Source = "sessions" if row["source"] == "sessions" else "memory"
        return cls(str(row["name"]), str(row["root"]), str(row["pattern"]), source, tuple(map(str, ignore)))


def wanted_collections(
    workspace: Path,
    settings: Settings,
    *,
    agent: str,
    home: Path,
    exported: Path | None = None,
    forgotten: Collection_[str] = (),
) -> tuple[Collection, ...]:
    """The collections of a memory, those whose folders are away for now too.

    `memory-root-<agent>` (or `memory-alt-` for memory.md), `memory-dir-<agent>`, one for each of qmd's paths and extra
    paths (`<name>-<agent>`, `custom-N-<agent>`), `sessions-<agent>` for `exported` transcripts. Symlinks are left out,
    and so are ignored folders and the documents that were `forgotten`.
    """
    base = os.path.abspath(workspace)  # noqa: PTH100
    names = _Names(agent)
    found: list[Collection] = []
    if settings.qmd.include_default_memory and "memory" in settings.sources:
        for file_name, kind in zip(MEMORY_NAMES, ("memory-root", "memory-alt"), strict=True):
            if _is_own_file(Path(base, file_name)):
                found.append(Collection(names.make(kind), base, file_name))
                break
        if not Path(base, MEMORY_FOLDER).is_symlink():
            found.append(Collection(names.make("memory-dir"), f"{base}/{MEMORY_FOLDER}", MARKDOWN))
    given = [(item.path, item.name, item.pattern) for item in settings.qmd.paths]
    named = {path for path, _, _ in given}
    if "memory" in settings.sources:
        given += [(path, None, None) for path in settings.extra_paths if path not in named]
    for number, (path, name, pattern) in enumerate(given, 1):
        root = extra_root(path, workspace=workspace, home=home)
        if root is None or Path(root).is_symlink():
            continue
        if is_markdown(root) and not Path(root).is_dir():
            place = (str(Path(root).parent), _escaped(Path(root).name))
        else:
            place = (root, pattern or MARKDOWN)
        if all((known.root, known.pattern) != place for known in found):
            found.append(Collection(names.make(name or f"custom-{number}"), *place))
    if exported is not None:
        found.append(Collection(names.make("sessions"), str(exported), MARKDOWN, "sessions"))
    return tuple(replace(one, ignore=_ignored(one, base, forgotten)) for one in found)


def _ignored(collection: Collection, base: str, forgotten: Collection_[str]) -> tuple[str, ...]:
    """Patterns of what does not count: below a root what the scan leaves out too, and single documents."""
    if collection.source == "sessions":
        return ()
    found = []
    for path in forgotten:
        absolute = path if path.startswith("/") else f"{base}/{path}"
        if absolute != collection.root and is_within(absolute, collection.root):
            found.append(_escaped(absolute[len(collection.root) :].lstrip("/")))
    folders = _FOLDERS if collection.pattern == MARKDOWN else ()
    return (*folders, *sorted(found))


def _escaped(path: str) -> str:
    """A path as a pattern that means that path alone."""
    return _GLOB_SIGNS.sub(r"\\\g<0>", path)


def document_path(absolute: str, workspace: Path) -> str:
    """A file's path as documents have it: relative to the workspace where it lies inside, else absolute."""
    base = os.path.abspath(workspace)  # noqa: PTH100
    return absolute[len(base) :].lstrip("/") if is_within(absolute, base) else absolute


class _Names:
    """Names of collections: lower-case letters, digits and `-`, each used once."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._taken: set[str] = set()

    def make(self, kind: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", f"{kind}-{self._agent}".lower()).strip("-") or "collection"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}-{number}"
        self._taken.add(name)
        return name


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def may_search(scope: QmdScope, session_key: str | None) -> bool:
    """Whether a session may search: the first rule that matches decides, else the default.

    A key reads `agent:<id>:<channel>:<kind>:…`; without one the asker is taken for a direct chat.
    """
    for rule in scope.rules:
        if _matches(rule.match, session_key or ""):
            return rule.action == "allow"
    return scope.default == "allow"


def _matches(match: ScopeMatch, key: str) -> bool:
    parts = key.lower().split(":")
    rest = parts[2:] if len(parts) > 2 and parts[0] == "agent" else parts
    if match.chat_type is not None and match.chat_type not in _chat_types(rest):
        return False
    if match.channel is not None and match.channel.lower() != rest[0]:
        return False
    if match.key_prefix is not None:
        prefix = match.key_prefix.lower()
        return any(name.startswith(prefix) for name in (":".join(parts), ":".join(rest)))
    return True


def _chat_types(parts: Iterable[str]) -> set[str]:
    """What kind of chat a key names: group, channel, thread (of any of them), or direct where it is none."""
    found = set(parts)
    kinds: set[str] = {kind for kind in ("group", "channel") if kind in found}
    if found & {"thread", "topic"}:
        kinds.add("thread")
    if not kinds or (found & {"direct", "dm"} and not kinds & {"group", "channel"}):
        kinds.add("direct")
    return kinds
