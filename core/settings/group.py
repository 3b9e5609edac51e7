"""The base of the groups of settings: dataclasses that cost a start next to nothing."""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Never, dataclass_transform


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Item:
    """Base of the tables that stand in lists: immutable, by keyword only; a value may be of any kind, unchecked.

    A subclass is a dataclass to `fields`, `replace` and the like. What `dataclass` would write for each class stands
    here once: to compile that for thirty groups takes longer than all else at a start.
    """

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    def __init_subclass__(cls) -> None:
        cls.__doc__ = cls.__doc__ or cls.__name__  # without one, `dataclass` makes it of a signature, slowly
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, **values: object) -> None:
        held: dict[str, object] = {}
        for each in fields(self):
            if each.name in values:
                held[each.name] = values.pop(each.name)
            elif each.default is not MISSING:
                held[each.name] = each.default
            elif each.default_factory is not MISSING:
                held[each.name] = each.default_factory()
            else:
                raise TypeError(f"{type(self).__name__}: {each.name} is missing")
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")
        self.__dict__.update(held)

    def __setattr__(self, name: str, value: object) -> Never:
        raise FrozenInstanceError(f"cannot assign to {name}")

    def __delattr__(self, name: str) -> Never:
        raise FrozenInstanceError(f"cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class Group(Item):
    """Base of the groups of settings; each has a default for everything."""
