"""The log of what happened to the index: bounded, batched, narrowed by weight, and held still on request."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from textual.content import Content
from textual.message import Message

from tui.event_log import LogLevel, LogLine
from tui.text import elided_path, fitted, shown
from tui.widgets.row_list import RowList

KEPT_LINES = 1000
LEVELS: tuple[LogLevel, ...] = ("info", "warning", "error")
"""From light to heavy; a log that is narrowed to one shows it and all that are heavier."""
_MARKS = {"info": (" ", ""), "warning": ("!", "$warning"), "error": ("✗", "$error")}
_VERB_CELLS = 8
_NARROW = 60


class LogRow(NamedTuple):
    """A line and its number since the start, by which it is known again."""

    number: int
    line: LogLine


class SyncLog(RowList[LogRow]):
    """The cursor follows the newest line until it is moved away from the end."""

    class Counted(Message):
        """Other lines are shown, or lines came in while the log was held still."""

    def __init__(self) -> None:
        super().__init__(id="log")
        self.paused = False
        self.level: LogLevel = "info"
        self._lines: deque[LogRow] = deque(maxlen=KEPT_LINES)
        self._held: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self._count = 0

    def key(self, item: LogRow) -> str:
        return str(item.number)

    def row(self, item: LogRow, width: int) -> Content:
        line = item.line
        mark, style = _MARKS[line.level]
        clock = line.clock if width >= _NARROW else line.clock[:5]
        start = f" {clock}  {line.verb:<{_VERB_CELLS}} "
        room = max(width - len(start) - 2, 4)
        subject_cells = max((room - 3) // 2, 16) if line.detail and room > 30 else room
        words = shown(line.subject)
        subject = fitted(elided_path(words, subject_cells) if line.path else words, subject_cells)
        detail = f"  {shown(line.detail)}" if subject_cells < room else ""
        return Content.assemble((f" {mark}", style), (start, style), subject, (detail, style or "$text-muted"))

    @property
    def waiting(self) -> int:
        """Lines that came in while the log is held still."""
        return len(self._held)

    @property
    def kept(self) -> int:
        """All lines, whether or not they are shown."""
        return len(self._lines)

    @property
    def is_following(self) -> bool:
        return self.highlighted is None or self.highlighted >= len(self.items) - 1

    def add(self, lines: Iterable[LogLine]) -> None:
        """Show a batch at once, or hold it while paused."""
        batch = list(lines)
        if not batch:
            return
        if self.paused:
            self._held.extend(batch)
            self.post_message(self.Counted())
        else:
            self._take(batch)

    def _take(self, batch: Iterable[LogLine]) -> None:
        for line in batch:
            self._count += 1
            self._lines.append(LogRow(self._count, line))
        self._show_lines()

    def _show_lines(self) -> None:
        follow, current = self.is_following, self.current
        heavy = LEVELS[LEVELS.index(self.level) :]
        rows = [row for row in self._lines if row.line.level in heavy]
        keep = str(rows[-1].number) if follow and rows else None if current is None else str(current.number)
        self.show(rows, keep=keep)
        self.post_message(self.Counted())

    def pause(self) -> bool:
        """Hold still, or go on; tells which."""
        self.paused = not self.paused
        if not self.paused:
            held, self._held = list(self._held), deque(maxlen=KEPT_LINES)
            self._take(held)
        self.post_message(self.Counted())
        return self.paused

    def narrow(self) -> LogLevel:
        """Show only heavier lines, from the heaviest on all again; tells which."""
        self.level = LEVELS[(LEVELS.index(self.level) + 1) % len(LEVELS)]
        self._show_lines()
        return self.level

    def clear_lines(self) -> None:
        self._lines.clear()
        self._held.clear()
        self._show_lines()
