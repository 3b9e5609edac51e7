"""The terminal app: how it starts and ends, its modes, and the keys that work on every screen."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from textual import work
from textual.actions import ActionParseResult
from textual.dom import DOMNode
from textual.events import Event, Key
from textual.widgets import Input
from textual.worker import Worker

from core import Hit, Memory, SearchMode, SearchResult
from tui import later
from tui.bindings import MOVES, NEED_SHOWN, load_keymap
from tui.commands import Command, commands_of
from tui.draft import Draft
from tui.heap import REST_SECONDS, Heap, quiet_heap
from tui.key_order import LOOK_SECONDS, KeyOrder, pressed
from tui.memory_app import MemoryApp
from tui.options import AppOptions
from tui.screens.base import DeckScreen, bindings_of
from tui.screens.search import SearchScreen
from tui.state import DeckState
from tui.theme import OWN, next_theme, wanted_theme
from tui.trace import Trace
from tui.widgets.top_bar import TABS

TWICE_SECONDS = 2.0
IN_STEP_SECONDS = 3.5
"""How long an action waits for what it is about to be shown; keys behind it wait as well, and a little longer."""


def run_app(memory: Memory | None, *, options: AppOptions | None = None) -> int:
    """Run the app on the terminal until it is left; the exit code is 0 only after a quit by the user.

    `memory` is an opened memory (open it with `resident=True`), or None to ask for a workspace first. The app starts
    its background work, unless `options.start` is false, and closes it at the end. A crash gives 1, a signal 128 + its
    number.
    """
    _follow_the_terminal()
    with quiet_heap() as heap:
        app = MemdeckApp(memory, options or AppOptions())
        app.heap = heap
        try:
            app.run(mouse=app.wants_mouse)
        finally:
            app.close_memory()
    return app.return_code if app.return_code is not None else 1


def _follow_the_terminal() -> None:
    """A size that the environment names (`COLUMNS`, `LINES`) would hold against every resize of the terminal."""
    if sys.__stdout__ is not None and sys.__stdout__.isatty():
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)


class MemdeckApp(MemoryApp, inherit_bindings=False):
    """One memory on the screen. Screens read `memory`, `state`, `keymap` and `options` and call the methods below."""

    TITLE = "memdeck"
    CSS_PATH: ClassVar = ["styles/app.tcss"]
    BINDINGS = bindings_of("app")
    MODES = {  # noqa: RUF012 -- Textual declares it
        "search": SearchScreen, "sessions": later.sessions, "status": later.status, "files": later.files,
        "first_run": later.first_run,
    }  # fmt: skip
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False

    def __init__(self, memory: Memory | None, options: AppOptions) -> None:
        self._trace = Trace.asked_for(options.environ)
        super().__init__(memory, options, driver=self._trace.driver if self._trace is not None else None)
        self._unsubscribe: Callable[[], None] | None = None
        self._interrupted = -TWICE_SECONDS
        self._came_from = "search"
        self.draft = Draft()
        self._order = KeyOrder(self, super().on_event)
        self.heap: Heap | None = None
        for theme in OWN:
            self.register_theme(theme)
        self._settle()

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
        self._colour()

    def _colour(self) -> None:
        """Have the styles read with the colours of the theme, before Textual reads them with those of another."""
        self._styled = self._colours()
        self.stylesheet.set_variables(self.get_css_variables())

    def _colours(self) -> tuple[object, ...]:
        return (self.theme, self.ansi_theme)

    def refresh_css(self, animate: bool = True) -> None:
        """Read the styles again, if colours have changed: a start asks for it four times, and each takes a while."""
        if self._styled != self._colours():
            self._styled = self._colours()
            super().refresh_css(animate)

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
        self._order.settle()
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
            self.call_after_refresh(self._begin, before)  # what is to be seen goes first

    @work(group="begin", exit_on_error=False)
    async def _begin(self, before: Memory | None) -> None:
        """Show the counts first, then let the background work start; the memory that was open `before` ends first."""
        if before is not None:
            await asyncio.to_thread(before.close)
        await self._read_status()
        if self.options.start:
            await asyncio.to_thread(self.memory.start)
            await asyncio.to_thread(later.load)
        offers = self.options.offers
        if offers is not None and before is None and await asyncio.to_thread(offers.tell_once, self.memory.workspace):
            key = self.keymap.key("app.offer")
            self.say(f"agents keep sessions on this machine; {key} asks which of them memdeck may read")

    def _ended_by(self, number: signal.Signals) -> None:
        self.exit(return_code=128 + number)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key):
            if self.heap is not None:
                self.heap.key()
            if self._memory is not None:
                self._memory.selection.courtesy.give_way()
        if not self._order.is_typed(event):
            await super().on_event(event)
            return
        for key in pressed(event, self.keymap.bound):
            await self._order.come(key)

    # Keys are about what the keys before them have led to, not about what is still shown

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        screen, act = self.screen, super().run_action
        if (
            isinstance(screen, DeckScreen)
            and (action in NEED_SHOWN or (action in MOVES and screen.moves_wait))
            and not screen.is_in_step
        ):
            self.once_in_step(screen, lambda: act(action, default_namespace, namespaces), anyway=action in MOVES)
            return True
        return await act(action, default_namespace, namespaces)

    def once_in_step(self, screen: DeckScreen, act: Callable[[], object], *, anyway: bool = False) -> None:
        """Do something when a screen shows what its row in force points at; keys wait until it is done.

        If that takes too long, it is not done, or `anyway` if it is only a move.
        """
        self.hold_keys(self._act_in_step(screen, act, anyway=anyway))

    def hold_keys(self, worker: Worker[Any]) -> None:
        """Keys wait until a worker is done: where it leads, they are to go."""
        self._order.hold(worker)

    @work(exclusive=True, group="in-step", exit_on_error=False)
    async def _act_in_step(self, screen: DeckScreen, act: Callable[[], object], *, anyway: bool) -> None:
        end = time.monotonic() + IN_STEP_SECONDS
        while not screen.is_in_step:
            if screen is not self.screen:
                return
            if time.monotonic() > end:
                if anyway:
                    break
                self.say("not shown yet: press the key again", "warning")
                return
            screen.hurry()
            await asyncio.sleep(LOOK_SECONDS)
        done = act()
        if inspect.isawaitable(done):
            await done

    # What screens ask for

    async def show_hit(self, hit: Hit, result: SearchResult, mode: SearchMode) -> None:
        """Show a hit of a transcript on the sessions screen, from where escape comes back."""
        from tui.screens.sessions import SessionsScreen

        await self.switch_mode("sessions")
        if isinstance(self.screen, SessionsScreen):
            self.screen.open_hit(hit, result, mode)

    async def show_file(self, path: str) -> None:
        """Show a document on the files screen."""
        from tui.screens.files import FilesScreen

        await self.switch_mode("files")
        if isinstance(self.screen, FilesScreen):
            self.screen.reveal(path)

    # Keys

    def action_show(self, mode: str) -> None:
        if self._memory is not None and len(self.screen_stack) == 1:
            self.switch_mode(mode)

    def action_offer(self) -> None:
        """Ask what is to be read, on a screen of its own."""
        from tui.screens.first_run import FirstRunScreen

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
        from tui.screens.palette import Palette

        screen = self.screen
        if not isinstance(screen, DeckScreen):
            return

        async def run(command: Command | None) -> None:
            if command is not None:
                await screen.run_action(command.action)

        self.push_screen(Palette(commands_of(screen.NAME, self.keymap, sorted(self.available_themes))), run)

    def action_help(self) -> None:
        from tui.screens.help import Help

        screen = self.screen
        if isinstance(screen, DeckScreen):
            changed = len(self.keymap.changed)
            source = f"[keymap] in config.toml changes {changed} of these keys." if changed else ""
            self.push_screen(Help(screen.NAME, self.keymap, [source] if source else []))

    def action_note(self) -> None:
        from tui.screens.note import QuickNote

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
            self.say(f"press {self.keymap.key('app.interrupt')} again to quit")
