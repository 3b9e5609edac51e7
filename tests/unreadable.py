"""A file that cannot be read, also for root."""

from __future__ import annotations

from typing import Any

import pytest

from core.sync.intake import MemoryIntake


def refuse_to_read(patch: pytest.MonkeyPatch, name: str) -> None:
    """Have reading a memory file whose path ends in `name` fail as if it belonged to someone else."""
    read = MemoryIntake.read

    def reading(self: MemoryIntake, file: Any, fresh: bool = False) -> Any:
        if file.path.endswith(name):
            raise PermissionError(13, "Permission denied", file.absolute)
        return read(self, file, fresh)

    patch.setattr(MemoryIntake, "read", reading)
