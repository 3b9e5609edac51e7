"""The list of the sessions screen: read from the index, narrowed by typing, and what it says when it is empty."""

from __future__ import annotations

import asyncio

from textual import work
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from core import Hit, MemdeckError
from tui import guidance
from tui.screens.keeping import KeepingScreen
from tui.screens.listed import ListedScreen
from tui.session_rows import Family, SessionRow, families, narrowed
from tui.state import DeckState
from tui.text import counted
from tui.widgets.line import Line
from tui.widgets.session_list import SessionList

FRESHEN_SECONDS = 1.0
BUSY_FRESHEN_SECONDS = 3.0


class ListingScreen(ListedScreen[SessionRow], KeepingScreen):
    """Subclasses compose a `SessionList`, a `QueryInput#query`, a `Line#info`, `#panes` and a `Static#empty`."""

    def __init__(self) -> None:
        super().__init__()
        self.families: list[Family] = []
        self.opened: set[str] = set()
        self._hit: Hit | None = None
        self._unasked = ""
        self._fresh: Timer | None = None
        self._seen: tuple[object, ...] = ()
        self._has_list = False
        self._told = ""

    def action_open(self) -> None:
        """Go from the list to the messages."""
        raise NotImplementedError

    @property
    def rows(self) -> SessionList:
        return self.query_one(SessionList)

    # The list

    @work(exclusive=True, group="sessions", exit_on_error=False)
    async def read(self) -> None:
        """Ask the index which transcripts it has, and list them."""
        status = self.deck.state.status
        try:
            found = await asyncio.to_thread(lambda: families(self.deck.memory.sessions(), status))
        except MemdeckError as error:
            self.show_empty(guidance.failure("The index cannot be read", str(error), error.remedy))
            return
        self.families, self._has_list = found, True
        self.fill()

    def fill(self, keep: str | None = None) -> None:
        """Show the rows that the field lets through, with the row of path `keep` or the one before in force."""
        self.workers.cancel_group(self, "narrow")
        self._show(narrowed(self.families, self.input.value, self.opened), keep)

    @work(exclusive=True, group="narrow", exit_on_error=False)
    async def narrow(self) -> None:
        """The same once a key was typed, without holding up the next one."""
        asked = self.families, self.input.value, frozenset(self.opened)
        self._show(await asyncio.to_thread(narrowed, *asked), None)

    def _show(self, rows: list[SessionRow], keep: str | None) -> None:
        current = self.rows.current
        wanted = keep or (self._hit.path if self._hit is not None else None) or (current.path if current else None)
        if self.input.value.strip() and not any(row.path == wanted for row in rows):
            wanted = None  # the first one that the field lets through
        self.rows.show(rows, keep=wanted)
        transcripts = len(self.families) + sum(len(family.children) for family in self.families)
        some = counted(transcripts, "transcript") if len(rows) == transcripts or not self.input.value else ""
        if self._has_list and self._hit is not None:
            row = self.rows.current
            self._unasked = "" if row is None or row.path == self._hit.path else row.path
            self._hit = None
        self._told = some or f"{len(rows):,} of {counted(transcripts, 'transcript')}"
        self._tell()
        self.show_empty(None if rows else self._nothing())

    def _tell(self) -> None:
        self.query_one("#info", Line).set("", Content.styled(f"{self._told} · roles: {self.role}", "$text-muted"))

    def _nothing(self) -> Content:
        settings = self.deck.memory.settings.settings
        if not (settings.sessions.agents or settings.sessions.paths):
            return guidance.sessions_off(self.deck.keymap.key("app.offer"))
        if self.input.value.strip() and self.families:
            return guidance.no_session_matches(self.input.value, self.deck.keymap)
        return guidance.no_sessions(settings.sessions.agents, self.deck.state, self.deck.keymap)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.narrow()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.deck.once_in_step(self, self.action_open)

    @property
    def is_listed(self) -> bool:
        """Whether the list is what the field lets through."""
        is_read = self._has_list or (bool(self._seen) and not self.at_work("sessions"))
        return is_read and not self.at_work("narrow")

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        if self.is_current:
            self._look()

    def on_screen_resume(self) -> None:
        self._look()

    def _look(self) -> None:
        """Read the list again, once a second at most, if the index changed since the last time."""
        state = self.deck.state
        if self._seen == self._now and self._has_list:
            if not self.rows.items:
                self.show_empty(self._nothing())
        elif self._fresh is None:
            if not self._seen:
                self._freshen()
            else:
                self._fresh = self.set_timer(BUSY_FRESHEN_SECONDS if state.busy else FRESHEN_SECONDS, self._freshen)

    @property
    def _now(self) -> tuple[object, ...]:
        """What the list was made from: the index, and which files failed."""
        state = self.deck.state
        return state.revision, () if state.status is None else state.status.failed

    def _freshen(self) -> None:
        self._fresh = None
        self._seen = self._now
        self.read()
