"""The files screen: what is indexed, what failed and what was left out, as a tree with a preview."""

from __future__ import annotations

import asyncio
import time

from textual import work
from textual.content import Content
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input

from core import MemdeckError, NotAllowed, reindex
from tui import guidance
from tui.file_entries import SHOWN, FileEntry, changed_entries, file_entries
from tui.file_tree import FileTree, TreeRow
from tui.pages import Opened, Target, told_page
from tui.screens.base import bindings_of
from tui.screens.browse import BrowseScreen
from tui.state import DeckState
from tui.text import counted, folded, why
from tui.widgets.file_list import FileList
from tui.widgets.preview import Page
from tui.widgets.typing_rest import TypingRest

FRESHEN_SECONDS = 1.0
BUSY_FRESHEN_SECONDS = 3.0
ANEW = 500
"""Changes above which a tree is built anew, beside the app's loop."""
MANY = 1000
"""Files above which they are narrowed beside the app's loop."""


class FilesScreen(BrowseScreen[TreeRow]):
    """A tree that keeps cursor and folds while the index changes. Nothing of a file is read but by the preview."""

    NAME = "files"
    BINDINGS = bindings_of("files")
    PLACEHOLDER = "narrow by path"
    STARTS_TYPING = False

    show: var[str] = var("all", init=False)

    def __init__(self) -> None:
        super().__init__()
        self.tree_of_files = FileTree({}, ())
        self._loaded = False
        self._fresh: Timer | None = None
        self._read_of: tuple[object, ...] = ()
        self._asked_for = ""
        self._narrowing = TypingRest(self, self.fill)

    @property
    def is_listed(self) -> bool:
        is_read = self._loaded or (bool(self._read_of) and not self.at_work("documents"))
        return is_read and not (self._asked_for or self._narrowing.is_waiting or self.at_work("fill"))

    def hurry_list(self) -> None:
        self._narrowing.now()

    def make_list(self) -> FileList:
        return FileList(id="files")

    def target(self, item: TreeRow) -> Target:
        return Target(item.key)

    # Reading what there is

    def on_screen_resume(self) -> None:
        self._look()

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        if self.is_current:
            self._look()

    def _material(self) -> tuple[object, ...]:
        """What the tree is made from, for comparison."""
        state, status = self.deck.state, self.deck.state.status
        if status is None:
            return (state.revision,)
        return (state.revision, state.waiting, status.failed, status.skipped, status.custom.get("ignoredFolders"))

    def _look(self) -> None:
        """Read again, once a second at most, if the index changed since the last time."""
        if self._read_of == self._material() or self._fresh is not None:
            return
        if not self._read_of:
            self._freshen()
        else:
            pause = BUSY_FRESHEN_SECONDS if self.deck.state.busy else FRESHEN_SECONDS
            self._fresh = self.set_timer(pause, self._freshen)

    def _freshen(self) -> None:
        self._fresh = None
        self._read_of = self._material()
        self.reload()
        self.read()

    @work(exclusive=True, group="documents", exit_on_error=False)
    async def read(self) -> None:
        """Ask the index what it holds, and change the tree where that is something else."""
        memory, status, tree = self.deck.memory, self.deck.state.status, self.tree_of_files

        def gather() -> tuple[FileTree | None, list[tuple[str, FileEntry | None]]]:
            entries = file_entries(memory.documents(), status)
            changes = changed_entries(tree.entries, entries) if self._loaded else []
            if self._loaded and len(changes) <= ANEW:
                return None, changes
            anew = FileTree(entries, tree.open if self._loaded else None)
            anew.make_rows()
            return anew, []

        try:
            anew, changes = await asyncio.to_thread(gather)
        except MemdeckError as error:
            self.failed_to("The index cannot be read", error)
            return
        if anew is not None:
            self.tree_of_files = anew
        else:
            tree.change(changes)
        first, self._loaded = not self._loaded, True
        if anew is not None or changes or first:
            self.fill()
        if self._asked_for:
            self.reveal(self._asked_for)

    # Showing it

    def fill(self, keep: str | None = None) -> None:
        """Show the rows that the field and the state let through, with the row of key `keep` in force."""
        words = folded(self.input.value)[0].split()
        if (words or self.show != "all") and len(self.tree_of_files.entries) > MANY:
            self._fill_beside(words, keep)
        else:
            self._fill(self.tree_of_files.rows(words, self.show), keep)

    @work(exclusive=True, group="fill", exit_on_error=False)
    async def _fill_beside(self, words: list[str], keep: str | None) -> None:
        self._fill(await asyncio.to_thread(self.tree_of_files.rows, words, self.show), keep)

    def _fill(self, rows: list[TreeRow], keep: str | None) -> None:
        current = self.rows.current
        narrowed = bool(self.input.value.strip()) or self.show != "all"
        if keep is None and current is not None:
            keep = current.key
        if narrowed and not any(row.key == keep and row.entry is not None for row in rows):
            keep = next((row.key for row in rows if row.entry is not None), keep)
        self.rows.show(rows, keep=keep)
        self.show_empty(None if rows else self._nothing())
        counts = self.tree_of_files.counts()
        amount = counted(counts.files, "file")
        if narrowed:
            amount = f"{sum(row.entry is not None for row in rows):,} of {amount}"
        self.info.set("", Content.styled(f"{amount} · show: {self.show}", "$text-muted"))

    def _nothing(self) -> Content:
        if not self._loaded:
            return Content.styled("Reading the index…", "$text-muted")
        return guidance.no_files(self.show, self.input.value, self.deck.keymap.key("files.state"))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._narrowing.wait()

    def watch_show(self) -> None:
        if self.is_mounted:
            self.fill()

    def reveal(self, path: str) -> None:
        """Go to a path, whatever is folded or narrowed; for one that is not known yet the index is asked once more."""
        known = self._loaded and self.tree_of_files.reveal(path)
        if not known and self._asked_for != path:
            self._asked_for = path
            self._freshen()
            return
        self._asked_for = ""
        if not known:
            self.deck.say(f"{path} is not in the list of files", "warning")
            return
        with self.prevent(Input.Changed):
            self.input.value = ""
        self.set_reactive(FilesScreen.show, "all")
        self._fill(self.tree_of_files.rows(), path)
        self.rows.focus()

    # The preview

    def open_target(self, wanted: Target, shown_now: Page | None) -> Opened:
        """The page of a file, or for a folder and for what is not indexed a page that says what is known of it."""
        details = self._details(wanted.path)
        if details is None:
            return super().open_target(wanted, shown_now)
        return Opened(told_page(wanted.path, details))

    def _details(self, key: str) -> str | None:
        tree = self.tree_of_files
        entry = tree.entries.get(key)
        if entry is not None:
            readable = entry.document is not None and entry.state in ("indexed", "partly")
            return None if readable else _entry_text(entry, self.deck.keymap.key("files.reindex"))
        return _folder_text(key, tree) if tree.is_folder(key) else None

    # Keys

    @property
    def _row(self) -> TreeRow | None:
        return self.rows.current

    def action_state_next(self) -> None:
        self.show = SHOWN[(SHOWN.index(self.show) + 1) % len(SHOWN)]

    def action_open(self) -> None:
        row = self._row
        if row is not None and row.entry is None:
            self._fold(row.key)
        else:
            super().action_open()

    def action_move(self, where: str) -> None:
        row = self._row
        if where not in ("left", "right") or self._moves_in_preview or row is None:
            super().action_move(where)
        elif row.entry is None and row.is_open is (where == "left"):
            self._fold(row.key)
        elif where == "left":
            self._go_up(row)

    def _fold(self, key: str) -> None:
        if self.input.value.strip() or self.show != "all":
            self.deck.say("folders stay open while the list is narrowed")
            return
        self.tree_of_files.toggle(key)
        self.fill()

    def _go_up(self, row: TreeRow) -> None:
        """To the folder that holds a row."""
        at = self.rows.highlighted or 0
        above = (n for n in range(at - 1, -1, -1) if self.rows.items[n].depth < row.depth)
        self.rows.highlighted = next(above, at)

    def action_fold_all(self) -> None:
        opened = self.tree_of_files.toggle_all()
        row = self._row
        self.fill(keep=None if row is None or opened else f"{row.key.partition('/')[0]}/")

    def action_mark(self) -> None:
        row = self._row
        if row is not None and row.entry is None:
            self._fold(row.key)
        else:
            super().action_mark()

    def action_copy_citation(self) -> None:
        row = self._row
        plain = row is not None and (row.entry is None or row.entry.document is None)
        if row is not None and plain and not self.rows.marked:
            self.deck.copy(row.key)
        else:
            super().action_copy_citation()

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy_path(self) -> None:
        row = self._row
        if row is None:
            self.deck.say("no file to name")
            return
        try:
            place = await asyncio.to_thread(self._place, row)
        except (NotAllowed, OSError):
            place = row.key
        self.deck.copy(place)

    def _place(self, row: TreeRow) -> str:
        memory = self.deck.memory
        if row.entry is not None and row.entry.state not in ("skipped", "ignored"):
            return str(memory.absolute(row.key))
        return row.key if row.key.startswith("sessions/") else str(memory.workspace / row.key)

    def _taken(self) -> Target | None:
        row = self._row
        if row is not None and row.entry is None:
            self.deck.say("a folder: go to one of its files")
            return None
        return super()._taken()

    def action_reindex(self) -> None:
        row = self._row
        if row is None:
            self.deck.say("no file to read again")
        else:
            self.deck.say(f"reading {row.key} again")
            self.reindex(row.key)

    @work(group="reindex", exit_on_error=False)
    async def reindex(self, path: str) -> None:
        """Have a file read again, and say what came of it."""
        try:
            outcome = await asyncio.to_thread(reindex, self.deck.memory, path)
        except MemdeckError as error:
            self.deck.say(f"{path} was not read: {why(error)}", "error")
            return
        self.deck.say(f"{path}: {outcome.words}", "information" if outcome.ok else "warning")
        self.deck.refresh_status()


