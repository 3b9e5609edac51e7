"""Regular expressions that are compiled at their first use: a start declares some fifty and uses few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

__all__ = ["late_regex"]


class _LateRegex:
    """Becomes what `re.compile` gives, one attribute after the other."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._source = (text, flags)
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._compiled is None:
            self._compiled = re.compile(*self._source)
        found: object = getattr(self._compiled, name)
        self.__dict__[name] = found
        return found


if TYPE_CHECKING:
    from re import compile as late_regex
else:
    late_regex = _LateRegex
