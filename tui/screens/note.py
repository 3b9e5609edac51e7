"""The quick note: a few lines that go to the end of today's note, from anywhere in the app."""

from __future__ import annotations

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static, TextArea

from core import Citation, MemdeckError
from tui.draft import Draft
from tui.screens.window import Window, window_bindings
from tui.text import elided_citation, shown_path, why
from tui.widgets.line import Line
from tui.widgets.query_input import QueryInput

CITED_CELLS = 40
FEWEST_ROWS = 4


class QuickNote(Window[None], inherit_bindings=False):
    """Esc keeps what was typed as a draft; saving it takes the draft away.

    `citation` is what stands under the cursor of the screen below, to be put into the text by a key.
    """

    BINDINGS = window_bindings(
        "note",
        {
            "app.back": "dismiss(None)",
            "app.note": "dismiss(None)",
            "note.save": "save",
            "note.cite": "cite",
            "pane.next": "app.focus_next",
            "pane.previous": "app.focus_previous",
        },
    )
    AUTO_FOCUS = "TextArea"

    def __init__(self, draft: Draft, citation: Citation | None) -> None:
        super().__init__()
        self._draft = draft
        self._citation = citation
        self._saving = False

    def compose(self) -> ComposeResult:
        with Vertical(id="note"):
            yield Line(id="note-title", fill="─")
            area = TextArea(self._draft.text, compact=True, highlight_cursor_line=False, id="note-text")
            area.cursor_blink = False
            yield area
            with Horizontal(id="note-tags"):
                yield Static("tags ", id="note-label", markup=False)
                yield QueryInput("such as: decision, storage", value=self._draft.tags)
            yield Line(id="note-keys", fill="─")

    def on_mount(self) -> None:
        self.query_one("#note-title", Line).set("─ note ", " to the end of today's note ─")
        self.query_one("#note-keys", Line).set(*self._keys())
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def on_resize(self) -> None:
        self.call_after_refresh(self._grow)

    def _grow(self) -> None:
        """As tall as the text, so that a short one costs few bytes for a letter."""
        area = self.query_one(TextArea)
        area.styles.height = max(min(max(area.wrapped_document.height, FEWEST_ROWS), self.size.height - 5), 1)

    def _keys(self) -> tuple[str, str]:
        left = f"─ {self.key_of('note.save')} save"
        if self._citation is not None:
            path = shown_path(self._citation.path)
            lines = str(self._citation)[len(self._citation.path) :]
            left += f" · {self.key_of('note.cite')} cite {elided_citation(path, lines, CITED_CELLS - 8)}"
        return f"{left} ", f" {self.key_of('app.back')} keeps it ─"

    def _changed(self) -> None:
        self._draft = Draft(self.query_one(TextArea).text, self.query_one(QueryInput).value)
        self.deck.draft = self._draft

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._changed()
        self._grow()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._changed()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(TextArea).focus()

    def action_cite(self) -> None:
        """Put the citation in where the cursor is, parted from the words beside it by a blank."""
        if self._citation is None:
            self.deck.say("no hit to cite")
            return
        area = self.query_one(TextArea)
        row, column = area.cursor_location
        before = area.document.get_line(row)[:column]
        area.insert(f"{'' if not before or before.endswith(' ') else ' '}{self._citation} ")
        area.focus()

    def action_save(self) -> None:
        if not self._saving:
            self._saving = True
            self._changed()
            self.deck.hold_keys(self.save(self._draft.note))

    @work(group="note", exit_on_error=False)
    async def save(self, text: str) -> None:
        """Write the note; a failure leaves text and window as they are."""
        try:
            if not text.strip():
                self.deck.say("nothing is written yet")
                return
            written = await asyncio.to_thread(self.deck.memory.note, text)
        except MemdeckError as error:
            self.deck.say(f"not saved: {why(error)}", "error")
            return
        finally:
            self._saving = False
        self.deck.draft = Draft()
        self.deck.say(f"saved {written.citation}")
        self.dismiss(None)
