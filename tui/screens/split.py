"""A screen of two panes: a list, and beside it a reader of what the list points at."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.reactive import var
from textual.widget import Widget

from tui.screens.listed import ListedScreen

T = TypeVar("T")
SIZES = ("split", "full", "off")


class SplitScreen(ListedScreen[T], Generic[T]):
    """Subclasses say what reads (`reader`) and whether it has the focus (`in_reader`).

    `reader_size` is "split", "full" or "off". A small terminal has room for one pane: what is read there is full, and
    comes back as it was in a larger one.
    """

    reader_size: var[str] = var("split")

    def __init__(self) -> None:
        super().__init__()
        self._size_with_room = ""

    @property
    def reader(self) -> Widget:
        """What has the focus when the user goes to the reader."""
        raise NotImplementedError

    @property
    def in_reader(self) -> bool:
        """Whether the reader, or what belongs to it, has the focus."""
        return self.reader.has_focus

    @property
    def _has_one_pane(self) -> bool:
        return self.has_class("-listonly")

    def show_reader(self) -> None:
        """Go to the reader, which is shown then."""
        if self._has_one_pane and self.reader_size != "full":
            self._fill_screen("split")
        elif self.reader_size == "off":
            self.reader_size = "full"
        self.reader.focus()

    def leave_full(self) -> bool:
        """Show the list beside the reader again; whether it was not."""
        if self.reader_size != "full":
            return False
        self.reader_size = "split"
        return True

    def action_query(self) -> None:
        self.leave_full()
        self.set_focus(self.input)  # at once: letters follow

    def action_preview_size(self) -> None:
        if self.has_class("-empty"):
            self.deck.say("nothing is listed that could be shown")
            return
        sizes = [size for size in SIZES if not (self._has_one_pane and size == "off")]
        at = sizes.index(self.reader_size) if self.reader_size in sizes else -1
        self.reader_size = sizes[(at + 1) % len(sizes)]

    def watch_reader_size(self, size: str) -> None:
        if not self.is_mounted:
            return
        if size != "full":
            self._size_with_room = ""
        self.set_class(size == "full", "-full")
        self.set_class(size == "off", "-off")
        if size == "full" and not self.typing and not self.in_reader:
            self.reader.focus()
        elif size == "off" and self.in_reader:
            self.rows.focus()

    def _fill_screen(self, with_room: str) -> None:
        """Give the reader all of the screen, for as long as there is no room for more."""
        self._size_with_room, self.reader_size = with_room, "full"

    def _fit(self) -> None:
        reading = self.in_reader
        super()._fit()
        if reading and self._has_one_pane and self.reader_size != "full":
            self._fill_screen(self.reader_size)
        elif self._size_with_room and not (self._has_one_pane or self.has_class("-tiny")):
            self.reader_size = self._size_with_room
        if self.is_mounted:
            self.rows.wide = self.has_class("-wide")
