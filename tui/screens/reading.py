"""A screen with a preview: going to a line, finding words in the document that is shown, selecting its lines."""

from __future__ import annotations

import asyncio
import threading

from textual import work

from core import Citation
from tui.finding import Found, find_lines, line_range
from tui.screens.base import DeckScreen
from tui.text import counted, shown
from tui.widgets.preview import Page, Preview
from tui.widgets.prompt import Prompt

COPIED_LINES = 10_000
"""Lines of a selection that are copied; more would not fit into a terminal's clipboard."""


class ReadingScreen(DeckScreen):
    """Subclasses compose a `Preview` and a `Prompt` and say how the document gets onto the screen (`show_reader`)."""

    def __init__(self) -> None:
        super().__init__()
        self._found: Found | None = None

    @property
    def preview(self) -> Preview:
        return self.query_one(Preview)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

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
        elif self.preview.has_focus and self.preview.needle:
            self.preview.mark_words("")
            self._found = None
            self.entitle()
        else:
            return False
        return True

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
        return None if page is None or selection is None else Citation(page.path, *selection)

    async def copy_selected_text(self) -> bool:
        """Copy the selected lines; False without a selection."""
        page, selection = self.preview.page, self.preview.selection
        if page is None or selection is None:
            return False
        first, last = selection
        if last - first >= COPIED_LINES:
            self.deck.say(f"more than {COPIED_LINES:,} lines are too many for a clipboard", "warning")
            return True
        try:
            lines = await asyncio.to_thread(page.source.lines, first, last - first + 1)
        except OSError as error:
            self.deck.say(f"cannot be read any more: {error.strerror}", "warning")
            return True
        self.deck.copy("\n".join(lines))
        return True

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
        elif self._found is None or self._found.source is not page.source:
            self.find(needle, by)
        else:
            self._go_on(self._found, by)

    @work(exclusive=True, group="find", exit_on_error=False)
    async def find(self, needle: str, by: int) -> None:
        """Mark words in the document that is shown and go to a line that has them."""
        page = self.preview.page
        if page is None:
            return
        cancel = threading.Event()
        try:
            found = await asyncio.to_thread(find_lines, page.source, needle, cancel)
        except OSError as error:
            self.deck.say(f"cannot be read any more: {error.strerror}", "warning")
            return
        finally:
            cancel.set()
        if self.preview.page is None or self.preview.page.source is not page.source:
            return
        self._found = found
        self.preview.mark_words(needle)
        self._go_on(found, by)

    def _go_on(self, found: Found, by: int) -> None:
        line = found.step(self.preview.current_line, by)
        if line is None:
            self.deck.say(f"not in this file: {shown(found.needle)}")
        else:
            self.preview.point_at(line)
        self.entitle()

    @property
    def found_words(self) -> str:
        """What the title says of a find, "" without one."""
        found, page = self._found, self.preview.page
        if found is None or page is None or found.source is not page.source:
            return ""
        return f"{found.says(self.preview.pointed)} · "
