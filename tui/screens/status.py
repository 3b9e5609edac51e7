"""The status screen: what the memory holds and how well it is, what is wrong and what helps, and the live log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from textual import work
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from core import MemdeckError, SyncReport, counted
from tui import guidance
from tui.commands import Command
from tui.event_log import LogLine
from tui.pace import spark
from tui.screens.base import DeckScreen, bindings_of
from tui.screens.details import Details
from tui.screens.palette import Palette
from tui.state import DeckState
from tui.text import cells_of
from tui.widgets.line import Line
from tui.widgets.row_list import RowList
from tui.widgets.status_panel import status_text
from tui.widgets.sync_log import LEVELS, LogRow, SyncLog
from tui.widgets.text_pane import TextPane
from tui.widgets.trouble_list import Trouble, TroubleList, troubles

ACTIONS = (
    Command("sync: bring the index in step with the files", "r", "reindex"),
    Command("check: look at every part, with real work", "", "examine"),
    Command("repair: set right what is out of step with the files", "", "repair"),
    Command("redo: read all files and make all vectors anew", "", "redo"),
)
_LEVEL_WORDS = dict(zip(LEVELS, ("all", "warnings and errors", "errors"), strict=True))


class Facts(TextPane, can_focus=True, inherit_bindings=False):
    """The rows of the status, which may be more than fit."""


class StatusScreen(DeckScreen):
    """Draws from the app's state; asks for work only on request, and after a question where it is much."""

    NAME = "status"
    BINDINGS = bindings_of("status")

    def body(self) -> ComposeResult:
        with Container(id="standing"):
            yield Facts(id="facts")
            with Container(id="trouble"):
                yield Line(id="trouble-title", fill="─")
                yield TroubleList(id="troubles")
        yield Line(id="pace")
        yield Line(id="log-title", fill="─")
        yield SyncLog()

    def on_mount(self) -> None:
        self.log_widget.add(self.deck.log_lines)
        self.watch(self.app, "logged", self._logged, init=False)
        self._entitle()
        self.log_widget.focus()

    @property
    def log_widget(self) -> SyncLog:
        return self.query_one(SyncLog)

    @property
    def troubles(self) -> TroubleList:
        return self.query_one(TroubleList)

    @property
    def has_rows(self) -> bool:
        return isinstance(self.focused, RowList) and self.focused.current is not None

    # Showing

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        self.query_one(Facts).show(partial(status_text, state))
        self._show_troubles(state)
        self._show_pace(state)

    def _show_troubles(self, state: DeckState) -> None:
        found = troubles(state.status) if state.status is not None else []
        rows = self.troubles
        if tuple(found) != rows.items:
            current = rows.current
            rows.show(found, keep=None if current is None else rows.key(current))
            reasons = sum(one.kind == "health" for one in found)
            files = len(found) - reasons
            parts = [counted(reasons, "reason")] if reasons else []
            parts += [f"{counted(files, 'file')} not indexed"] if files else []
            self.query_one("#trouble-title", Line).set(f"─ {', '.join(parts)} ", " ↵ all of it, or the file ─")
            self.query_one("#trouble").display = bool(found)
            self._fit_troubles()

    def on_resize(self) -> None:
        super().on_resize()
        self._show_pace(self.deck.state)
        self._fit_troubles()

    def _fit_troubles(self) -> None:
        """As many rows as there are, up to a fifth of the screen; beside the facts as many as these have."""
        rows, beside = self.troubles, self.has_class("-wide") or self.has_class("-listonly")
        rows.styles.height = None if beside else max(min(len(rows.items), self.app.size.height // 5), 1)

    def _show_pace(self, state: DeckState) -> None:
        """The blocks of the last seconds of work; nothing moves while nothing is written."""
        line, pace = self.query_one("#pace", Line), state.pace
        line.display = bool(pace.counts) and not self.has_class("-listonly")
        if pace.counts:
            words = f" {pace.says()} "
            room = max(self.size.width - cells_of(words) - 1, 0)
            line.set(Content.styled(f" {spark(pace.counts, room)}", "$accent"), Content.styled(words, "$text-muted"))

    def _logged(self, lines: tuple[LogLine, ...]) -> None:
        self.log_widget.add(lines)

    def on_sync_log_counted(self, event: SyncLog.Counted) -> None:
        event.stop()
        self._entitle()

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._entitle()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_details()

    def _entitle(self) -> None:
        log = self.log_widget
        following = "following" if log.is_following else "not following"
        state = f"PAUSED, +{log.waiting} new" if log.paused else following
        shown = f"{len(log.items):,} of {log.kept:,}" if log.level != "info" else f"{log.kept:,} kept"
        level = _LEVEL_WORDS[log.level]
        self.query_one("#log-title", Line).set("─ live sync ", f" {state} · {shown} · level: {level} ─")
        self.hint()

    # Keys

    def action_move(self, where: str) -> None:
        facts, focused = self.query_one(Facts), self.focused
        if not facts.has_focus:
            (focused if isinstance(focused, RowList) else self.log_widget).move(where)
        else:
            facts.move(where)

    def action_back(self) -> None:
        self.log_widget.focus()

    def action_pause(self) -> None:
        self.log_widget.pause()

    def action_clear(self) -> None:
        self.log_widget.clear_lines()
        self.deck.log_lines.clear()

    def action_level_next(self) -> None:
        self.log_widget.narrow()

    def action_details(self) -> None:
        """All of the row in force; of a file that is not indexed, its place on the files screen."""
        rows = self.focused if isinstance(self.focused, RowList) else self.log_widget
        item = rows.current
        if isinstance(item, LogRow):
            line = item.line
            self._tell("log", guidance.log_details(line), line.path)
        elif isinstance(item, Trouble):
            if item.path:
                self._show(item.path)
            else:
                self._tell("reason", guidance.trouble_details(item.words, item.remedy), "")

    def _tell(self, title: str, text: Content, path: str) -> None:
        def go(yes: bool | None) -> None:
            if yes and path:
                self._show(path)

        self.deck.push_screen(Details(title, text, yes="shows it in files" if path else ""), go)

    def _show(self, path: str) -> None:
        self.run_worker(self.deck.show_file(path), group="show_file", exit_on_error=False)

    def action_show_file(self) -> None:
        """The file that the row in force is about, on the files screen."""
        rows = self.focused if isinstance(self.focused, RowList) else self.log_widget
        item = rows.current
        path = item.line.path if isinstance(item, LogRow) else item.path if isinstance(item, Trouble) else ""
        if path:
            self._show(path)
        else:
            self.deck.say("this row is about no file")

    # Work

    def action_reindex(self) -> None:
        self.deck.sync_now()

    def action_recover(self) -> None:
        """Choose what to do about the index."""

        async def run(command: Command | None) -> None:
            if command is not None:
                await self.run_action(command.action)

        self.deck.push_screen(Palette(list(ACTIONS), "what to do about the index"), run)

    def action_redo(self) -> None:
        status = self.deck.state.status
        amount = "" if status is None else f"{counted(status.files, 'file')}, {counted(status.chunks, 'chunk')}: "
        text = guidance.question(
            f"{amount}everything is read again and every vector made again.",
            "Searches go on meanwhile. A remote provider is asked for all of it, which may cost.",
        )
        self._ask("redo everything?", text, "redoes", self.redo)

    def action_repair(self) -> None:
        text = guidance.question(
            "Every part of the index is looked at, and rows that are out of step with the files are set right.",
            "No file is changed. Searches wait while tables are made anew.",
        )
        self._ask("repair the index?", text, "repairs", lambda: self.examine(repair=True))

    def _ask(self, title: str, text: Content, yes: str, then: Callable[[], object]) -> None:
        def answered(agreed: bool | None) -> None:
            if agreed:
                then()

        self.deck.push_screen(Details(title, text, yes=yes), answered)

    @work(exclusive=True, group="redo", exit_on_error=False)
    async def redo(self) -> None:
        """Read everything and make every vector anew; vectors follow in the background."""
        self.deck.say("everything is read again; the log tells")
        try:
            report = await asyncio.to_thread(self.deck.memory.sync, "force", force=True, vectors=False)
        except MemdeckError as error:
            self.deck.say(f"not redone: {error}", "error")
            return
        self.deck.say(_outcome(report), "warning" if report.failed else "information")
        self.deck.refresh_status()

    def action_examine(self) -> None:
        self.examine()

    @work(exclusive=True, group="examine", exit_on_error=False)
    async def examine(self, *, repair: bool = False) -> None:
        """Look at every part, set right what can be, and show what was found."""
        self.deck.say("looking at every part")
        started = time.monotonic()
        findings = await asyncio.to_thread(self.deck.memory.doctor, repair)
        bad = sum(not finding.ok for finding in findings)
        title = f"{'repaired · ' if repair else ''}{counted(bad, 'finding')} to look at" if bad else "all is well"
        took = f"{counted(len(findings), 'part')} in {time.monotonic() - started:.1f} s"
        self.deck.push_screen(Details(f"{title} · {took}", guidance.findings(findings)))
        self.deck.refresh_status()


def _outcome(report: SyncReport) -> str:
    failed = f", {report.failed:,} failed" if report.failed else ""
    waiting = f"; {counted(report.vectors_waiting, 'chunk')} wait for vectors" if report.vectors_waiting else ""
    return f"{counted(report.indexed, 'file')} read again{failed}{waiting}"
