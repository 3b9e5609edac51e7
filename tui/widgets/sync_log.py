"""The log of what happened to the index: bounded, batched, and held still on request."""

from __future__ import annotations

from collections.abc import Iterable

from textual.message import Message
from textual.widgets import Log

from tui.event_log import LogLine
from tui.text import elided_path, fitted, shown

KEPT_LINES = 1000
_VERB_CELLS = 8


class SyncLog(Log, can_focus=True, inherit_bindings=False):
    """Follows the newest line unless it is scrolled up or paused."""

    ALLOW_SELECT = False

    class Counted(Message):
        """Lines came in while the log was held still."""

        def __init__(self, waiting: int) -> None:
            super().__init__()
            self.waiting = waiting

    def __init__(self) -> None:
        super().__init__(id="log", highlight=False, max_lines=KEPT_LINES, auto_scroll=True)
        self.paused = False
        self._held: list[str] = []

    def add(self, lines: Iterable[LogLine]) -> None:
        """Write a batch at once, or hold it while paused."""
        rows = [self._row(line) for line in lines]
        if not rows:
            return
        if self.paused:
            self._held = [*self._held, *rows][-KEPT_LINES:]
            self.post_message(self.Counted(len(self._held)))
        else:
            self.write_lines(rows)

    def pause(self) -> bool:
        """Hold still, or go on; tells which."""
        self.paused = not self.paused
        if not self.paused and self._held:
            self.write_lines(self._held)
            self._held = []
        self.post_message(self.Counted(len(self._held)))
        return self.paused

    def _row(self, line: LogLine) -> str:
        width = max(self.app.size.width, 60)
        subject_cells = max(16, width // 2 - 10)
        subject = fitted(elided_path(shown(line.subject), subject_cells), subject_cells)
        return f"{line.clock}  {line.verb:<{_VERB_CELLS}}  {subject}  {shown(line.detail)}".rstrip()

    def move(self, where: str) -> None:
        match where:
            case "up":
                self.scroll_up(animate=False)
            case "down":
                self.scroll_down(animate=False)
            case "page_up":
                self.scroll_page_up(animate=False)
            case "page_down":
                self.scroll_page_down(animate=False)
            case "first":
                self.scroll_home(animate=False)
            case "last":
                self.scroll_end(animate=False)
