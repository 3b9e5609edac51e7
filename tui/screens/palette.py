"""The command palette: type a part of what is wanted, Enter does it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from tui.commands import Command, matching
from tui.screens.window import Window, window_bindings
from tui.text import fitted, shown
from tui.widgets.query_input import QueryInput
from tui.widgets.row_list import RowList

KEY_CELLS = 14


class CommandList(RowList[Command]):
    """Title, and the keys at the right."""

    def key(self, item: Command) -> str:
        return item.title

    def row(self, item: Command, width: int) -> Content:
        title = fitted(f"  {shown(item.title)}", max(width - KEY_CELLS, 8))
        return Content.assemble(title, (fitted(item.keys, min(KEY_CELLS, width)), "$text-muted"))


class Palette(Window[Command | None], inherit_bindings=False):
    """Gives the chosen command back, or None."""

    BINDINGS = window_bindings("palette", dict.fromkeys(("app.back", "app.palette"), "dismiss(None)"))
    AUTO_FOCUS = "QueryInput"

    def __init__(self, commands: list[Command], asks: str = "find a command") -> None:
        super().__init__()
        self._asks = asks
        self._commands = commands

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield QueryInput(self._asks, id="palette-query")
            yield CommandList(id="commands")

    def on_mount(self) -> None:
        self.query_one(CommandList).show(self._commands)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(CommandList).show(matching(self._commands, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    def action_move(self, where: str) -> None:
        self.query_one(CommandList).move(where)

    def action_choose(self) -> None:
        command = self.query_one(CommandList).current
        if command is not None:
            self.dismiss(command)
