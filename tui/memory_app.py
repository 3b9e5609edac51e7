"""The app's side of a memory: the state that screens draw from, the events that change it, what users are told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from textual import work
from textual.app import App
from textual.driver import Driver
from textual.notifications import Notify, SeverityLevel
from textual.reactive import var
from textual.worker import Worker, WorkerState

from core import MemdeckError, Memory
from tui.bindings import Keymap
from tui.bridge import EventBridge, EventsWait
from tui.clipboard import copy_text
from tui.editor import editor_command, open_outside, pager_command
from tui.event_log import LogLine, log_line
from tui.notices import Notice
from tui.options import AppOptions
from tui.pages import write_masked
from tui.state import DeckState
from tui.text import shown, why

T = TypeVar("T")
BATCH_SECONDS = 0.25
STATUS_SECONDS = 1.0
BUSY_STATUS_SECONDS = 4.0  # reading the status scans the folders


class MemoryApp(App[None], inherit_bindings=False):
    """An app over one memory; `state` changes as its events come, `logged` has the latest lines of the log."""

    state: var[DeckState] = var(DeckState(), init=False)
    logged: var[tuple[LogLine, ...]] = var((), init=False, always_update=True)
    keymap: Keymap
    """The keys in force."""

    def __init__(self, memory: Memory | None, options: AppOptions, *, driver: type[Driver] | None = None) -> None:
        self.options = options
        super().__init__(driver_class=driver)
        self._memory = memory
        self._bridge = EventBridge(lambda: self.post_message(EventsWait()))
        self._status_read = -STATUS_SECONDS
        self._status_waits = False
        self.log_lines: deque[LogLine] = deque(maxlen=1000)
        self._news: Notice | None = None

    @property
    def memory(self) -> Memory:
        """The memory on the screen; only the first-run screen lives without one."""
        assert self._memory is not None
        return self._memory

    @property
    def has_memory(self) -> bool:
        return self._memory is not None

    # Events and state

    def on_events_wait(self) -> None:
        self.set_timer(BATCH_SECONDS, self._take_events)

    def _take_events(self) -> None:
        batch, lost = self._bridge.take()
        state = self.state
        for event in batch:
            state = state.after(event)
        self.state = state
        lines = [line for line in map(log_line, batch) if line is not None]
        if lost:
            lines.insert(0, LogLine(batch[0].at_ms, "batched", f"{lost:,} older events not shown"))
        self.log_lines.extend(lines)
        self.logged = tuple(lines)
        self.refresh_status()

    @work(group="status", exit_on_error=False)
    async def refresh_status(self) -> None:
        """Read the status again, but not for every event."""
        if self._status_waits:
            return
        self._status_waits = True
        status = self.state.status
        knows_files = status is not None and status.files > 0
        pause = BUSY_STATUS_SECONDS if self.state.busy and knows_files else STATUS_SECONDS
        await asyncio.sleep(max(0.0, self._status_read + pause - time.monotonic()))
        self._status_waits = False
        await self._read_status()

    async def _read_status(self) -> None:
        self._status_read = time.monotonic()
        try:
            status = await asyncio.to_thread(self.memory.status)
        except MemdeckError as error:
            self.say(f"status: {error}", "error")
            return
        self.state = self.state.with_status(status)

    @work(exclusive=True, group="sync", exit_on_error=False)
    async def sync_now(self) -> None:
        """Bring the index in step because the user asked."""
        self.say("looking through the files")
        cancel = threading.Event()
        try:
            await asyncio.to_thread(self.memory.sync, "manual", vectors=False, cancel=cancel)
        except asyncio.CancelledError:
            cancel.set()
            raise
        except MemdeckError as error:
            self.say(f"not synced: {why(error)}", "error")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.failed(event.worker.group, event.worker.error)

    def failed(self, what: str, error: BaseException | None) -> None:
        """Tell of an error that nobody expected; the app lives on."""
        self.log.error(what, error)
        self.say(f"{what} failed: {type(error).__name__}: {error}", "error")

    # What the user is told and given

    def say(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """A short message about what the user just did, or has to know."""
        self.notify(shown(text), severity=severity, markup=False, timeout=3 if severity == "information" else 8)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """As in Textual, with a notice that cannot stop the app; news takes the place of the news before it."""
        notice = Notice(message, title, severity, self.NOTIFICATION_TIMEOUT if timeout is None else timeout, markup)
        if severity == "information":
            if self._news is not None:
                self._news.end()
            self._news = notice
        self.post_message(Notify(notice))

    @work(group="copy", exit_on_error=False)
    async def copy(self, text: str, size: int = 0) -> None:
        """Put text on the clipboard and say where it went; `size` is what it was in bytes before it was cut."""
        place = await copy_text(text, osc52=self.copy_to_clipboard, environ=self.options.environ)
        held = len(text.encode("utf-8", "replace"))
        first = shown(text[:200])
        first = first if len(first) <= 60 else f"{first[:59]}…"
        if place and size > held:
            self.say(f"cut: the first {held:,} of {size:,} bytes → {place}; the file has the rest", "warning")
        elif place:
            self.say(f"{first} → {place}")
        else:
            key = self.keymap.key("open.editor")
            self.say(f"too long for the terminal's clipboard; {key} opens the file", "warning")

    # Stepping aside

    @work(exclusive=True, group="outside", exit_on_error=False)
    async def edit(self, path: str, line: int, after: Callable[[], object] = lambda: None) -> None:
        """Open a document in $EDITOR at a line, on the terminal that the app leaves meanwhile; then do `after`."""
        place = await self._found(path, self.memory.absolute)
        if place is not None:
            self._step_aside(editor_command, place, line)
            after()

    @work(exclusive=True, group="outside", exit_on_error=False)
    async def page(self, path: str, line: int) -> None:
        """Show a document in $PAGER from a line on; of a transcript its masked text, in a private file."""
        if not path.startswith("sessions/"):
            place = await self._found(path, self.memory.absolute)
            if place is not None:
                self._step_aside(pager_command, place, line)
            return
        written = await self._found(path, lambda path: write_masked(self.memory, path))
        if written is not None:
            with written:
                self._step_aside(pager_command, Path(written.name), line)

    async def _found(self, path: str, find: Callable[[str], T]) -> T | None:
        """What `find` gives of a document, beside the app's loop; None, and a word to the user, if there is nothing."""
        try:
            return await asyncio.to_thread(find, path)
        except FileNotFoundError:
            self.say(f"{path} is gone", "warning")
        except (MemdeckError, OSError) as error:
            reason = why(error)
            self.say(reason if path in reason else f"{path}: {reason}", "warning")
        return None

    def _step_aside(self, command: Callable[[Mapping[str, str], Path, int], list[str]], place: Path, line: int) -> None:
        problem = open_outside(command, place, line, environ=self.options.environ, suspend=self.suspend)
        if problem:
            self.say(problem, "warning")
