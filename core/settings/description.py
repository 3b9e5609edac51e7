"""What the kind of a value asks for, read from its annotation: in words, and for values that plainly fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from core.records import record
from core.settings.group import Item
from core.settings.kinds import After, Before, Filled, Range, Says
from core.settings.secret import Secret

_NAMES = {bool: "bool", int: "int", float: "float", str: "text", Secret: "secret"}
_WORDS = {
    "bool": "true or false",
    "text": "text that is not empty",
    "secret": "text that is not empty",
    "map": "a table of names and texts",
    "table": "a table",
}


class Odd(Exception):
    """A value that does not plainly fit; it may be wrong, or right in another form."""


@record(frozen=True, slots=True)
class Kind:
    """What a value must be. `name` is bool, int, float, text, secret, choice, list, map or table."""

    name: str
    says: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    inner: Kind | None = None
    item: type[Item] | None = None
    filled: bool = False
    optional: bool = False
    before: tuple[Callable[[object], object], ...] = ()
    after: tuple[Callable[[Any], object], ...] = ()

    @property
    def secret(self) -> bool:
        return self.name == "secret" or (self.inner is not None and self.inner.secret)

    def allowed(self) -> str:
        """In words, to stand after "must be"."""
        if self.says:
            return self.says
        if self.name == "choice":
            quoted = [json.dumps(choice) for choice in self.choices]
            return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
        if self.name in ("int", "float"):
            number = "a whole number" if self.name == "int" else "a number"
            if self.high is None or self.high >= 10**9:
                return f"{number}, {_number(self.low)} or more"
            return f"{number} from {_number(self.low)} to {_number(self.high)}"
        if self.name == "list" and self.inner is not None:
            return "a list of tables" if self.inner.name == "table" else f"a list of {self.inner.plural()}"
        return _WORDS[self.name]

    def plural(self) -> str:
        return f"{' and/or '.join(json.dumps(choice) for choice in self.choices)}" if self.choices else "texts"

    def fit(self, value: object) -> object:
        """An ordinary value as the model holds it. Raises Odd for any other."""
        try:
            for change in self.before:
                value = change(value)
            value = self._fit(value)
            for change in self.after:
                value = change(value)
        except ValueError as error:
            raise Odd from error
        return value

    def _fit(self, value: object) -> object:
        kind = type(value)
        if self.filled and not value:
            raise Odd
        if self.name == "bool" and kind is bool:
            return value
        if self.name in ("int", "float") and (kind is int or (kind is float and self.name == "float")):
            return self._bounded(value)
        if self.name == "choice" and value in self.choices:
            return _text(value)
        if self.name == "text":
            return _text(value)
        if self.name == "secret":
            return Secret(_text(value))
        if self.name == "list" and isinstance(value, list | tuple) and self.inner is not None:
            return tuple(map(self.inner.fit, value))
        if self.name == "map" and isinstance(value, dict) and self.inner is not None:
            return {_text(name): self.inner.fit(inner) for name, inner in value.items()}
        raise Odd

    def _bounded(self, value: Any) -> object:
        if self.low is None or self.high is None or not self.low <= value <= self.high:
            raise Odd
        return float(value) if self.name == "float" else value


def _text(value: object) -> str:
    if type(value) is not str:
        raise Odd
    value.encode()  # half of a surrogate pair is a ValueError
    return value


def _number(value: float | None) -> str:
    return str(int(value)) if value is not None and value == int(value) else str(value)


def kind_of(annotation: Any) -> Kind:
    """The kind of an annotated type of the model."""
    found: dict[str, Any] = {}
    marks: list[object] = []
    while True:
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation, *here = parts
            marks = [*here, *marks]
        elif origin in (Union, UnionType):
            (annotation,) = (part for part in parts if part is not type(None))
            found["optional"] = True
        else:
            break
    for mark in marks:
        if isinstance(mark, Says):
            found["says"] = mark.text
        elif isinstance(mark, Range):
            found["low"], found["high"] = mark.low, mark.high
        elif isinstance(mark, Filled):
            found["filled"] = True
        elif isinstance(mark, Before):
            found["before"] = (*found.get("before", ()), mark.change)
        elif isinstance(mark, After):
            found["after"] = (*found.get("after", ()), mark.change)
    if origin is Literal:
        return Kind("choice", choices=parts, **found)
    if origin is tuple:
        return Kind("list", inner=kind_of(parts[0]), **found)
    if origin is dict:
        return Kind("map", inner=kind_of(parts[1]), **found)
    if isinstance(annotation, type) and issubclass(annotation, Item):
        return Kind("table", item=annotation, **found)
    return Kind(_NAMES[annotation], **found)
