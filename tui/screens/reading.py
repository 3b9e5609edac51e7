"""A screen with a preview: going to a line, finding words in the document that is shown, selecting its lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from textual import work
from textual.message import Message

from core import Citation, LineSource
from tui.clipboard import copy_limit
from tui.finding import Finding, Place, Seen, line_range, look_through
from tui.pages import bounded_text
from tui.screens.base import DeckScreen
from tui.text import counted, shown, why
from tui.widgets.preview import Page, Preview
from tui.widgets.prompt import Prompt

WANTED_AT_ONCE = 20
"""Lines that are read before what is known of them is drawn."""


class MatchesCame(Message):
    """What a search in the document has seen since the last time."""

    def __init__(self, finding: Finding, seen: Seen) -> None:
        super().__init__()
        self.finding = finding
        self.seen = seen


class ReadingScreen(DeckScreen):
    """Subclasses compose a `Preview` and a `Prompt` and say how the document gets onto the screen (`show_reader`)."""

    def __init__(self) -> None:
        super().__init__()
        self._finding: Finding | None = None
        self._wanted_step: int | None = None
        self._stop = threading.Event()
        self._fetching = False

    @property
    def preview(self) -> Preview:
        return self.query_one(Preview)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def on_unmount(self) -> None:
        self._stop.set()

    def show_reader(self) -> None:
        """Have the preview on the screen and in focus."""
        raise NotImplementedError

    def entitle(self) -> None:
        """Draw the title of the preview again."""
        raise NotImplementedError

    def _page(self) -> Page | None:
        if self.preview.page is None:
            self.deck.say("no document is shown")
        return self.preview.page

    def leave_reading(self) -> bool:
        """Go back one level inside the preview: close the prompt, end the selection, take the marks of a find away."""
        if self.prompt.is_open:
            self.close_prompt()
        elif self.preview.has_focus and self.preview.selection is not None:
            self.preview.select(0, 0)
            self.entitle()
        elif self.preview.has_focus and self._stop_finding():
            self.entitle()
        elif self.preview.has_focus and self.preview.needle:
            self.preview.mark_words("")
            self._finding = None
            self.entitle()
        else:
            return False
        return True

    # Lines that could not be drawn at once

    def on_preview_wanted(self, event: Preview.Wanted) -> None:
        event.stop()
        if not self._fetching:
            self.fetch_lines()

    @work(group="lines", exit_on_error=False)
    async def fetch_lines(self) -> None:
        """Read the lines that the preview could not draw at once."""
        preview, self._fetching = self.preview, True
        try:
            while preview.wanted and preview.page is not None:
                source, numbers = preview.page.source, sorted(preview.wanted)[:WANTED_AT_ONCE]
                preview.wanted.clear()
                try:
                    await asyncio.to_thread(_read_lines, source, numbers)
                except OSError as error:
                    self.deck.say(f"cannot be read any more: {why(error)}", "warning")
                if preview.page is not None and preview.page.source is source:
                    preview.remake()
        finally:
            self._fetching = False

    # Selecting lines

    def action_select(self) -> None:
        preview = self.preview
        if self._page() is None:
            return
        if preview.selection is not None:
            preview.select(0, 0)
        else:
            self.show_reader()
            line = preview.current_line
            preview.select(line, line)
        self.entitle()

    @property
    def selected_words(self) -> str:
        """What the title says of the selection, "" without one."""
        selection = self.preview.selection
        if selection is None:
            return ""
        return f"{selection[0]}-{selection[1]} ({counted(selection[1] - selection[0] + 1, 'line')}) · "

    @property
    def citation(self) -> Citation | None:
        page, selection = self.preview.page, self.preview.selection
        return None if page is None or page.is_told or selection is None else Citation(page.path, *selection)

    async def copy_selected_text(self) -> bool:
        """Copy the selected lines; False without a selection."""
        page, selection = self.preview.page, self.preview.selection
        if page is None or selection is None:
            return False
        first, last = selection
        try:
            text, size = await asyncio.to_thread(bounded_text, page.source, first, last, self.copy_limit)
        except OSError as error:
            self.deck.say(f"cannot be read any more: {why(error)}", "warning")
            return True
        self.deck.copy(text, size)
        return True

    @property
    def copy_limit(self) -> int:
        return copy_limit(self.deck.options.environ)

    # Going to a line

    def action_goto(self) -> None:
        if self._page() is not None:
            self.prompt.ask("goto", "line (123 or 120-140):")

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        event.stop()
        self.close_prompt()
        self.answered(event.purpose, event.text)

    def close_prompt(self) -> None:
        """Take the prompt away; what had the focus before has it again."""
        self.prompt.close()

    def answered(self, purpose: str, text: str) -> None:
        """Do what the prompt was asked for."""
        self.show_reader()
        if purpose == "goto":
            self._go_to(text)
        elif text:
            self.find(text, 0)

    def _go_to(self, text: str) -> None:
        page, asked = self.preview.page, line_range(text)
        if asked is None:
            if text.strip():
                self.deck.say(f"{text} is no line number", "warning")
        elif page is not None:
            if asked[0] > page.source.line_count:
                self.deck.say(f"the last line is {page.source.line_count:,}")
            first, last = asked
            if first == last:
                self.preview.point_at(first)
            else:
                self.preview.select(last, first)
                self.entitle()

    # Finding in the document

    def action_find(self) -> None:
        if self._page() is not None:
            self.prompt.ask("find", "find in this file:", self.preview.needle)

    def action_find_step(self, by: int) -> None:
        page, needle = self._page(), self.preview.needle
        if page is None:
            return
        if not needle:
            self.action_find()
        elif (found := self._finding) is None or found.source is not page.source or found.is_idle:
            self.find(needle, by)
        else:
            self._wanted_step = by
            self._go_on(found)

    @work(exclusive=True, group="find", exit_on_error=False)
    async def find(self, needle: str, by: int) -> None:
        """Mark words in the document that is shown and go to a line that has them as soon as one is known."""
        page = self.preview.page
        if page is None:
            return
        start = self.preview.current_line
        finding, cancel = Finding(page.source, needle, start), threading.Event()
        self._finding, self._wanted_step, self._stop = finding, by, cancel
        self.preview.mark_words(needle)
        self.entitle()

        courtesy = self.deck.memory.selection.courtesy

        def look() -> None:
            for seen in look_through(page.source, needle, start, cancel, courtesy.wait):
                self.post_message(MatchesCame(finding, seen))

        try:
            await asyncio.to_thread(look)
        except OSError as error:
            if finding is self._finding and page.source is self._source:
                finding.state = "stopped"
                self.deck.say(f"cannot be read any more: {why(error)}", "warning")
        finally:
            cancel.set()

    def on_matches_came(self, event: MatchesCame) -> None:
        event.stop()
        finding = event.finding
        if finding is not self._finding or finding.source is not self._source:
            if finding is self._finding:
                self._stop.set()
            return
        finding.add(event.seen)
        if self._wanted_step is not None:
            self._go_on(finding)
        else:
            self.entitle()

    def _go_on(self, finding: Finding) -> None:
        """Do the step that was asked for, or wait until it can be done."""
        by, pointed = self._wanted_step or 0, self.preview.pointed_at
        at = Place(*pointed) if pointed is not None else Place(self.preview.current_line)
        if by > 0 and pointed is None:
            at = at._replace(offset=1 << 62)
        step = finding.step(at, by)
        if step is not None or finding.state != "looking":
            self._wanted_step = None
        if step is not None:
            place, wraps = step
            self.preview.point_at(*place)
            if wraps and (place != at or by):
                self.deck.say("on from the first line" if by >= 0 else "on from the last line")
        elif finding.state != "looking":
            self.deck.say(f"not in this file: {shown(finding.needle)}")
        self.entitle()

    def _stop_finding(self) -> bool:
        """End a search that goes on; what it has found stays."""
        finding = self._finding
        if finding is None or finding.state != "looking" or finding.source is not self._source:
            return False
        self._stop.set()
        finding.state, self._wanted_step = "stopped", None
        self.deck.say(f"stopped after {finding.share:.0%} of the file")
        return True

    @property
    def _source(self) -> LineSource | None:
        return self.preview.page.source if self.preview.page is not None else None

    @property
    def found_words(self) -> str:
        """What the title says of a find, "" without one."""
        finding = self._finding
        if finding is None or finding.source is not self._source:
            return ""
        return f"{finding.says(Place(*(self.preview.pointed_at or (0, 0))))} · "


def _read_lines(source: LineSource, numbers: Iterable[int]) -> None:
    for number in numbers:
        source.line(number)
