"""The transcripts, one or two lines each: start, title, agent, folder, messages, size."""

from __future__ import annotations

import time

from textual.content import Content

from tui.session_rows import SessionRow
from tui.text import cells_of, fitted, shown, shown_path
from tui.widgets.row_list import RowList

_MARKS = {"ok": " ", "warning": "!", "gone": "-", "failed": "✗"}
_STYLES = {"ok": "$text-muted", "warning": "$warning", "gone": "$warning", "failed": "$error"}
_WORDS = {"ok": "", "warning": "", "gone": "gone · ", "failed": "unreadable · "}
_AGENTS = {"claude-code": "claude"}
_AGENT_CELLS = 8
_FOLDER_CELLS = 11


class SessionList(RowList[SessionRow]):
    """The second column marks what is wrong: `!` not all was understood, `-` the file is gone, `✗` unreadable."""

    home = ""

    def key(self, item: SessionRow) -> str:
        return item.path

    @property
    def row_height(self) -> int:
        return 2 if self.wide else 1

    def row(self, item: SessionRow, width: int) -> Content:
        return self._two_lines(item, width) if self.wide else self._one_line(item, width)

    def _one_line(self, row: SessionRow, width: int) -> Content:
        room = width - 3
        day = _when(row, "%Y-%m-%d" if room >= 42 else "%m-%d")
        agent = f" {fitted(_agent(row), _AGENT_CELLS)}" if room >= 40 else ""
        folder = f" {fitted(self._folder(row, _FOLDER_CELLS), _FOLDER_CELLS)}" if room >= 62 else ""
        amounts = f" {_count(row):>9}" + (f" {_size(row):>7}" if room >= 50 else "")
        title_cells = max(room - sum(map(cells_of, (day, " ", agent, folder, amounts))), 4)
        return Content.assemble(
            self._lead(row), (f"{day} ", "$text-muted"), *self._title(row, title_cells),
            (agent, "$primary"), (folder, "$text-muted"), (amounts, "$text-muted"),
        )  # fmt: skip

    def _two_lines(self, row: SessionRow, width: int) -> Content:
        when = _when(row, "%Y-%m-%d %H:%M")
        amounts = f" {_count(row)}  {_size(row)}"
        room = max(width - 5 - _AGENT_CELLS - cells_of(amounts), 4)
        return Content.assemble(
            self._lead(row), *self._title(row, max(width - 4 - cells_of(when), 4)), (f" {when}", "$text-muted"), "\n",
            " " * (4 + row.depth), (fitted(_agent(row), _AGENT_CELLS), "$primary"), " ",
            (fitted(self._folder(row, room - row.depth), room - row.depth), "$text-muted"), (amounts, "$text-muted"),
        )  # fmt: skip

    def _lead(self, row: SessionRow) -> tuple[str, str]:
        fold = "" if not row.children else "▾" if row.opened else "▸"
        return f" {_MARKS[row.state]}{fold or ' '}", _STYLES[row.state]

    def _title(self, row: SessionRow, cells: int) -> list[tuple[str, str]]:
        more = f" +{row.children}" if row.children and not row.opened else ""
        word = _WORDS[row.state]
        text = shown(row.note) if row.state == "failed" and row.info is None else shown(row.title) or "(no title)"
        before = "└ " if row.depth else ""
        room = max(cells - cells_of(more), 2)
        head = fitted(before + word, min(cells_of(before + word), room))
        return [
            (head, _STYLES[row.state]),
            (fitted(text, room - cells_of(head)), "" if row.title else "$text-muted"),
            (more, "$accent"),
        ]

    def _folder(self, row: SessionRow, cells: int) -> str:
        folder = shown_path(row.cwd)
        if self.home and (folder == self.home or folder.startswith(f"{self.home}/")):
            folder = f"~{folder[len(self.home) :]}"
        return folder if cells_of(folder) <= cells else f"…{_last_cells(folder, max(cells - 1, 1))}"


def _last_cells(text: str, cells: int) -> str:
    while cells_of(text) > cells:
        text = text[1:]
    return text


def _agent(row: SessionRow) -> str:
    return shown(_AGENTS.get(row.dialect, row.dialect))


def _when(row: SessionRow, form: str) -> str:
    blank = "".join(" " for _ in time.strftime(form, time.gmtime(0)))
    if row.started is None:
        return blank
    try:
        return time.strftime(form, time.localtime(row.started / 1000))
    except (ValueError, OverflowError, OSError):
        return blank


def _count(row: SessionRow) -> str:
    return f"{row.messages:,} msg{'' if row.messages == 1 else 's'}" if row.info is not None else ""


def _size(row: SessionRow) -> str:
    if row.info is None:
        return ""
    if row.size < 10_000:
        return f"{row.size:,} B"
    return f"{row.size / 1000:,.0f} kB" if row.size < 1_000_000 else f"{row.size / 1e6:,.1f} MB"
