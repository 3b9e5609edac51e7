"""Settings as loaded: the merged values, where each came from, and their documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from core.records import record
from core.settings.group import Item
from core.settings.keys import leaves
from core.settings.model import Settings
from core.settings.secret import Secret
from core.settings.values import MASK, leaf_kind

if TYPE_CHECKING:
    import ast


@record(frozen=True, slots=True)
class Origin:
    """Where a value came from.

    `layer` is default, openclaw.json, preset:<name>, config.toml, workspace, environment or flag; `where` the file and
    line, the variable or the flag, "" for a default.
    """

    layer: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.layer} ({self.where})" if self.where else self.layer


@record(frozen=True, slots=True)
class LoadedSettings:
    """The merged settings and how they came about.

    `origins` has one entry for every setting, by its dotted name. `problems` are wrong values, replaced by what lies
    below them (only when loaded with `strict=False`); `warnings` are things that do not count, and why. Every entry of
    both is one line. `files` are the files that were read. `held` names settings of a workspace file that was trusted
    and has changed since: they do not count at the moment.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    held: tuple[str, ...] = ()

    def as_rows(self) -> list[tuple[str, str, Origin]]:
        """Every setting: its dotted name, its value as text with secrets masked, and where it came from."""
        default = Origin("default")
        return [
            (key, value_text(leaf.value(self.settings)), self.origins.get(key, default))
            for key, leaf in leaves().items()
        ]


@record(frozen=True, slots=True)
class FieldDoc:
    """A row of the table of settings. `type` and `default` are words for people."""

    key: str
    type: str
    default: str
    doc: str


def plain_value(value: object) -> object:
    """A value as JSON has it, secrets masked."""
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Item):
        return {name: plain_value(inner) for name, inner in vars(value).items() if inner is not None}
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(inner) for inner in value]
    return value


def value_text(value: object) -> str:
    """A value as text, secrets masked; "unset" for None."""
    return "unset" if value is None else json.dumps(plain_value(value), ensure_ascii=False)


def field_docs() -> list[FieldDoc]:
    """The documentation of every setting, from the text that stands under it in the model."""
    import inspect

    sources = {module: inspect.getsource(module) for module in {_module(leaf.group) for leaf in leaves().values()}}
    texts = {place: text for source in sources.values() for place, text in _docstrings(source)}
    return [
        FieldDoc(
            key,
            leaf_kind(leaf).allowed(),
            value_text(leaf.default),
            texts.get((leaf.group.__name__, leaf.names[-1]), ""),
        )
        for key, leaf in leaves().items()
    ]


def _module(group: type) -> ModuleType:
    import sys

    return sys.modules[group.__module__]


def _docstrings(source: str) -> Iterator[tuple[tuple[str, str], str]]:
    import ast

    for group in ast.parse(source).body:
        if not isinstance(group, ast.ClassDef):
            continue
        for before, after in zip(group.body, group.body[1:], strict=False):
            text = _text(after)
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and text:
                yield (group.name, before.target.id), " ".join(text.split())


def _text(node: ast.stmt) -> str:
    import ast

    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""
