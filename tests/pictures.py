"""For snapshots: a memory whose place and times are always the same, and text without what differs from run to run."""

from __future__ import annotations

import html
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from core import Memory, open_memory

SIZES = [(80, 24), (100, 30), (160, 50)]
"""What screens are shown at as text."""
SVG_SIZES = [(80, 24), (160, 50)]
SMALLEST = (40, 10)
THEMES = ["memdeck-light", "ansi-dark", "ansi-light"]
NOON = 1_773_230_400
"""2026-03-11 12:00 UTC: when the files were written."""


_BLANK = "(?: |&#160;)"
_TEXT = re.compile(r'<text class="([^"]*)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+"([^>]*)>([^<]+)</text>')
_CELL = 12.2
"""The width of a cell in the SVG files that Rich exports."""


def size_name(size: object) -> str:
    """`80x24`, for the ids of tests."""
    return f"{size[0]}x{size[1]}" if isinstance(size, tuple) else str(size)


def write_files(workspace: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (NOON, NOON))


@contextmanager
def pictured_memory(files: Mapping[str, str | bytes], **flags: object) -> Iterator[Memory]:
    """Not in step yet, in a folder whose name is always as long, so that `steady` can write over it."""
    root = Path(tempfile.mkdtemp(prefix="deck-", dir="/tmp"))
    (root / "ws").mkdir()
    write_files(root / "ws", files)
    memory = open_memory(
        workspace=root / "ws",
        store=root / "index.sqlite",
        environ={},
        home=root,
        flags={"provider": "none", **flags},
        resident=True,
    )
    try:
        yield memory
    finally:
        memory.close()
        shutil.rmtree(root)


def steady(text: str) -> str:
    """Without what differs from run to run: the folder's name, clock times, days, durations, sizes and processes."""
    text = re.sub(r"/tmp/deck-\w{8}", "/home/me/memory", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "10:02:11", text)
    text = re.sub(r"(?<![\d:])\d\d:\d\d(?![\d:])", "10:02", text)
    text = re.sub(rf"20\d\d-\d\d-\d\d({_BLANK})\d\d:\d\d", r"2026-03-11\g<1>10:02", text)
    text = re.sub(rf"(pid{_BLANK})\d+", r"\g<1>4121", text)
    return re.sub(rf"\b\d+(\.\d+)?(?={_BLANK}(ms|s|MB)\b)", lambda match: "9" * len(match[0]), text)


def picture(app: Any) -> str:
    """The app's screen as SVG, with wide characters two cells wide: Rich gives each the width of one."""
    return _TEXT.sub(_placed, app.export_screenshot(simplify=True))


def _placed(match: re.Match[str]) -> str:
    """A text of the picture as one text for each run of wide or narrow characters, in its place and its width."""
    kind, start, y, rest, text = match.groups()
    plain = html.unescape(text)
    if all(cell_len(character) < 2 for character in plain):
        return match[0]
    runs: list[str] = []
    for character in plain:
        width = cell_len(character)
        if runs and (width == 0 or (width == 2) == (cell_len(runs[-1][0]) == 2)):
            runs[-1] += character
        else:
            runs.append(character)
    made, x = "", float(start)
    for run in runs:
        width = cell_len(run) * _CELL
        shown = html.escape(run).replace(" ", "&#160;").replace("\xa0", "&#160;")
        made += f'<text class="{kind}" x="{x:.5g}" y="{y}" textLength="{width:.5g}"{rest}>{shown}</text>'
        x += width
    return made


class Album:
    """Compares what a running app shows with the snapshots of a test, size by size and theme by theme."""

    def __init__(self, text: SnapshotAssertion, svg: SnapshotAssertion) -> None:
        self._text, self._svg = text, svg
        self.clean: Callable[[str], str] = steady

    async def sizes(self, running: Any) -> None:
        """As text at every size, the smallest too, and as SVG at two of them; the app is resized on the way."""
        running.app.clear_notifications()
        for size in (*SIZES, SMALLEST):
            await _resized(running, size)
            assert self.clean("\n".join(running.lines())) + "\n" == self._text(name=size_name(size))
            if size in SVG_SIZES:
                assert self.clean(picture(running.app)) == self._svg(name=size_name(size))

    async def as_it_is(self, running: Any) -> None:
        """As SVG, at the size in force."""
        await running.pilot.pause()
        assert self.clean(picture(running.app)) == self._svg

    async def themes(self, running: Any) -> None:
        """As SVG in every theme but the one that is in force."""
        for theme in THEMES:
            running.app.theme = theme
            running.app.clear_notifications()
            await running.rest()
            assert self.clean(picture(running.app)) == self._svg(name=theme)


async def _resized(running: Any, size: tuple[int, int]) -> None:
    if running.app.size != size:
        await running.resize(*size)
        await running.rest(0.1)
