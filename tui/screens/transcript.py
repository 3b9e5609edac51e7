"""A screen with a transcript: opening it at once however large it is, and following it as it grows."""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_left
from collections.abc import Sequence

from textual import work
from textual.reactive import var
from textual.timer import Timer

from core import Hit, MemdeckError, SessionView, SyncCancelled
from tui.screens.base import DeckScreen
from tui.text import why
from tui.trail import Trail
from tui.widgets.message_view import MessageView
from tui.widgets.prompt import Prompt
from tui.widgets.record_view import RecordView

ROLES: dict[str, frozenset[str] | None] = {
    "all": None,
    "said": frozenset({"user", "assistant"}),
    "user": frozenset({"user"}),
    "assistant": frozenset({"assistant"}),
    "tools": frozenset({"tool", "thinking", "summary"}),
}
"""What `session.role` goes through."""
FOLLOW_SECONDS = 1.0
_GONE = "the file is gone; this is what was read of it"
"""How often the file of the transcript on the screen is looked at."""
REST_SECONDS = 0.08
_PRIMED = 12
_PLACES_KEPT = 200


class TranscriptScreen(DeckScreen):
    """Subclasses compose a `MessageView`, a `RecordView` and a `Prompt`, and draw the titles (`entitle`)."""

    role: var[str] = var("all", init=False)
    raw_on: var[bool] = var(False, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.path = ""
        self.view: SessionView | None = None
        self.trail: Trail | None = None
        self.trouble = ""
        self.landing: Hit | None = None
        """A hit that is gone to, until its message is under the cursor."""
        self.added = 0
        self.finding = ""
        self.is_reading = False
        self._cancel = threading.Event()
        self._places: dict[str, int] = {}
        self._texts: set[int] = set()
        self._loading = False
        self._raw_rest: Timer | None = None

    @property
    def talk(self) -> MessageView:
        return self.query_one(MessageView)

    @property
    def records(self) -> RecordView:
        return self.query_one(RecordView)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def entitle(self) -> None:
        """Draw the titles of messages and record again."""
        raise NotImplementedError

    def show_record(self) -> object:
        """Show the record of the message under the cursor, if records are shown."""
        raise NotImplementedError

    def show_reader(self) -> None:
        """Have the messages on the screen and in focus."""
        raise NotImplementedError

    def land(self) -> object:
        """Bring the words of the hit that is gone to into view."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.set_interval(FOLLOW_SECONDS, self.follow_file)

    def on_unmount(self) -> None:
        self._cancel.set()

    # Opening

    def open(self, path: str, line: int | None = None) -> None:
        """Show a transcript at a physical line, or where it was left."""
        if path != self.path:
            self._keep_place()
            self._cancel.set()
            self._cancel = threading.Event()
            self.is_reading = False
            self.path, self.view, self.trail, self.trouble, self.added = path, None, None, "", 0
            self.finding, self.landing = "", None
            self.talk.terms = ()
            self.talk.cite(0, 0)
            self.workers.cancel_group(self, "whole")
            self.workers.cancel_group(self, "trail")
            self.entitle()
        self.read_near(path, line if line is not None else self._places.get(path, 1))

    def close_session(self) -> None:
        """Show no transcript."""
        self._keep_place()
        self._cancel.set()
        self.path, self.view, self.trail, self.trouble, self.added = "", None, None, "", 0
        self.is_reading = False
        self.talk.clear()
        self.records.show(())
        self.entitle()

    def _keep_place(self) -> None:
        seq = self.talk.current_seq
        if self.view is not None and seq is not None:
            self._places.pop(self.view.path, None)
            self._places[self.view.path] = self.view.place(seq)[0]
            while len(self._places) > _PLACES_KEPT:
                del self._places[next(iter(self._places))]

    @work(exclusive=True, group="session", exit_on_error=False)
    async def read_near(self, path: str, line: int) -> None:
        """Show what stands around a line at once; the rest of a large transcript follows."""
        cancel = self._cancel
        try:
            view = await asyncio.to_thread(self._read, path, line, cancel)
        except SyncCancelled:
            return
        except (MemdeckError, OSError) as error:
            self._fail(path, error)
            return
        if path != self.path:
            return
        self.view, self.trouble = view, ""
        items, seq = self._items(view), view.at_line(line)
        self.talk.show(view, items, at=0 if seq is None else nearest(items, seq))
        self.entitle()
        self.show_record()
        self.land()
        if view.is_part and not self.is_reading:
            self.read_whole(path)

    def _read(self, path: str, line: int, cancel: threading.Event) -> SessionView:
        view = self.deck.memory.session(path, near=line, cancel=cancel)
        seq = view.at_line(line) or 0
        _prime(view, range(max(0, seq - _PRIMED), min(len(view), seq + _PRIMED)))
        return view

    @work(exclusive=True, group="whole", exit_on_error=False)
    async def read_whole(self, path: str) -> None:
        """Read all of the transcript, or what was added to it, and show it in the same place."""
        cancel = self._cancel
        self.is_reading = True
        self.entitle()
        try:
            view = await asyncio.to_thread(self._read_whole, path, cancel)
        except SyncCancelled:
            return
        except (MemdeckError, OSError) as error:
            if path == self.path:
                self.trouble = why(error)
            return
        finally:
            if path == self.path:
                self.is_reading = False
                self.entitle()
        if path == self.path:
            self.trouble = ""
            self.swap(view)

    def _read_whole(self, path: str, cancel: threading.Event) -> SessionView:
        view, old = self.deck.memory.session(path, cancel=cancel), self.view
        seq = self.talk.current_seq
        if old is not None and seq is not None and seq < len(old):
            at = view.at_line(old.place(seq)[0]) or 0
            _prime(view, range(max(0, at - 1), min(len(view), at + 1)))
        return view

    def swap(self, view: SessionView) -> None:
        """Show a newer view of the same transcript without losing the place; at the end, follow it."""
        talk, old = self.talk, self.view
        items = self._items(view)
        seq, top = talk.current_seq, talk.items[talk.top] if talk.items else None
        self.view = view
        if old is None or seq is None or top is None:
            talk.show(view, items)
        elif not old.is_part and talk.at_end and len(view) > len(old):
            talk.show(view, items, at=len(items) - 1)
            talk.move("last")
        else:
            if not old.is_part and len(view) > len(old):
                self.added += len(view) - len(old)
            at, first = (nearest(items, self._same(view, old, one)) for one in (seq, top))
            talk.show(view, items, at=at, top=first, skip=talk.skip)
        self.entitle()
        self.show_record()

    def _same(self, view: SessionView, old: SessionView, seq: int) -> int:
        same = view.same_as(old, seq)
        return same if same is not None else view.at_line(old.place(seq)[0]) or 0

    def _fail(self, path: str, error: Exception) -> None:
        if path == self.path:
            self.trouble = why(error)
            self.talk.clear()
            self.records.show(())
            self.entitle()

    def _items(self, view: SessionView) -> Sequence[int]:
        wanted = ROLES[self.role]
        if wanted is None:
            return range(len(view))
        return [seq for seq, role in enumerate(view.roles) if role in wanted]

    # What is read while one looks

    def on_message_view_wanted(self, event: MessageView.Wanted) -> None:
        event.stop()
        self._texts.update(event.seqs)
        if not self._loading:
            self.load_texts()

    @work(group="texts", exit_on_error=False)
    async def load_texts(self) -> None:
        """Read messages that are too long to be read while drawing."""
        self._loading = True
        try:
            while self._texts and (view := self.view) is not None:
                seqs = sorted(self._texts)
                self._texts.clear()
                troubles = await asyncio.to_thread(_prime, view, seqs)
                if view is self.view:
                    self.talk.loaded(troubles)
        finally:
            self._loading = False

    async def follow_file(self) -> None:
        """Read on when the file of the transcript on the screen has changed."""
        view = self.view
        if view is None or self.is_reading or not self.is_current:
            return
        current, gone = await asyncio.to_thread(lambda: (view.is_current, view.is_gone))
        if view is not self.view or self.is_reading:
            return
        if gone and not current and not self.trouble:
            self.trouble = _GONE
            self.entitle()
        elif not gone and not current:
            self.read_whole(view.path)
        elif current and self.trouble == _GONE:
            self.trouble = ""
            self.entitle()

    def on_block_view_scrolled(self, event: MessageView.Scrolled) -> None:
        event.stop()
        if event.view is self.talk:
            if self.talk.at_end:
                self.added = 0
            self.entitle()
            if self._raw_rest is not None:
                self._raw_rest.stop()
            self._raw_rest = self.set_timer(REST_SECONDS, self.show_record)


def _prime(view: SessionView, seqs: Sequence[int]) -> dict[int, str]:
    """Have messages at hand; for each "" or why it cannot be read."""
    troubles = {}
    for seq in seqs:
        troubles[seq] = ""
        try:
            view.message(seq)
        except (MemdeckError, OSError) as error:
            troubles[seq] = why(error)
        except IndexError:
            pass
    return troubles


def nearest(items: Sequence[int], seq: int) -> int:
    """The item of a message, or the next one, or the last."""
    return min(bisect_left(items, seq), max(len(items) - 1, 0))
