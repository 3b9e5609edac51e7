"""The screen of a start without a workspace: says what is looked for, asks where it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from core import MemdeckError
from tui import guidance
from tui.bindings import BY_ID
from tui.screens.base import DeckScreen
from tui.state import DeckState
from tui.widgets.line import Line
from tui.widgets.query_input import QueryInput


class FirstRunScreen(DeckScreen):
    """Opens the folder that is typed and goes on to the search; there is nothing else to go to yet."""

    NAME = "search"

    def compose(self) -> ComposeResult:
        yield Line(id="top")
        yield Line(id="notice")
        with Horizontal(id="query-bar"):
            yield Static(">", id="prompt", markup=False)
            yield QueryInput("path of a folder", id="query")
        yield Static(guidance.first_run(self.deck.options.looked_in), id="welcome", markup=False)
        yield Line(id="hints")
        yield self.too_small()

    def on_mount(self) -> None:
        self.query_one("#top", Line).set(Content.styled("memdeck", "bold $primary"))
        quits = self.deck.keymap.shown(BY_ID["app.quit"], typing=True)
        self.query_one("#hints", Line).set(f"↵ open  {quits} quit")
        self.query_one(QueryInput).focus()

    def state_changed(self, state: DeckState) -> None:
        self.notice(state.banner)

    def hint(self) -> None:
        """The hints stay as they are."""

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
