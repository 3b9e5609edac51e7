"""The terminal app: its modes, the state that screens draw from, and the bridge from events to that state."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar, Literal

from textual import work
from textual.app import App
from textual.events import Event, Key
from textual.reactive import var
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from core import Hit, MemdeckError, Memory, NotAllowed, SearchMode, SearchResult
from tui.bindings import BY_ID, load_keymap
from tui.bridge import EventBridge, EventsWait
from tui.clipboard import copy_text
from tui.commands import Command, commands_of
from tui.editor import edit_at
from tui.event_log import LogLine, log_line
from tui.heap import REST_SECONDS, Heap, quiet_heap
from tui.options import AppOptions
from tui.screens.base import DeckScreen, bindings_of
from tui.screens.files import FilesScreen
from tui.screens.first_run import FirstRunScreen
from tui.screens.help import Help
from tui.screens.note import Draft, QuickNote
from tui.screens.palette import Palette
from tui.screens.search import SearchScreen
from tui.screens.sessions import SessionsScreen
from tui.screens.status import StatusScreen
from tui.state import DeckState
from tui.text import shown
from tui.theme import OWN, next_theme, wanted_theme
from tui.trace import Trace
from tui.widgets.top_bar import TABS

BATCH_SECONDS = 0.25
STATUS_SECONDS = 1.0
BUSY_STATUS_SECONDS = 4.0  # reading the status scans the folders
TWICE_SECONDS = 2.0


def run_app(memory: Memory | None, *, options: AppOptions | None = None) -> int:
    """Run the app on the terminal until it is left; the exit code is 0 only after a quit by the user.

    `memory` is an opened memory (open it with `resident=True`), or None to ask for a workspace first. The app starts
    its background work, unless `options.start` is false, and closes it at the end. A crash gives 1, a signal 128 + its
    number.
    """
    with quiet_heap() as heap:
        app = MemdeckApp(memory, options or AppOptions())
        app.heap = heap
        try:
            app.run(mouse=app.wants_mouse)
        finally:
            app.close_memory()
    return app.return_code if app.return_code is not None else 1


class MemdeckApp(App[None], inherit_bindings=False):
    """One memory on the screen. Screens read `memory`, `state`, `keymap` and `options` and call the methods below."""

    TITLE = "memdeck"
    CSS_PATH: ClassVar = ["styles/app.tcss"]
    BINDINGS = bindings_of("app")
    MODES = {  # noqa: RUF012 -- Textual declares it
        "search": SearchScreen, "sessions": SessionsScreen, "status": StatusScreen, "files": FilesScreen,
        "first_run": FirstRunScreen,
    }  # fmt: skip
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False

    state: var[DeckState] = var(DeckState(), init=False)
    logged: var[tuple[LogLine, ...]] = var((), init=False, always_update=True)

    def __init__(self, memory: Memory | None, options: AppOptions) -> None:
        self.options = options
        self._trace = Trace.asked_for(options.environ)
        super().__init__(driver_class=self._trace.driver if self._trace is not None else None)
        self._memory = memory
        self._bridge = EventBridge(lambda: self.post_message(EventsWait()))
        self._unsubscribe: Callable[[], None] | None = None
        self._interrupted = -TWICE_SECONDS
        self._status_read = -STATUS_SECONDS
        self._status_waits = False
        self._came_from = "search"
        self.draft = Draft()
        self.heap: Heap | None = None
        self.log_lines: deque[LogLine] = deque(maxlen=1000)
        for theme in OWN:
            self.register_theme(theme)
        self._settle()

    @property
    def memory(self) -> Memory:
        """The memory on the screen; only the first-run screen lives without one."""
        assert self._memory is not None
        return self._memory

    @property
    def has_memory(self) -> bool:
        return self._memory is not None

    @property
    def wants_mouse(self) -> bool:
        return True if self._memory is None else self._memory.settings.settings.appearance.mouse

    # Starting and ending

    def _settle(self) -> None:
        """Take keys and looks from the settings of the memory, or the defaults without one."""
        settings = None if self._memory is None else self._memory.settings.settings
        self.keymap = load_keymap({} if settings is None else settings.keymap)
        self.set_keymap(self.keymap.overrides())
        self.animation_level = "full" if settings is not None and settings.appearance.animations else "none"
        named = None if settings is None else settings.appearance.theme
        self.theme, problem = wanted_theme(named, self.options.environ, self.available_themes)
        self._problems = [*self.keymap.problems, *([problem] if problem else [])]

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended_by, number)
        if self._trace is not None:
            self.run_worker(self._trace.run(), group="trace", exit_on_error=False)
        if self.heap is not None:
            self.call_after_refresh(self.heap.settled)
            self.set_interval(REST_SECONDS, self.heap.rest)
        self.switch_mode("first_run" if self._memory is None else "search")
        self._greet(*self.options.notices)

    def on_unmount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        if self._unsubscribe is not None:
            self._unsubscribe()

    def adopt(self, memory: Memory) -> None:
        """Go on with a memory that was opened on the first-run screen; the one before it is closed."""
        before, self._memory = self._memory, memory
        if before is not memory:
            if self._unsubscribe is not None:
                self._unsubscribe()
            self.state = DeckState(revision=self.state.revision + 1)
            self._settle()
            self._greet(before=before)
        self.leave_offer()

    def leave_offer(self) -> None:
        """Back from the first-run screen to the one before it."""
        self.switch_mode(self._came_from)

    def close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def _greet(self, *notices: str, before: Memory | None = None) -> None:
        for notice in (*notices, *self._problems):
            self.say(notice, "warning")
        if self._memory is not None:
            self._unsubscribe = self._memory.events.subscribe(self._bridge)
            self._begin(before)

    @work(group="begin", exit_on_error=False)
    async def _begin(self, before: Memory | None) -> None:
        """Show the counts first, then let the background work start; the memory that was open `before` ends first."""
        if before is not None:
            await asyncio.to_thread(before.close)
        await self._read_status()
        if self.options.start:
            await asyncio.to_thread(self.memory.start)
        offers = self.options.offers
        if offers is not None and before is None and await asyncio.to_thread(offers.tell_once, self.memory.workspace):
            key = self.keymap.shown(BY_ID["app.offer"])
            self.say(f"agents keep sessions on this machine; {key} asks which of them memdeck may read")

    def _ended_by(self, number: signal.Signals) -> None:
        self.exit(return_code=128 + number)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key):
            if self.heap is not None:
                self.heap.key()
            if self._memory is not None:
                self._memory.selection.courtesy.give_way()
        await super().on_event(event)

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
        pause = BUSY_STATUS_SECONDS if self.state.busy else STATUS_SECONDS
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
            self.say(f"not synced: {error}", "error")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.failed(event.worker.group, event.worker.error)

    def failed(self, what: str, error: BaseException | None) -> None:
        """Tell of an error that nobody expected; the app lives on."""
        self.log.error(what, error)
        self.say(f"{what} failed: {type(error).__name__}: {error}", "error")

    # What screens ask for

    def say(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """A short message about what the user just did, or has to know."""
        self.notify(shown(text), severity=severity, markup=False, timeout=3 if severity == "information" else 8)

    @work(group="copy", exit_on_error=False)
    async def copy(self, text: str) -> None:
        """Put text on the clipboard and say where it went."""
        place = await copy_text(text, osc52=self.copy_to_clipboard, environ=self.options.environ)
        first = shown(text)
        first = first if len(first) <= 60 else f"{first[:59]}…"
        if place:
            self.say(f"{first} → {place}")
        else:
            self.say("too long for the terminal's clipboard; e opens the file", "warning")

    def edit(self, path: str, line: int) -> None:
        """Open a document in $EDITOR at a line, on the terminal that the app leaves meanwhile."""
        try:
            place = self.memory.absolute(path)
            problem = edit_at(place, line, environ=self.options.environ, suspend=self.suspend)
        except NotAllowed as error:
            problem = str(error)
        except FileNotFoundError:
            problem = f"{path} is gone"
        if problem:
            self.say(problem, "warning")

    async def show_hit(self, hit: Hit, result: SearchResult, mode: SearchMode) -> None:
        """Show a hit of a transcript on the sessions screen, from where escape comes back."""
        await self.switch_mode("sessions")
        if isinstance(self.screen, SessionsScreen):
            self.screen.open_hit(hit, result, mode)

    async def show_file(self, path: str) -> None:
        """Show a document on the files screen."""
        await self.switch_mode("files")
        if isinstance(self.screen, FilesScreen):
            self.screen.reveal(path)

    # Keys

    def action_show(self, mode: str) -> None:
        if self._memory is not None and len(self.screen_stack) == 1:
            self.switch_mode(mode)

    def action_offer(self) -> None:
        """Ask what is to be read, on a screen of its own."""
        screen = self.screen
        if isinstance(screen, FirstRunScreen):
            screen.ask()
        elif self._memory is not None and len(self.screen_stack) == 1:
            self._came_from = self.current_mode
            self.switch_mode("first_run")

    def action_screen_next(self) -> None:
        at = TABS.index(self.current_mode) if self.current_mode in TABS else -1
        self.action_show(TABS[(at + 1) % len(TABS)])

    def action_palette(self) -> None:
        screen = self.screen
        if not isinstance(screen, DeckScreen):
            return

        async def run(command: Command | None) -> None:
            if command is not None:
                await screen.run_action(command.action)

        self.push_screen(Palette(commands_of(screen.NAME, self.keymap, sorted(self.available_themes))), run)

    def action_help(self) -> None:
        screen = self.screen
        if isinstance(screen, DeckScreen):
            changed = len(self.keymap.changed)
            source = f"[keymap] in config.toml changes {changed} of these keys." if changed else ""
            self.push_screen(Help(screen.NAME, self.keymap, [source] if source else []))

    def action_note(self) -> None:
        screen = self.screen
        if isinstance(screen, DeckScreen) and self._memory is not None:
            self.push_screen(QuickNote(self.draft, screen.citation))

    def action_theme_next(self) -> None:
        self.action_use_theme(next_theme(self.theme))

    def action_use_theme(self, name: str) -> None:
        self.theme = name
        self.say(f"theme {name}; [appearance] theme in config.toml keeps it")

    def action_interrupt(self) -> None:
        """Copy what is selected in a text field; otherwise the second press within two seconds quits."""
        field_ = self.focused
        if isinstance(field_, Input) and field_.selected_text:
            self.copy(field_.selected_text)
        elif time.monotonic() - self._interrupted < TWICE_SECONDS:
            self.exit()
        else:
            self._interrupted = time.monotonic()
            self.say("press ctrl+c again to quit")
