"""Odd values, by pydantic: what is wrong with them, or what they stand for. Imported when there is one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    Strict,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.alias_generators import to_camel

from core.settings.description import Kind, kind_of
from core.settings.group import Item
from core.settings.secret import Secret

_CONFIG = ConfigDict(extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)
_PLAIN: dict[str, Any] = {"bool": bool, "int": int, "float": float, "text": str}


def checked(kind: Kind, value: object) -> tuple[object, list[Mapping[str, Any]]]:
    """The value as the model holds it, and what pydantic says of each thing wrong with it."""
    try:
        return _adapter(kind).validate_python(value), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        # Of a list whose entries are wrong none is left: that it is empty says nothing new.
        wrong_inside = any(detail["loc"] for detail in details)
        return None, [one for one in details if one["loc"] or one["type"] != "too_short" or not wrong_inside]


@functools.cache
def _adapter(kind: Kind) -> TypeAdapter[Any]:
    return TypeAdapter(_type(kind))


def _type(kind: Kind) -> Any:
    """A kind as pydantic has it."""
    marks: list[Any] = []
    if kind.name in _PLAIN:
        base = _PLAIN[kind.name]
        marks.append(Strict())
    elif kind.name == "choice":
        base = Literal[kind.choices]
    elif kind.name == "secret":
        base = SecretStr
    elif kind.item is not None:
        base = _model(kind.item)
        marks += [BeforeValidator(_open), AfterValidator(functools.partial(_item, kind.item))]
    elif kind.inner is not None:
        base = tuple[_type(kind.inner), ...] if kind.name == "list" else dict[str, _type(kind.inner)]  # type: ignore[misc]
    else:
        raise TypeError(kind.name)
    marks += map(BeforeValidator, kind.before)
    if kind.filled:
        marks.append(Field(min_length=1))
    if kind.low is not None:
        marks.append(Field(ge=kind.low, le=kind.high))
    if kind.name == "float":
        marks.append(Field(allow_inf_nan=False))
    if kind.name == "secret":
        marks.append(AfterValidator(_secret))
    marks += map(AfterValidator, kind.after)
    typed = Annotated[(base, *marks)] if marks else base
    return typed | None if kind.optional else typed


def _model(item: type[Item]) -> type[BaseModel]:
    hints = get_type_hints(item, include_extras=True)
    made: dict[str, Any] = {
        field.name: (_type(kind_of(hints[field.name])), ... if field.default is MISSING else field.default)
        for field in fields(item)
    }
    return create_model(item.__name__, __config__=_CONFIG, **made)


def _item(item: type[Item], model: BaseModel) -> Item:
    return item(**{field.name: getattr(model, field.name) for field in fields(item)})


def _open(value: object) -> object:
    return dict(vars(value)) if isinstance(value, Item) else value


def _secret(value: SecretStr) -> Secret:
    return Secret(value.get_secret_value())
