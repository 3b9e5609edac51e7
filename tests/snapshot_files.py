"""Where snapshots lie: in the top folder, by test module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest_textual_snapshot
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"


class SvgSnapshots(pytest_textual_snapshot.SVGImageExtension):
    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(SNAPSHOTS / Path(test_location.filepath).stem)


class TextSnapshots(SingleFileSnapshotExtension):
    _file_extension = "txt"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(SNAPSHOTS / Path(test_location.filepath).stem)
