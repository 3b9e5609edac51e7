"""The files screen: what is indexed, what is not and why, narrowed by typing."""

from __future__ import annotations

import asyncio

from textual import work
from textual.content import Content
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input

from core import IndexedDocument, MemdeckError, Status
from tui import guidance
from tui.pages import Target
from tui.screens.base import bindings_of
from tui.screens.browse import BrowseScreen
from tui.state import DeckState
from tui.text import counted, folded
from tui.widgets.document_list import DocumentList, FileRow

FRESHEN_SECONDS = 1.0
SHOWN = ("indexed", "failed", "skipped")


class DocumentsScreen(BrowseScreen[FileRow]):
    """Lists the documents of one source."""

    SOURCE = "memory"
    PLACEHOLDER = "narrow by path"
    STARTS_TYPING = False

    show: var[str] = var("indexed", init=False)

    def __init__(self) -> None:
        super().__init__()
        self.documents: tuple[IndexedDocument, ...] = ()
        self._fresh: Timer | None = None
        self._revision = -1

    def make_list(self) -> DocumentList:
        return DocumentList(id="documents")

    def target(self, item: FileRow) -> Target:
        return Target(item.path)

    @work(exclusive=True, group="documents", exit_on_error=False)
    async def read(self) -> None:
        """Ask the index what it holds, and list it."""
        try:
            documents = await asyncio.to_thread(self.deck.memory.documents)
        except MemdeckError as error:
            self.failed_to("The index cannot be read", error)
            return
        self.documents = tuple(row for row in documents if row.source == self.SOURCE)
        self.fill()

    def fill(self) -> None:
        """Show the rows that the field and the state let through."""
        words = folded(self.input.value)[0].split()
        rows = [row for row in self._all_rows() if all(word in folded(row.path)[0] for word in words)]
        current = self.rows.current
        self.rows.show(rows, keep=None if current is None else self.rows.key(current))
        self.show_empty(None if rows else self.nothing())
        self.info.set("", Content.styled(f"{len(rows):,} {self.show}", "$text-muted"))

    def nothing(self) -> Content:
        return guidance.no_files(self.show, self.input.value)

    def _all_rows(self) -> list[FileRow]:
        status = self.deck.state.status
        if self.show == "failed":
            return (
                []
                if status is None
                else [FileRow("failed", row.path, row.error) for row in status.failed if row.source == self.SOURCE]
            )
        if self.show == "skipped":
            return [] if status is None else _skipped(status)
        return [_indexed(row) for row in self.documents]

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.fill()

    def action_state_next(self) -> None:
        self.show = SHOWN[(SHOWN.index(self.show) + 1) % len(SHOWN)]

    def watch_show(self) -> None:
        if self.is_mounted:
            self.fill()

    def on_screen_resume(self) -> None:
        self._look()

    def state_changed(self, state: DeckState) -> None:
        super().state_changed(state)
        if self.is_current:
            self._look()

    def _look(self) -> None:
        """Read again, once a second at most, if the index changed since the last time."""
        if self._revision == self.deck.state.revision or self._fresh is not None:
            return
        if self._revision < 0:
            self._freshen()
        else:
            self._fresh = self.set_timer(
                3 * FRESHEN_SECONDS if self.deck.state.busy else FRESHEN_SECONDS, self._freshen
            )

    def _freshen(self) -> None:
        self._fresh = None
        self._revision = self.deck.state.revision
        self.reload()
        self.read()


class FilesScreen(DocumentsScreen):
    """The memory files."""

    NAME = "files"
    BINDINGS = bindings_of("files")


def _indexed(row: IndexedDocument) -> FileRow:
    if row.warning:
        return FileRow("warning", row.path, row.warning)
    title = f"{row.title}  " if row.title else ""
    return FileRow("ok", row.path, f"{title}{counted(row.lines, 'line')} {counted(row.chunks, 'chunk')}")


def _skipped(status: Status) -> list[FileRow]:
    rows = [FileRow("skipped", row.path, f"{row.kind}: {row.detail}") for row in status.skipped]
    return rows + [FileRow("skipped", name, f"ignored folder, met {n:,} times") for name, n in status.ignored.items()]
