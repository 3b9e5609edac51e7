"""What one does in a transcript: raw records, whole messages, roles, going to a line, and from hit to hit."""

from __future__ import annotations

import asyncio
import threading

from textual import work

from core import Hit, MemdeckError, SearchCancelled, SearchMode
from tui.finding import line_range
from tui.landing import row_of_snippet, row_of_word
from tui.screens.transcript import ROLES, TranscriptScreen, nearest
from tui.text import why
from tui.trail import Trail, request_within
from tui.widgets.record_view import Raw

WHOLE_CHARACTERS = 200_000
"""Of a message this much is shown in the app; `$EDITOR` has the rest."""
RAW_LINES = 8
"""Records of one message that are shown."""


class TalkScreen(TranscriptScreen):
    """The keys of a transcript."""

    # The raw record

    @work(exclusive=True, group="raw", exit_on_error=False)
    async def show_record(self) -> None:
        """Show the record of the message under the cursor, if records are shown."""
        view, seq = self.view, self.talk.current_seq
        if not self.raw_on or view is None or seq is None:
            return
        lines = view.lines_of(seq)[:RAW_LINES]
        try:
            texts = await asyncio.to_thread(lambda: [view.raw(line) for line in lines])
        except (MemdeckError, OSError) as error:
            texts, lines = [f"cannot be read any more: {why(error)}"], lines[:1]
        if self.raw_on and view is self.view:
            self.records.show([Raw(line, text) for line, text in zip(lines, texts, strict=True)])
            self.entitle()

    # Keys

    def action_turn(self, by: int) -> None:
        self.talk.turn(by)

    def action_role_next(self) -> None:
        names = list(ROLES)
        self.role = names[(names.index(self.role) + 1) % len(names)]

    def watch_role(self) -> None:
        view, talk = self.view, self.talk
        if view is None:
            return
        seq, items = talk.current_seq, self._items(view)
        talk.show(view, items, at=0 if seq is None else nearest(items, seq))
        self.entitle()
        self.show_record()

    @work(exclusive=True, group="texts-whole", exit_on_error=False)
    async def action_whole(self) -> None:
        view, seq, talk = self.view, self.talk.current_seq, self.talk
        if view is None or seq is None:
            return
        if talk.is_whole(seq):
            talk.show_whole(seq, None)
            return
        try:
            text = await asyncio.to_thread(view.whole, seq, WHOLE_CHARACTERS)
        except (MemdeckError, OSError) as error:
            self.deck.say(f"cannot be read: {why(error)}", "warning")
            return
        if view is self.view:
            talk.show_whole(seq, text)

    def action_select(self) -> None:
        if self.view is not None:
            self.show_reader()
            self.talk.select()
            self.entitle()

    def action_goto(self) -> None:
        if self.view is None:
            self.deck.say("no transcript is shown")
        else:
            self.prompt.ask("goto", "line (123 or 120-140):")

    def go_to_line(self, text: str) -> None:
        asked = line_range(text)
        if asked is None:
            if text.strip():
                self.deck.say(f"{text} is no line number", "warning")
        elif self.view is not None:
            if asked[0] > self.view.line_count:
                self.deck.say(f"the last line is {self.view.line_count:,}")
            self.talk.cite(*asked)
            self.jump(asked[0])

    def jump(self, line: int) -> None:
        """Go to the message on a physical line, read or not."""
        view = self.view
        if view is None:
            return
        if view.is_part and not view.place(0)[0] <= line <= view.place(len(view) - 1)[1]:
            self.read_near(self.path, line)
            return
        seq = view.at_line(line)
        if seq is not None:
            self.talk.go_to(nearest(self.talk.items, seq))

    def move_talk(self, where: str) -> None:
        view = self.view
        if view is not None and view.is_part and where in ("first", "last"):
            self.jump(1 if where == "first" else view.line_count)
        else:
            self.talk.move(where)

    # Hits in the transcript

    def action_find(self) -> None:
        if self.view is None:
            self.deck.say("no transcript is shown")
        else:
            self.prompt.ask("find", "find in this transcript:", self.trail.sought if self.trail is not None else "")

    def action_find_step(self, by: int) -> None:
        trail, place = self.trail, self._place()
        if self.finding:
            self.deck.say(f"still looking for {self.finding}")
            return
        if trail is None:
            self.action_find()
            return
        hit = trail.step(*place, by)
        if hit is None:
            self.deck.say(f"not found in what is indexed of this transcript: {trail.sought}")
        else:
            self.talk.cite(hit.start_line, hit.end_line)
            self.landing = hit
            self.jump(hit.line)
            self.land()

    @work(exclusive=True, group="landing", exit_on_error=False)
    async def land(self) -> None:
        """Bring the words of the hit that is gone to into view; a message is shown whole if they stand further on."""
        hit, talk = self.landing, self.talk
        while hit is not None and (view := self.view) is not None and (seq := talk.current_seq) is not None:
            first, last = view.place(seq)
            if not first <= hit.line <= last:
                return
            try:
                message = await asyncio.to_thread(view.message, seq)
                cut = message.cut
                whole = await asyncio.to_thread(view.whole, seq, WHOLE_CHARACTERS) if cut else message.text
            except (MemdeckError, OSError, IndexError):
                return  # the message says so itself
            if view is self.view and seq == talk.current_seq and hit is self.landing:
                self.landing = None
                self._show_words(hit, seq, whole)
                return
            hit = self.landing

    def _show_words(self, hit: Hit, seq: int, whole: str) -> None:
        talk = self.talk
        talk.loaded({seq: ""})
        row = row_of_snippet(talk.current_rows, hit.snippet, talk.terms)
        if row is None and not talk.is_whole(seq) and row_of_snippet([whole], hit.snippet, talk.terms) is not None:
            talk.show_whole(seq, whole)
            row = row_of_snippet(talk.current_rows, hit.snippet, talk.terms)
        if row is None:
            row = row_of_word(talk.current_rows, talk.terms)
        if row is not None:
            talk.show_row(row)

    def _place(self) -> tuple[int, int]:
        """The lines of the message under the cursor."""
        seq = self.talk.current_seq
        return self.view.place(seq) if self.view is not None and seq is not None else (0, 0)

    @work(exclusive=True, group="trail", exit_on_error=False)
    async def find(self, query: str, mode: SearchMode, filters: tuple[str, ...] = (), *, go: bool = True) -> None:
        """Look a query up in the transcript that is shown, and with `go` go to the next hit."""
        path, cancel = self.path, threading.Event()
        self.finding = query
        self.entitle()
        try:
            request = request_within(path, query, mode, filters)
            result = await asyncio.to_thread(self.deck.memory.search, request, cancel=cancel)
        except asyncio.CancelledError:
            cancel.set()
            raise
        except SearchCancelled:
            self.finding = ""
            return
        except MemdeckError as error:
            self.finding = ""
            self.deck.say(f"not searched: {why(error)}", "error")
            return
        self.finding = ""
        if path != self.path:
            return
        self.trail = Trail.of(path, query, result)
        self.talk.terms = result.terms
        self.talk.refresh()
        if go:
            self.action_find_step(1)
        self.entitle()

    def end_trail(self) -> None:
        """Take the hits and their marks away."""
        self.workers.cancel_group(self, "trail")
        self.finding = ""
        self.trail, self.talk.terms = None, ()
        self.talk.cite(0, 0)
        self.entitle()
