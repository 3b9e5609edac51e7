"""The processes that are started while a test runs."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from core.child import Child

P = TypeVar("P", bound=Child[Any, Any])


def noted(monkeypatch: pytest.MonkeyPatch, kind: type[P]) -> list[P]:
    """A list to which each process of a kind is added when it is started."""
    started: list[P] = []
    begin = kind.__init__

    def noting(self: P, *args: object) -> None:
        begin(self, *args)  # type: ignore[arg-type]
        started.append(self)

    monkeypatch.setattr(kind, "__init__", noting)
    return started
