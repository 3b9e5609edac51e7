"""The status screen: health, counts and parts above, the log of what happens below."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.event_log import LogLine
from tui.pace import spark
from tui.screens.base import DeckScreen, bindings_of
from tui.state import DeckState
from tui.text import cells_of
from tui.widgets.line import Line
from tui.widgets.status_panel import status_content
from tui.widgets.sync_log import KEPT_LINES, SyncLog


class Facts(VerticalScroll, can_focus=True, inherit_bindings=False):
    """The rows of the status, which may be more than fit."""


class StatusScreen(DeckScreen):
    """Draws from the app's state; asks for nothing itself."""

    NAME = "status"
    BINDINGS = bindings_of("status")

    def __init__(self) -> None:
        super().__init__()
        self._facts = Content()

    def body(self) -> ComposeResult:
        with Facts(id="facts"):
            yield Static("", id="facts-text", markup=False)
        yield Line(id="pace")
        yield Line(id="log-title", fill="─")
        yield SyncLog()

    def on_mount(self) -> None:
        self.log_widget.add(self.deck.log_lines)
        self.watch(self.app, "logged", self._logged, init=False)
        self._entitle(0)
        self.log_widget.focus()

    @property
    def log_widget(self) -> SyncLog:
        return self.query_one(SyncLog)

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        facts, content = self.query_one("#facts-text", Static), status_content(state)
        before = self._facts
        if not content.is_same(before):
            self._facts = content
            facts.update(content, layout=_rows(content, facts.size.width) != _rows(before, facts.size.width))

        self._show_pace(state)

    def on_resize(self) -> None:
        super().on_resize()
        self._show_pace(self.deck.state)

    def _show_pace(self, state: DeckState) -> None:
        """The blocks of the last seconds of work; nothing moves while nothing is written."""
        line, pace = self.query_one("#pace", Line), state.pace
        line.display = bool(pace.counts)
        if pace.counts:
            words = f" {pace.says()} "
            room = max(self.size.width - cells_of(words) - 1, 0)
            line.set(Content.styled(f" {spark(pace.counts, room)}", "$accent"), Content.styled(words, "$text-muted"))

    def _logged(self, lines: tuple[LogLine, ...]) -> None:
        self.log_widget.add(lines)

    def on_sync_log_counted(self, event: SyncLog.Counted) -> None:
        self._entitle(event.waiting)

    def _entitle(self, waiting: int) -> None:
        paused = self.log_widget.paused
        state = f"PAUSED, +{waiting} new" if paused else f"following · last {KEPT_LINES:,} kept"
        self.query_one("#log-title", Line).set("─ live sync ", f" {state} ─")

    def action_move(self, where: str) -> None:
        facts = self.query_one(Facts)
        if not facts.has_focus:
            self.log_widget.move(where)
        elif where in ("up", "down"):
            facts.scroll_relative(y=1 if where == "down" else -1, animate=False)
        else:
            facts.scroll_to(y=0 if where in ("first", "page_up") else facts.max_scroll_y, animate=False)

    def action_pause(self) -> None:
        self.log_widget.pause()

    def action_clear(self) -> None:
        self.log_widget.clear()
        self.deck.log_lines.clear()

    def action_reindex(self) -> None:
        self.deck.sync_now()


def _rows(content: Content, width: int) -> int:
    """Rows of a text when its lines are wrapped, near enough to tell whether a new layout is due."""
    return sum(-(-max(cells_of(line), 1) // max(width, 1)) for line in content.plain.split("\n"))
