"""The quick note: a few lines that go to the end of today's note, from anywhere in the app."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from core import MemdeckError
from tui.widgets.line import Line

if TYPE_CHECKING:
    from tui.app import MemdeckApp


class QuickNote(ModalScreen[None], inherit_bindings=False):
    """Esc keeps what was typed as a draft; saving it takes the draft away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+n", "dismiss(None)", show=False, priority=True),
        Binding("ctrl+o,ctrl+s", "save", show=False, priority=True),
    ]
    AUTO_FOCUS = "TextArea"

    def __init__(self, draft: str) -> None:
        super().__init__()
        self._draft = draft
        self._saving = False

    @property
    def deck(self) -> MemdeckApp:
        return cast("MemdeckApp", self.app)

    def compose(self) -> ComposeResult:
        with Vertical(id="note"):
            yield Line(id="note-title", fill="─")
            area = TextArea(self._draft, compact=True, highlight_cursor_line=False, id="note-text")
            area.cursor_blink = False
            yield area
            yield Line(id="note-keys", fill="─")

    def on_mount(self) -> None:
        self.query_one("#note-title", Line).set("─ note ", " to the end of today's note ─")
        self.query_one("#note-keys", Line).set("─ ^o or ^s save ", " esc keeps the draft ─")
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.deck.draft = event.text_area.text

    def action_save(self) -> None:
        if not self._saving:
            self._saving = True
            self.save(self.query_one(TextArea).text)

    @work(group="note", exit_on_error=False)
    async def save(self, text: str) -> None:
        """Write the note; a failure leaves text and window as they are."""
        try:
            if not text.strip():
                self.deck.say("nothing is written yet")
                return
            written = await asyncio.to_thread(self.deck.memory.note, text)
        except MemdeckError as error:
            self.deck.say(f"not saved: {error}", "error")
            return
        finally:
            self._saving = False
        self.deck.draft = ""
        self.deck.say(f"saved {written.citation}")
        self.dismiss(None)
