"""The command palette: type a part of what is wanted, Enter does it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from tui.commands import Command, matching
from tui.screens.window import Window, window_bindings
from tui.text import cells_of, fitted, shown
from tui.widgets.query_input import QueryInput
from tui.widgets.row_list import RowList
from tui.widgets.typing_rest import TypingRest

TALLEST = 16


class CommandList(RowList[Command]):
    """What it is about, what it does, and the keys at the right edge."""

    def key(self, item: Command) -> str:
        return item.title

    def row(self, item: Command, width: int) -> Content:
        keys = f" {item.keys} " if item.keys else ""
        title = fitted(f"  {shown(item.title)}", max(width - cells_of(keys), 8))
        area = title.find(": ") + 1
        return Content.assemble((title[:area], "$text-muted"), title[area:], (keys, "bold $primary"))


class Palette(Window[Command | None], inherit_bindings=False):
    """Gives the chosen command back, or None."""

    BINDINGS = window_bindings("palette", dict.fromkeys(("app.back", "app.palette"), "dismiss(None)"))
    AUTO_FOCUS = "QueryInput"

    def __init__(self, commands: list[Command], asks: str = "find a command") -> None:
        super().__init__()
        self._asks = asks
        self._commands = commands
        self._rest = TypingRest(self, self._narrow)

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield QueryInput(self._asks, id="palette-query")
            yield CommandList(id="commands")

    def on_mount(self) -> None:
        self.query_one("#palette").styles.height = min(len(self._commands) + 3, TALLEST)
        self.query_one(CommandList).show(self._commands)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._rest.wait()

    def _narrow(self) -> None:
        self.query_one(CommandList).show(matching(self._commands, self.query_one(QueryInput).value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    def action_move(self, where: str) -> None:
        self._rest.now()
        self.query_one(CommandList).move(where)

    def action_choose(self) -> None:
        self._rest.now()
        command = self.query_one(CommandList).current
        if command is not None:
            self.dismiss(command)
