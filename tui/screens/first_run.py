"""The screen of a start without a workspace: says what is looked for, asks where it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from core import MemdeckError
from tui import guidance
from tui.screens.base import DeckScreen
from tui.widgets.query_input import QueryInput


class FirstRunScreen(DeckScreen):
    """Opens the folder that is typed and goes on to the search."""

    NAME = "search"

    def body(self) -> ComposeResult:
        with Horizontal(id="query-bar"):
            yield Static(">", id="prompt", markup=False)
            yield QueryInput("path of a folder", id="query")
        yield Static(guidance.first_run(self.deck.options.looked_in), id="welcome", markup=False)

    def on_mount(self) -> None:
        self.query_one(QueryInput).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.open(Path(event.value.strip()).expanduser())

    @work(exclusive=True, group="open", exit_on_error=False)
    async def open(self, folder: Path) -> None:
        opener = self.deck.options.open_workspace
        if opener is None:
            return
        if not folder.is_dir():
            self.notice(f"{folder} is not a folder")
            return
        try:
            memory = await asyncio.to_thread(opener, folder)
        except (MemdeckError, OSError) as error:
            self.notice(str(error))
            return
        self.deck.adopt(memory)
