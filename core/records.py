"""Records: dataclasses that write their methods when these are first called, since a start declares hundreds.

`dataclass` compiles six functions for each class, which takes longer than all else that an import does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Never, TypeVar

__all__ = ["record"]

R = TypeVar("R")

_LEFT_OUT = object()
_PARAMETERS = "__dataclass_params__"


def _record(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[R]], type[R]]:
    """A decorator that is `dataclass` in all that can be seen."""

    def declare(plain: type[R]) -> type[R]:
        plain.__doc__ = plain.__doc__ or plain.__name__  # without one, `dataclass` makes it of a signature, slowly
        own = plain.__dict__
        has_hash = own.get("__hash__") is not None
        below_frozen = any(_is_frozen(base) for base in plain.__mro__[1:])
        notes = _hide_annotations(plain)
        made = dataclass(init=False, repr=False, eq=False, frozen=below_frozen, slots=slots, kw_only=kw_only)(plain)
        if notes:
            made.__annotations__ = notes
            for each in fields(made):  # type: ignore[arg-type]
                each.type = notes.get(each.name, each.type)
        if frozen and not below_frozen and _PARAMETERS in made.__dict__:
            getattr(made, _PARAMETERS).frozen = True  # so that a dataclass may stand below it
        methods: dict[str, object] = {"__init__": _late_init(made, frozen=frozen), "__repr__": _repr}
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        if eq:
            values = _values_of(tuple(each.name for each in fields(made) if each.compare))  # type: ignore[arg-type]
            methods["__eq__"] = _equality(values)
            if not has_hash:
                made.__hash__ = _hashing(values) if frozen else None  # type: ignore[assignment]
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    return declare


if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    record = _record


def _hide_annotations(plain: type[object]) -> dict[str, str]:
    """Put something in the place of annotations that are text, in which `dataclass` looks for three special ones.

    That is half of its work. What was there is returned, {} where it has to stay.
    """
    notes = vars(plain).get("__annotations__", {}) if sys.version_info < (3, 14) else {}
    if not all(isinstance(note, str) and "Var" not in note and "KW_ONLY" not in note for note in notes.values()):
        return {}
    if notes:
        plain.__annotations__ = dict.fromkeys(notes, object)
    return dict(notes)


def _is_frozen(owner: type[object]) -> bool:
    return bool(getattr(owner.__dict__.get(_PARAMETERS), "frozen", False))


def _late_init(owner: type[object], *, frozen: bool) -> Callable[..., None]:
    def __init__(self: object, *values: object, **named: object) -> None:  # noqa: N807
        written = _written_init(owner, frozen=frozen)
        setattr(owner, "__init__", written)  # noqa: B010 - what a type checker forbids by name
        written(self, *values, **named)

    return __init__


def _written_init(owner: type[object], *, frozen: bool) -> Callable[..., None]:
    """What `dataclass` would write as `__init__`; a frozen record fills its slots by their descriptors."""
    known: dict[str, object] = {"_left_out": _LEFT_OUT}
    positional, by_name, body = ["self"], ["*"], []
    for each in fields(owner):  # type: ignore[arg-type]
        name = each.name
        parameter, value = name, name
        if each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        elif each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_left_out"
            value = f"_make_{name}() if {name} is _left_out else {name}"
        (by_name if each.kw_only else positional).append(parameter)
        slot = getattr(owner, name, None)
        if frozen and isinstance(slot, MemberDescriptorType):
            known[f"_set_{name}"] = slot.__set__
            body.append(f"  _set_{name}(self, {value})")
        elif frozen:
            known["_set"] = object.__setattr__
            body.append(f"  _set(self, {name!r}, {value})")
        else:
            body.append(f"  self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        body.append("  self.__post_init__()")
    parameters = ", ".join([*positional, *(by_name if len(by_name) > 1 else [])])
    exec(f"def __init__({parameters}):\n" + "\n".join(body or ["  pass"]), known)
    written = known["__init__"]
    assert isinstance(written, FunctionType)
    written.__qualname__ = f"{owner.__qualname__}.__init__"
    return written


def _values_of(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _equality(values: Callable[[object], tuple[object, ...]]) -> Callable[[object, object], bool]:
    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(values: Callable[[object], tuple[object, ...]]) -> Callable[[object], int]:
    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


@recursive_repr()
def _repr(self: object) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)  # type: ignore[arg-type]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> Never:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> Never:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]


def _set_state(self: object, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):  # type: ignore[arg-type]
        object.__setattr__(self, each.name, value)
