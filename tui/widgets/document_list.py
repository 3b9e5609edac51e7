"""The documents of the index, and the files that are not in it, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from tui.text import cells_of, elided_path, fitted, shown
from tui.widgets.row_list import RowList


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as the files screen shows it: `detail` is amounts, or why it is not indexed."""

    state: Literal["ok", "warning", "failed", "skipped"]
    path: str
    detail: str


_MARKS = {"ok": " ", "warning": "!", "failed": "✗", "skipped": "-"}
_STYLES = {"ok": "$text-muted", "warning": "$warning", "failed": "$error", "skipped": "$text-muted"}


class DocumentList(RowList[FileRow]):
    """State mark, path, and lines and chunks or the reason."""

    def key(self, item: FileRow) -> str:
        return item.path

    def row(self, item: FileRow, width: int) -> Content:
        detail = shown(item.detail)
        room = max(width - 4, 4)
        detail_cells = min(cells_of(detail), max(room * 3 // 5, 4) if item.state != "ok" else 24)
        path_cells = max(room - detail_cells - 2, 4)
        path = fitted(elided_path(shown(item.path), path_cells), path_cells)
        style = _STYLES[item.state]
        return Content.assemble((f" {_MARKS[item.state]} ", style), path, "  ", (fitted(detail, detail_cells), style))
