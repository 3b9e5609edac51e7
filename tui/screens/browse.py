"""A screen with a text field, a list that it narrows, and a preview that follows the list."""

from __future__ import annotations

import asyncio
import threading
from typing import ClassVar, Generic, TypeVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from core import Citation, LineSource, MemdeckError, read_outline
from tui import guidance
from tui.pages import Opened, Target, cited_text, kept_page, open_page
from tui.screens.base import bindings_of
from tui.screens.reading import ReadingScreen
from tui.screens.split import SplitScreen
from tui.text import counted, shown_path, why
from tui.titles import preview_title
from tui.widgets.line import Line
from tui.widgets.preview import Page, Preview
from tui.widgets.prompt import Prompt
from tui.widgets.query_input import QueryInput
from tui.widgets.row_list import RowList

T = TypeVar("T")
REST_SECONDS = 0.08
"""How long the cursor rests on a row before the preview follows."""


class BrowseScreen(SplitScreen[T], ReadingScreen, Generic[T]):
    """Subclasses say which list it is (`make_list`), what a row points at (`target`), and fill the list."""

    BINDINGS = bindings_of("browse", "preview")
    PLACEHOLDER: ClassVar[str] = ""
    STARTS_TYPING: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.opened: Opened | None = None
        self._trouble = ""
        self._wanted: Target | None = None
        self._previewed: Target | None = None
        self._rest: Timer | None = None
        self._outlined: LineSource | None = None

    @property
    def reader(self) -> Preview:
        return self.preview

    def make_list(self) -> RowList[T]:
        raise NotImplementedError

    def target(self, item: T) -> Target:
        raise NotImplementedError

    def body(self) -> ComposeResult:
        with Horizontal(id="query-bar"):
            yield Static(">", id="prompt", markup=False)
            yield QueryInput(self.PLACEHOLDER, id="query")
            yield Line(id="info")
        with Container(id="panes"):
            yield self.make_list()
            with Vertical(id="reader"):
                yield Line(id="title", fill="─")
                yield Preview(id="preview")
        yield Static("", id="empty", markup=False)
        yield Prompt(id="ask")

    def on_mount(self) -> None:
        self.rows.add_class("rows")
        if self.STARTS_TYPING:
            self.input.focus()
        else:
            self.set_focus(None)
            self.call_after_refresh(self.rows.focus)

    @property
    def info(self) -> Line:
        return self.query_one("#info", Line)

    def close_prompt(self) -> None:
        super().close_prompt()
        if self.focused is None and self.has_rows:
            self.rows.focus()

    # The preview follows the list

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        current = self.rows.current
        self._wanted = None if current is None else self.target(current)
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, self.load)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.chosen()

    @property
    def is_listed(self) -> bool:
        """Whether the list is what the field asks for."""
        return True

    def hurry_list(self) -> None:
        """Begin at once with what would begin when typing rests."""

    @property
    def is_in_step(self) -> bool:
        return self.is_listed and self._previewed == self.cited

    def hurry(self) -> None:
        if not self.is_listed:
            self.hurry_list()
        elif not self.at_work("preview") or self._wanted != self.cited:
            self._wanted = self.cited
            self.load(hidden=True)

    @property
    def moves_wait(self) -> bool:
        return self._moves_in_preview or not self.is_listed

    @property
    def _moves_in_preview(self) -> bool:
        return self.preview.has_focus or self.reader_size == "full"

    @work(exclusive=True, group="preview", exit_on_error=False)
    async def load(self, *, hidden: bool = False) -> None:
        """Show what the current row points at, also `hidden` while the preview is off."""
        if self._rest is not None:
            self._rest.stop()
        wanted = self._wanted
        if wanted is not None and not hidden and not self.query_one("#reader").display:
            return
        try:
            await self._load(wanted)
        except Exception:
            self._previewed = wanted  # tried, and not again for each key
            raise
        self._previewed = wanted

    async def _load(self, wanted: Target | None) -> None:
        if wanted is None:
            self._show_none("")
            return
        opening = asyncio.ensure_future(asyncio.to_thread(self.open_target, wanted, self.preview.page))
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(self._close_unseen)
            raise
        except (MemdeckError, OSError) as error:
            kept = kept_page(wanted, guidance.not_in_step(self.deck.keymap)) if wanted.snippet else None
            self._show_none(f"─ {shown_path(wanted.path)}: {why(error)} ", kept)
            return
        self.opened = opened
        self.preview.show(opened.page)
        self.entitle()
        page = self.preview.page
        if page is not None and page.source is not self._outlined:
            self.workers.cancel_group(self, "outline")
            if page.kind == "markdown" and page.outline is None:
                self.read_outline(page)

    @work(exclusive=True, group="outline", exit_on_error=False)
    async def read_outline(self, page: Page) -> None:
        """Read the headings and fences of a large document that is on the screen already."""
        cancel, self._outlined = threading.Event(), page.source
        try:
            outline = await asyncio.to_thread(read_outline, page.source, cancel)
        except OSError:
            return  # the preview says so itself
        finally:
            cancel.set()
        self.preview.add_outline(page.source, outline)

    def open_target(self, wanted: Target, shown_now: Page | None) -> Opened:
        """The page that is shown of a target. Runs beside the app's loop; raises NotAllowed, OSError, Undecodable."""
        return open_page(self.deck.memory, wanted, shown_now)

    def _show_none(self, trouble: str, said: Page | None = None) -> None:
        self.opened, self._trouble = None, trouble
        if said is None:
            self.preview.clear()
        else:
            self.preview.show(said)
        self.entitle()

    def _close_unseen(self, opening: asyncio.Future[Opened]) -> None:
        if opening.cancelled() or opening.exception() is not None:
            return
        source = opening.result().page.source
        page = self.preview.page
        if page is None or page.source is not source:
            source.close()

    def reload(self) -> None:
        """Read the previewed file again if it changed on disk, or could not be read before."""
        page = self.preview.page
        if page is not None and (page.is_told or page.source.changed()):
            self.load()

    def on_preview_scrolled(self, event: Preview.Scrolled) -> None:
        event.stop()
        self.entitle()

    def entitle(self) -> None:
        opened, title = self.opened, self.query_one("#title", Line)
        if opened is None:
            title.set(Content.styled(self._trouble, "$warning"))
            return
        page, line = opened.page, self.preview.current_line
        known = self.preview.page.trail(line) if self.preview.page is not None else ()
        told = self._wanted.heading if self._wanted is not None and page.first <= line <= page.last else ()
        moved, stale = f" ~ moved from {page.first - opened.moved}", " ~ changed since"
        left, right = preview_title(
            title.size.width,
            path=page.path,
            lines="" if opened.citation is None else str(opened.citation)[len(page.path) :],
            state=moved if opened.moved else stale if opened.stale else "",
            trail=known or told,
            doing=self.selected_words + self.found_words,
            count=counted(page.source.line_count, "line"),
            percent=self.preview.percent,
        )
        title.set(left, right)

    # Keys

    def action_move(self, where: str) -> None:
        if self._moves_in_preview:
            self.preview.move(where)
        elif where not in ("left", "right"):
            self.rows.move(where)

    def action_step(self, by: int) -> None:
        self.rows.move("down" if by > 0 else "up")

    def action_open(self) -> None:
        if self.rows.current is not None:
            self.reload()
            self.show_reader()

    def action_back(self) -> None:
        if self.leave_reading():
            return
        if self.leave_full():
            if self.preview.has_focus:
                self.rows.focus()
        elif self.preview.has_focus and self.rows.display:
            self.rows.focus()
        else:
            self.input.focus()

    def action_preview_wrap(self) -> None:
        self.preview.wrap = not self.preview.wrap
        left, right = (self.deck.keymap.key(f"preview.{side}") for side in ("left", "right"))
        self.deck.say("long lines wrap" if self.preview.wrap else f"long lines run on; {left} {right} scroll")

    def watch_reader_size(self, size: str) -> None:
        super().watch_reader_size(size)
        if self.is_mounted:
            self.call_after_refresh(self.load)

    # Copying and editing

    @property
    def cited(self) -> Target | None:
        """What the current row points at, with the lines where it stands now."""
        item = self.rows.current
        return None if item is None else self.target(item)

    @property
    def citation(self) -> Citation | None:
        """The selected lines, else where the text of the current row stands now, else the line in view."""
        selected, target = super().citation, self.cited
        if selected is not None or target is None:
            return selected
        opened = self._shown_of(target)
        line = self.preview.current_line if opened is not None else 1
        return (opened and opened.citation) or target.citation or Citation(target.path, line, line)

    def _shown_of(self, target: Target) -> Opened | None:
        """What the preview shows of the target's document; None where it says something of it instead."""
        opened = self.opened
        return opened if opened is not None and self._wanted == target and not opened.page.is_told else None

    def used(self) -> None:
        """Called when the user takes something from what the field has found."""

    def action_mark(self) -> None:
        self.rows.mark()

    def action_copy_citation(self) -> None:
        self.used()
        if self.rows.marked and self.preview.selection is None:
            targets = [self.target(item) for item in self.rows.marked_items]
            self.deck.copy("\n".join(str(one.citation or f"{one.path}#L1") for one in targets))
        elif (citation := self.citation) is not None:
            self.deck.copy(str(citation))
        else:
            self.deck.say("no row to cite")

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy_cited(self) -> None:
        target = self.cited
        self.used()
        if await self.copy_selected_text():
            return
        if target is None or not target.first:
            self.deck.say("no cited lines to copy")
            return
        try:
            text, size = await asyncio.to_thread(cited_text, self.deck.memory, target, self.copy_limit)
        except (MemdeckError, OSError) as error:
            self.deck.say(f"not copied: {why(error)}", "error")
            return
        self.deck.copy(text, size)

    def action_edit(self) -> None:
        if (target := self._taken()) is not None:
            self.deck.edit(target.path, self._line_of(target), self.reload)

    def action_page(self) -> None:
        if (target := self._taken()) is not None:
            self.deck.page(target.path, self._line_of(target))

    def _taken(self) -> Target | None:
        """What is to be opened outside; it counts as used."""
        target = self.cited
        if target is None:
            self.deck.say("no file to open")
        else:
            self.used()
        return target

    def _line_of(self, target: Target) -> int:
        return self.preview.current_line if self._shown_of(target) is not None else max(target.best, 1)

    def failed_to(self, what: str, error: MemdeckError) -> None:
        self.show_empty(guidance.failure(what, str(error), error.remedy))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.deck.once_in_step(self, self.chosen)

    def chosen(self) -> None:
        """Enter in the text field, or a click on a row."""
        self.action_open()
