"""The sessions screen: the transcripts of the agents that may be read, and the messages of one of them."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from core import Hit, SearchMode, SearchResult
from tui.screens.base import bindings_of
from tui.screens.session_listing import ListingScreen
from tui.screens.split import SplitScreen
from tui.session_rows import SessionRow
from tui.text import cells_of, counted, elided_citation, fitted, shown, shown_path
from tui.widgets.line import Line
from tui.widgets.message_view import MessageView
from tui.widgets.prompt import Prompt
from tui.widgets.query_input import QueryInput
from tui.widgets.record_view import RecordView
from tui.widgets.row_list import RowList
from tui.widgets.session_list import SessionList

REST_SECONDS = 0.08
"""How long the cursor rests on a transcript before it is opened."""
THREE_PANES = 150


class SessionsScreen(SplitScreen[SessionRow], ListingScreen):
    """A list that typing narrows; the messages follow it, and the record follows the messages."""

    NAME = "sessions"
    BINDINGS = bindings_of("browse", "sessions")

    def __init__(self) -> None:
        super().__init__()
        self._row: SessionRow | None = None
        self._from_search = False
        self._rest: Timer | None = None

    @property
    def reader(self) -> MessageView:
        return self.talk

    @property
    def in_reader(self) -> bool:
        return self.talk.has_focus or self.records.has_focus

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
        self.talk.more_key = self.deck.keymap.key("session.whole")
        self.set_focus(None)
        self.call_after_refresh(self.rows.focus)

    @property
    def row(self) -> SessionRow | None:
        return self._row

    # From the list to the messages

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, self.follow_list)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_open()

    @property
    def is_in_step(self) -> bool:
        if not self.is_listed or not (self._shows_hit or self._follows):
            return False
        return not self.path or self.view is not None or bool(self.trouble)

    def hurry(self) -> None:
        if self.is_listed and not (self._shows_hit or self._follows):
            self.follow_list()

    @property
    def moves_wait(self) -> bool:
        in_list = not (self.in_reader or self.reader_size == "full")
        return not (in_list and self.is_listed)

    @property
    def _shows_hit(self) -> bool:
        """Whether a hit is shown whose transcript is not in the list, or not yet."""
        row = self.rows.current
        return self._hit is not None or (row is not None and row.path == self._unasked)

    @property
    def _follows(self) -> bool:
        row = self.rows.current
        return self._row == row and self.path == ("" if row is None else row.path)

    def follow_list(self) -> None:
        """Open the transcript of the row in force."""
        row = self.rows.current
        if self._rest is not None:
            self._rest.stop()
        if self._shows_hit:
            return
        self._row, self._unasked = row, ""
        if row is None:
            self.close_session()
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
        self.talk.terms, self.landing = result.terms, hit
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
        if self.finding:
            parts.append("looking")
        elif self.trail is not None:
            number, count = self.trail.number(*self._place()), self.trail.count
            parts.append(f"hit {number}/{count}" if number else "1 hit" if count == "1" else f"{count} hits")
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
        elif self.path and not self.trouble:
            parts.append("opening")
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
        hides = f" {self.deck.keymap.key('session.raw')} hides ─"
        room = max(line.size.width - len(hides) - 10, 8)
        line.set(f"{edge} raw · {elided_citation(shown_path(self.path), lines, room)} ", hides)

    def watch_role(self) -> None:
        super().watch_role()
        if self.is_mounted:
            self._tell()

    # Keys

    def action_move(self, where: str) -> None:
        if self.records.has_focus:
            self.records.move(where)
        elif self.talk.has_focus or self.reader_size == "full":
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
        if self.trouble and self.view is None:
            self.open(self.path)  # it may be read by now
        elif self.talk.has_focus:
            self.action_raw()
        elif self.rows.current is not None and not self.records.has_focus:
            self._unasked = ""
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
        elif (self.trail is not None or self.finding) and self.talk.has_focus:
            self.end_trail()
        elif self.leave_full() or self.talk.has_focus:
            self.rows.focus()
        else:
            self.input.focus()

    def _fit(self) -> None:
        super()._fit()
        if self.raw_on and self.has_class("-listonly") and self.talk.has_focus:
            self.records.focus()  # the messages are not shown beside them there
        self.set_class(self.app.size.width >= THREE_PANES, "-three")
