"""The sessions screen: the transcripts of the agents that may be read, and the messages of one of them."""

from __future__ import annotations

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input, Static

from core import Hit, MemdeckError, SearchMode, SearchResult
from tui import guidance
from tui.bindings import BY_ID
from tui.screens.base import bindings_of
from tui.screens.keeping import KeepingScreen
from tui.session_rows import Family, SessionRow, families, narrowed
from tui.state import DeckState
from tui.text import cells_of, counted, elided_citation, fitted, shown
from tui.widgets.line import Line
from tui.widgets.message_view import MessageView
from tui.widgets.prompt import Prompt
from tui.widgets.query_input import QueryInput
from tui.widgets.record_view import RecordView
from tui.widgets.row_list import RowList
from tui.widgets.session_list import SessionList

REST_SECONDS = 0.08
"""How long the cursor rests on a transcript before it is opened."""
FRESHEN_SECONDS = 1.0
BUSY_FRESHEN_SECONDS = 3.0
SIZES = ("split", "full", "off")
THREE_PANES = 150


class SessionsScreen(KeepingScreen):
    """A list that typing narrows; the messages follow it, and the record follows the messages."""

    NAME = "sessions"
    BINDINGS = bindings_of("browse", "sessions")

    size_of_messages: var[str] = var("split")

    def __init__(self) -> None:
        super().__init__()
        self.families: list[Family] = []
        self.opened: set[str] = set()
        self._row: SessionRow | None = None
        self._hit: Hit | None = None
        self._from_search = False
        self._rest: Timer | None = None
        self._fresh: Timer | None = None
        self._revision = -1
        self._has_list = False
        self._guidance = Content()
        self._told = ""

    def body(self) -> ComposeResult:
        with Horizontal(id="query-bar"):
            yield Static(">", id="prompt", markup=False)
            yield QueryInput("narrow by title, agent, folder", id="query")
            yield Line(id="info")
        with Container(id="panes"):
            yield SessionList(id="sessions")
            with Container(id="reader"):
                with Vertical(id="said"):
                    yield Line(id="title", fill="─")
                    yield MessageView(id="messages")
                with Vertical(id="raw"):
                    yield Line(id="raw-title", fill="─")
                    yield RecordView(id="record")
        yield Static("", id="empty", markup=False)
        yield Prompt(id="ask")

    def on_mount(self) -> None:
        self.rows.add_class("rows")
        self.rows.home = str(self.deck.options.environ.get("HOME", ""))
        self.talk.more_key = self.deck.keymap.shown(BY_ID["session.whole"])
        self.set_focus(None)
        self.call_after_refresh(self.rows.focus)

    @property
    def rows(self) -> SessionList:
        return self.query_one(SessionList)

    @property
    def input(self) -> QueryInput:
        return self.query_one("#query", QueryInput)

    @property
    def row(self) -> SessionRow | None:
        return self._row

    @property
    def has_rows(self) -> bool:
        return self.rows.current is not None and bool(self.query_one("#panes").display)

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
        rows = narrowed(self.families, self.input.value, self.opened)
        current = self.rows.current
        wanted = keep or (self._hit.path if self._hit is not None else None) or (current.path if current else None)
        self.rows.show(rows, keep=wanted)
        transcripts = len(self.families) + sum(len(family.children) for family in self.families)
        some = counted(transcripts, "transcript") if len(rows) == transcripts or not self.input.value else ""
        self._told = some or f"{len(rows):,} of {counted(transcripts, 'transcript')}"
        self._tell()
        self.show_empty(None if rows else self._nothing())

    def _tell(self) -> None:
        self.query_one("#info", Line).set("", Content.styled(f"{self._told} · roles: {self.role}", "$text-muted"))

    def _nothing(self) -> Content:
        settings = self.deck.memory.settings.settings
        if not (settings.sessions.agents or settings.sessions.paths):
            return guidance.sessions_off(self.deck.keymap.shown(BY_ID["app.offer"]))
        if self.input.value.strip() and self.families:
            return guidance.no_session_matches(self.input.value)
        return guidance.no_sessions(settings.sessions.agents, self.deck.state)

    def show_empty(self, content: Content | None) -> None:
        """Put guidance in the place of list and messages, or take it away."""
        empty, panes = self.query_one("#empty", Static), self.query_one("#panes")
        if content is not None:
            if not content.is_same(self._guidance):
                self._guidance = content
                empty.update(content, layout=False)
            if not self.typing:
                self.set_focus(None)
        elif not panes.display and self.focused is None:
            self.call_after_refresh(self.rows.focus)
        empty.display = content is not None
        panes.display = content is None
        self.hint()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_open()

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        if self.is_current:
            self._look()

    def on_screen_resume(self) -> None:
        self._look()

    def _look(self) -> None:
        """Read the list again, once a second at most, if the index changed since the last time."""
        state = self.deck.state
        if self._revision == state.revision and self._has_list:
            if not self.rows.items:
                self.show_empty(self._nothing())
        elif self._fresh is None:
            if self._revision < 0:
                self._freshen()
            else:
                self._fresh = self.set_timer(BUSY_FRESHEN_SECONDS if state.busy else FRESHEN_SECONDS, self._freshen)

    def _freshen(self) -> None:
        self._fresh = None
        self._revision = self.deck.state.revision
        self.read()

    # From the list to the messages

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, self.follow_list)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_open()

    def follow_list(self) -> None:
        """Open the transcript of the row in force."""
        row, hit = self.rows.current, self._hit
        self._row = row
        if row is None:
            self.close_session()
        elif hit is not None:
            if row.path == hit.path:
                self._hit = None
        elif row.path != self.path:
            self.open(row.path)
        else:
            self.entitle()

    def open_hit(self, hit: Hit, result: SearchResult, mode: SearchMode) -> None:
        """Show a hit of the search screen at its message; n and N go to the others in its transcript."""
        self._hit, self._from_search = hit, True
        self.input.value = ""
        family = next((one for one in self.families if any(row.path == hit.path for row in one.children)), None)
        if family is not None:
            self.opened.add(family.row.path)
        self.open(hit.path, hit.line)
        self.talk.cite(hit.start_line, hit.end_line)
        self.find(result.query, mode, result.filters, go=False)
        if self.families:
            self.fill(keep=hit.path)
        self.show_reader()

    # Titles

    def on_descendant_focus(self) -> None:
        super().on_descendant_focus()
        self.entitle()

    def on_descendant_blur(self) -> None:
        super().on_descendant_blur()
        self.entitle()

    def entitle(self) -> None:
        if not self.is_mounted:
            return
        title, talk, view = self.query_one("#title", Line), self.talk, self.view
        name = self.path if self._row is None or self._row.path != self.path else self._row.title or self.path
        parts = []
        if talk.selected:
            parts.append(f"{counted(len(talk.selected), 'message')} selected")
        if self.trail is not None:
            count = len(self.trail.hits)
            number = self.trail.number(*self._place())
            parts.append(f"hit {number}/{count}" if number else counted(count, "hit"))
        if self.added:
            parts.append(f"+{self.added} new ↓")
        seq = talk.current_seq
        if view is not None and seq is not None:
            if view.is_part:
                parts.append("reading the rest" if self.is_reading else "a part")
            else:
                parts.append(f"msg {talk.current + 1:,}/{len(talk.items):,}")
            parts.append(f"L{view.place(seq)[0]}")
        elif view is not None:
            parts.append(f"no {self.role} messages" if len(view) else "no messages")
        note = self.trouble or (self._row.note if self._row is not None and self._row.path == self.path else "")
        right = f" {' · '.join(parts)} ─" if parts else ""
        edge = "━" if talk.has_focus else "─"
        warning = f"! {shown(note)} " if note else ""
        room = max(title.size.width - cells_of(right) - cells_of(warning) - 4, 12)
        name = fitted(shown(name), room).rstrip() if cells_of(shown(name)) > room else shown(name)
        left = Content.assemble(f"{edge} ", (name, "bold"), " ", (warning, "$warning"))
        title.set(left if self.path else "", right)
        self._entitle_raw()
        self._tell()

    def _entitle_raw(self) -> None:
        line = self.query_one("#raw-title", Line)
        edge = "━" if self.records.has_focus else "─"
        places = [record.line for record in self.records.records]
        if not self.path or not places:
            line.set(f"{edge} raw ")
            return
        lines = f"#L{places[0]}" + (f"-L{places[-1]}" if len(places) > 1 else "")
        hides = f" {self.deck.keymap.shown(BY_ID['session.raw'])} hides ─"
        room = max(line.size.width - len(hides) - 10, 8)
        line.set(f"{edge} raw · {elided_citation(shown(self.path), lines, room)} ", hides)

    def watch_role(self) -> None:
        super().watch_role()
        if self.is_mounted:
            self._tell()

    # Keys

    def action_move(self, where: str) -> None:
        if self.records.has_focus:
            self.records.move(where)
        elif self.talk.has_focus or self.size_of_messages == "full":
            self.move_talk(where)
        elif where not in ("left", "right"):
            self.rows.move(where)

    def action_step(self, by: int) -> None:
        self.rows.move("down" if by > 0 else "up")

    def action_fold(self, folded: bool) -> None:
        row = self.rows.current
        if row is None:
            return
        family = next((one for one in self.families if row == one.row or row in one.children), None)
        family = family or next((one for one in self.families if one.row.path == row.path), None)
        if family is None or not family.children:
            if not folded:
                self.deck.say("this session has no subagents")
        elif folded:
            self.opened.discard(family.row.path)
            self.fill(keep=family.row.path)
        else:
            self.opened.add(family.row.path)
            self.fill()

    def action_open(self) -> None:
        if self.talk.has_focus:
            self.action_raw()
        elif self.rows.current is not None and not self.records.has_focus:
            self.follow_list()
            self.show_reader()

    def action_raw(self) -> None:
        if self.view is None:
            self.deck.say("no transcript is shown")
            return
        self.raw_on = not self.raw_on
        if self.raw_on and self.has_class("-listonly"):
            self.show_reader()
            self.call_after_refresh(self.records.focus)

    def watch_raw_on(self, raw_on: bool) -> None:
        if not self.is_mounted:
            return
        if not raw_on and self.records.has_focus:
            self.talk.focus()
        self.set_class(raw_on, "-raw")
        self._entitle_raw()
        self.show_record()

    def show_reader(self) -> None:
        if self.size_of_messages == "off" or self.has_class("-listonly"):
            self.size_of_messages = "full"
        self.talk.focus()

    def action_query(self) -> None:
        self.size_of_messages = "split" if self.size_of_messages == "full" else self.size_of_messages
        self.input.focus()

    def action_preview_size(self) -> None:
        sizes = [size for size in SIZES if not (self.has_class("-listonly") and size == "off")]
        at = sizes.index(self.size_of_messages) if self.size_of_messages in sizes else -1
        self.size_of_messages = sizes[(at + 1) % len(sizes)]

    def watch_size_of_messages(self, size: str) -> None:
        if not self.is_mounted:
            return
        self.set_class(size == "full", "-full")
        self.set_class(size == "off", "-off")
        if size == "full" and not self.typing:
            self.talk.focus()
        elif size == "off" and (self.talk.has_focus or self.records.has_focus):
            self.rows.focus()

    def action_back(self) -> None:
        if self.prompt.is_open:
            self.prompt.close()
            self.talk.focus()
        elif self.records.has_focus or (self.raw_on and self.has_class("-listonly")):
            self.raw_on = self.raw_on and not self.has_class("-listonly")
            self.talk.focus()
        elif self.talk.selected:
            self.talk.select()
            self.entitle()
        elif self._from_search and self.talk.has_focus:
            self._from_search = False
            self.deck.action_show("search")
        elif self.trail is not None and self.talk.has_focus:
            self.end_trail()
        elif self.size_of_messages == "full":
            self.size_of_messages = "split"
            self.rows.focus()
        elif self.talk.has_focus:
            self.rows.focus()
        else:
            self.input.focus()

    def _fit(self) -> None:
        reading = self.talk.has_focus or self.records.has_focus
        super()._fit()
        if reading and self.has_class("-listonly"):
            self.size_of_messages = "full"
        self.set_class(self.app.size.width >= THREE_PANES, "-three")
        if self.is_mounted:
            self.rows.wide = self.has_class("-wide")
