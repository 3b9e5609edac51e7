"""The tree of files, one line each: folds, names, and amounts or the reason why a file is not indexed."""

from __future__ import annotations

import time

from textual.content import Content

from tui.file_entries import FileEntry
from tui.file_tree import TreeRow
from tui.text import cells_of, counted, fitted, shown, shown_path
from tui.widgets.row_list import RowList

DEEPEST = 8
"""Levels that are indented; what lies deeper stands below these."""
_MARKS = {"indexed": " ", "partly": "!", "failed": "✗", "skipped": "-", "ignored": "-"}
_STYLES = {"indexed": "$text-muted", "partly": "$warning", "failed": "$error"}


class FileList(RowList[TreeRow]):
    """A mark (! in part, ✗ failed, - left out, ~ waiting for vectors), the name, and what is known at the right."""

    def key(self, item: TreeRow) -> str:
        return item.key

    def place_of(self, key: str) -> int | None:
        at = self.highlighted
        if at is not None and at < len(self.items) and self.items[at].key == key:
            return at
        return next((index for index, row in enumerate(self.items) if row.key == key), None)

    def row(self, item: TreeRow, width: int) -> Content:
        indent = "  " * min(item.depth, DEEPEST)
        if item.entry is None:
            return self._folder(item, indent, width)
        entry = item.entry
        style = _STYLES.get(entry.state, "$text-muted")
        mark = "~" if entry.state == "indexed" and entry.waiting else _MARKS[entry.state]
        title = entry.document.title if entry.document is not None else None
        name = f"{shown(title)} · {shown_path(item.name)}" if title else shown_path(item.name)
        if entry.words:
            detail, most = shown(entry.words), max(width * 3 // 5, 4)
        else:
            detail, most = _amounts(entry, width), width
        return _joined(mark, f"{indent}  {name}", detail, style, width, most)

    @staticmethod
    def _folder(item: TreeRow, indent: str, width: int) -> Content:
        counts = item.counts
        parts = [counted(counts.files, "file")] if counts.files or not counts.left_out else []
        if width >= 50 and counts.chunks:
            parts.append(counted(counts.chunks, "chunk"))
        if counts.waiting:
            parts.append(f"{counts.waiting:,} waiting")
        if counts.failed:
            parts.append(f"{counts.failed:,} failed")
        if counts.left_out:
            parts.append(f"{counts.left_out:,} left out")
        mark = "✗" if counts.failed and not item.is_open else " "
        name = f"{indent}{'▾' if item.is_open else '▸'} {shown_path(item.name)}"
        row = _joined(mark, name, "  ".join(parts), "$text-muted", width, width * 3 // 5, bold=True)
        failed = f"{counts.failed:,} failed"
        at = row.plain.rfind(failed) if counts.failed else -1
        row = row.stylize("$error", 1, 2) if counts.failed else row
        return row.stylize("$error", at, at + len(failed)) if at >= 0 else row


def _amounts(entry: FileEntry, width: int) -> str:
    document = entry.document
    if document is None:
        return ""
    day = document.date_ms / 1000 if document.date_ms is not None else document.mtime_ns / 1e9
    date = time.strftime("%Y-%m-%d", time.localtime(day)) if day > 0 else " " * 10
    chunks = f"{document.chunks:>5,} {'chunk ' if document.chunks == 1 else 'chunks'}"
    if width < 44:
        return f"{document.waiting:,} waiting" if document.waiting else chunks.strip()
    first = counted(document.lines, "line") if width >= 60 else ""
    first = f"{document.waiting:,} waiting" if document.waiting else first
    return f"{first}  {chunks}  {date}" if first else f"{chunks}  {date}"


def _joined(mark: str, name: str, detail: str, style: str, width: int, most: int, *, bold: bool = False) -> Content:
    """A row of `width` cells: mark, name, and at the right at most `most` cells of detail."""
    detail = fitted(detail, min(cells_of(detail), most))
    while detail.startswith(" ") and cells_of(name) > width - cells_of(detail) - 5:
        detail = detail[1:]
    room = max(width - cells_of(detail) - 5, 4)
    return Content.assemble((f" {mark} ", style), (fitted(name, room), "bold" if bold else ""), "  ", (detail, style))
