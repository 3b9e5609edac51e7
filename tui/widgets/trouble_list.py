"""What is wrong with a memory, one line each: reasons of bad health, files that failed, files that were left out."""

from __future__ import annotations

from typing import Literal, NamedTuple

from textual.content import Content

from core import Status, skip_words
from tui.text import cells_of, elided_path, fitted, shown
from tui.widgets.row_list import RowList


class Trouble(NamedTuple):
    """A reason with its remedy, or a file (`path`) with the reason why it is not indexed."""

    kind: Literal["health", "failed", "skipped"]
    words: str
    remedy: str = ""
    path: str = ""


def troubles(status: Status) -> list[Trouble]:
    """All of them, the heavier ones first."""
    found = [Trouble("health", finding.detail, finding.remedy) for finding in status.findings]
    found += [Trouble("failed", one.error, "", one.path) for one in status.failed]
    return found + [Trouble("skipped", skip_words(one), "", one.path) for one in status.skipped]


_MARKS = {"health": "!", "failed": "✗", "skipped": "-"}
_STYLES = {"health": "$warning", "failed": "$error", "skipped": "$text-muted"}


class TroubleList(RowList[Trouble]):
    """A mark, the words or the file, and at the right the remedy or the reason."""

    def key(self, item: Trouble) -> str:
        return f"{item.kind}\x1f{item.path}\x1f{item.words}"

    def row(self, item: Trouble, width: int) -> Content:
        style = _STYLES[item.kind]
        first, second = (item.path, item.words) if item.path else (item.words, item.remedy)
        first, second = shown(first), shown(second)
        room = max(width - 3, 4)
        need = cells_of(second) + 4
        first_cells = min(cells_of(first), max(room - need, room // 2)) if second and room > 50 else room
        name = elided_path(first, first_cells) if item.path else fitted(first, first_cells)
        rest = room - cells_of(name.rstrip())
        joint = "  " if item.path else "  → "
        detail = fitted(joint + second, rest).rstrip() if second and rest > 8 else ""
        return Content.assemble((f" {_MARKS[item.kind]} ", style), name.rstrip(), (detail, "$text-muted"))
