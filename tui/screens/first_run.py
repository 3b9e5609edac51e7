"""What is to be read: asked at a start without a workspace, and whenever the user wants to choose again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

from core import MemdeckError, Offer, Promises
from tui import guidance
from tui.screens.base import DeckScreen, bindings_of
from tui.state import DeckState
from tui.text import counted
from tui.widgets.key_hints import KeyHints
from tui.widgets.line import Line
from tui.widgets.offer_list import OfferList, offer_rows
from tui.widgets.query_input import QueryInput
from tui.widgets.row_list import RowList
from tui.widgets.top_bar import TopBar


class OfferDetails(VerticalScroll, can_focus=True, inherit_bindings=False):
    """What would be read of the row in force, and what holds of all."""


class FirstRunScreen(DeckScreen):
    """Lists what seems to be there; nothing of it is read before the user goes on with it."""

    NAME = "first_run"
    BINDINGS = bindings_of("first_run")

    def __init__(self) -> None:
        super().__init__()
        self.offers: tuple[Offer, ...] = ()
        self.picked: set[str] = set()
        self._promises: Promises | None = None
        self._resting = False

    def compose(self) -> ComposeResult:
        yield TopBar(self.NAME, self.deck.keymap)
        yield Line(id="brand")
        yield Line(id="notice")
        yield Line(id="offer-title", fill="─")
        yield OfferList(id="offers")
        yield Static("", id="welcome", markup=False)
        with Horizontal(id="query-bar"):
            yield Static(">", id="prompt", markup=False)
            yield QueryInput("path of another folder", id="query")
        with OfferDetails(id="offer-details"):
            yield Static("", id="offer-text", markup=False)
        yield KeyHints(self.NAME, self.deck.keymap)
        yield self.too_small()

    def on_mount(self) -> None:
        self.query_one("#brand", Line).set("memdeck")

    def on_screen_resume(self) -> None:
        has_memory = self.deck.has_memory
        self.query_one(TopBar).display = has_memory
        self.query_one("#brand").display = not has_memory
        self.ask(again=has_memory)

    @property
    def rows(self) -> OfferList:
        return self.query_one(OfferList)

    @property
    def input(self) -> QueryInput:
        return self.query_one("#query", QueryInput)

    @property
    def has_rows(self) -> bool:
        return not self._resting and self.rows.current is not None

    def state_changed(self, state: DeckState) -> None:
        self.query_one(TopBar).show(state)

    # Asking

    @work(exclusive=True, group="offers", exit_on_error=False)
    async def ask(self, *, again: bool = True) -> None:
        """Look what there is and ask; unless `again`, only where there is something that was not asked for before."""
        desk = self.deck.options.offers
        self.notice("")
        if desk is None:
            self._rest()
            return
        workspace = self.deck.memory.workspace if self.deck.has_memory else None
        try:
            self.offers = await asyncio.to_thread(desk.find, workspace)
            self._promises = await asyncio.to_thread(desk.promises, workspace)
            news = await asyncio.to_thread(desk.news, self.offers)
        except (MemdeckError, OSError) as error:
            self._rest()
            self._failed("This machine could not be looked at", error)
            return
        self.picked = {offer.key for offer in self.offers if offer.chosen}
        first = next((offer for offer in self.offers if offer.kind == "workspace"), None)
        if first is not None:
            self.picked.add(first.key)
        if self.offers and (again or news):
            self._list()
            self.rows.focus()
        else:
            self._rest()

    def _list(self, keep: str | None = None) -> None:
        self._show_pane(resting=False)
        read = "only what is chosen is read" if self.deck.has_memory else "nothing of it is read yet"
        choose, start = (self.deck.keymap.key(f"offer.{what}") for what in ("choose", "start"))
        promise = f"{choose}, then {start}" if self.has_class("-listonly") else read
        self.query_one("#offer-title", Line).set("─ what memdeck reads ", f" {promise} ─")
        self.rows.show(offer_rows(self.offers, self.picked), keep=keep)
        self._tell()

    def _rest(self) -> None:
        """Nothing is asked: say what memdeck is for, and wait for a folder to be named."""
        words = guidance.first_run(self.deck.options.looked_in, self.deck.keymap, asks=bool(self.offers))
        self.query_one("#welcome", Static).update(words)
        self._show_pane(resting=True)
        self.input.focus()

    def _show_pane(self, *, resting: bool) -> None:
        self._resting = resting
        for name, on in (("#offer-title", not resting), ("#offers", not resting), ("#offer-details", not resting)):
            self.query_one(name).display = on
        self.query_one("#welcome").display = resting
        self.hint()

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._tell()

    def _tell(self) -> None:
        row = self.rows.current
        offer = row.offer if row is not None else None
        if self._promises is not None:
            self.query_one("#offer-text", Static).update(guidance.offer(offer, self._promises))

    def _failed(self, what: str, error: Exception) -> None:
        """Say what went wrong, in all its words, in the place of the explanation."""
        self.notice(what)
        words = guidance.failure(what, str(error), error.remedy if isinstance(error, MemdeckError) else "")
        self.query_one("#welcome" if self._resting else "#offer-text", Static).update(words)

    # Choosing

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        row = self.rows.current
        if row is None or row.offer is None or self._resting:
            return
        offer = row.offer
        if offer.kind != "workspace":
            self.picked ^= {offer.key}
        elif self.deck.has_memory:
            self.deck.say("this workspace is open; memdeck --workspace DIR opens another")
        else:
            self.picked -= {one.key for one in self.offers if one.kind == "workspace"}
            self.picked.add(offer.key)
        self._list(keep=offer.key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        if typed:
            self.name_folder(typed)

    @work(exclusive=True, group="folder", exit_on_error=False)
    async def name_folder(self, typed: str) -> None:
        """Offer a folder that the user typed, chosen; where nothing else is offered, go on with it."""
        folder = Path(typed).expanduser().absolute()
        if not await asyncio.to_thread(folder.is_dir):
            self.notice(f"not a folder: {folder}")
            return
        self.notice("")
        kind = "folder" if self.deck.has_memory else "workspace"
        offer = Offer("folder" if kind == "folder" else "workspace", str(folder), "the folder you named", str(folder))
        alone = self._resting
        if kind == "workspace":
            self.picked -= {one.key for one in self.offers if one.kind == "workspace"}
        others = [one for one in self.offers if one.key != offer.key]
        at = next((n for n, one in enumerate(others) if one.kind not in ("workspace", kind)), len(others))
        self.offers = (*others[:at], offer, *others[at:])
        self.picked.add(offer.key)
        self.input.value = ""
        if alone:
            self.start()
        else:
            self._list(keep=offer.key)
            self.rows.focus()

    # Answering

    def action_start(self) -> None:
        self.start()

    @work(exclusive=True, group="start", exit_on_error=False)
    async def start(self) -> None:
        """Write down what was chosen, and open the memory with it."""
        desk, opener = self.deck.options.offers, self.deck.options.open_workspace
        chosen = [offer for offer in self.offers if offer.key in self.picked]
        place = next((offer.path for offer in chosen if offer.kind == "workspace"), None)
        if place is None or opener is None:
            self.notice("no folder is chosen for the memory: / names one")
            return
        try:
            words: tuple[str, ...] = ()
            if desk is not None:
                words = await asyncio.to_thread(desk.accept, chosen, self.offers, workspace=Path(place))
            memory = await asyncio.to_thread(opener, Path(place))
        except (MemdeckError, OSError) as error:
            self._failed("This did not work", error)
            return
        sessions = sum(offer.kind in ("agent", "path") for offer in chosen)
        self.deck.adopt(memory)
        self.deck.say(f"reads the memory and the sessions of {counted(sessions, 'agent')}" if sessions else "chosen")
        for word in words:
            self.deck.say(word, "warning")

    @work(exclusive=True, group="later", exit_on_error=False)
    async def action_later(self) -> None:
        """Read nothing of what is offered, and do not ask again by itself."""
        desk = self.deck.options.offers
        if desk is not None:
            try:
                await asyncio.to_thread(desk.decline, self.offers)
            except MemdeckError as error:
                self._failed("This is not remembered", error)
                return
        if self.deck.has_memory:
            self.deck.leave_offer()
        else:
            self._rest()

    # Moving

    def action_folder(self) -> None:
        self.input.focus()

    def action_move(self, where: str) -> None:
        details = self.query_one(OfferDetails)
        if not details.has_focus:
            self.rows.move(where)
        elif where in ("up", "down"):
            details.scroll_relative(y=1 if where == "down" else -1, animate=False)
        else:
            details.scroll_to(y=0 if where in ("first", "page_up") else details.max_scroll_y, animate=False)

    def action_back(self) -> None:
        if self.typing and not self._resting:
            self.rows.focus()
        elif self.deck.has_memory:
            self.deck.leave_offer()
        else:
            self.set_focus(None)
