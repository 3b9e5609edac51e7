"""What a test does to the machine below memdeck: another user's rights, and file systems of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534


@contextmanager
def without_root() -> Iterator[None]:
    """Permissions count for root too."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """A mount for a while; skips where that is not allowed."""
    made = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