def _entry_text(entry: FileEntry, key: str) -> str:
    """What is known of a file that is not indexed as it is."""
    lines = [entry.path, "", f"{'FAILED' if entry.state == 'failed' else 'not indexed'}: {entry.words}"]
    failure = entry.failure
    if failure is not None:
        lines.append(f"{counted(failure.attempts, 'try', 'tries')}, the last {_when(failure.at_ms)}")
        lines += ["", f"It is tried again at each sync; {key} tries it now."]
    elif entry.state == "ignored":
        lines += ["", "Nothing below it is looked at, whatever it is."]
    document = entry.document
    if document is not None:
        older = f"What was read {_when(document.indexed_ms)} is still found: {counted(document.chunks, 'chunk')}."
        lines += ["", older]
    return "\n".join(lines) + "\n"


def _folder_text(key: str, tree: FileTree) -> str:
    counts = tree.counts(key)
    lines = [key, "", f"{counted(counts.files, 'file')} indexed, {counted(counts.chunks, 'chunk')}"]
    if counts.waiting:
        lines.append(f"{counted(counts.waiting, 'chunk')} without a vector yet: found by words")
    if counts.failed:
        lines.append(f"{counted(counts.failed, 'file')} failed")
    if counts.left_out:
        lines.append(f"{counts.left_out:,} left out")
    return "\n".join(lines) + "\n"


def _when(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))
