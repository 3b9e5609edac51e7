"""Text that is not to be seen: keys and headers."""

from __future__ import annotations

_SHOWN = "**********"


class Secret:
    """A secret text; whatever shows it shows stars."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __len__(self) -> int:
        return len(self._text)

    def __str__(self) -> str:
        return _SHOWN if self._text else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"
