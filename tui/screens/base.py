"""What the peer screens share: the top line, a notice, the key hints, sizes, and the way to the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerState

from core import Citation
from tui.bindings import TABLE, Scope
from tui.state import DeckState
from tui.text import shown
from tui.widgets.key_hints import KeyHints
from tui.widgets.line import Line
from tui.widgets.prompt import Prompt
from tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from tui.app import MemdeckApp

WIDE = 120
NARROW = 60
SHORT = 16
SMALLEST = Size(40, 10)


def bindings_of(*scopes: Scope) -> list[BindingType]:
    """The rows of the table that belong to some scopes, as Textual's bindings."""
    return [
        Binding(row.keys, row.action, row.says, id=row.id, show=False, priority=row.priority)
        for row in TABLE
        if row.scope in scopes
    ]


def size_classes(size: Size) -> dict[str, bool]:
    """The style classes of a terminal's size: tiny (one line says so), listonly, wide."""
    tiny = size.width < SMALLEST.width or size.height < SMALLEST.height
    return {
        "-tiny": tiny,
        "-listonly": not tiny and (size.width < NARROW or size.height < SHORT),
        "-wide": size.width >= WIDE and size.height >= SHORT,
    }


class DeckScreen(Screen[None], inherit_bindings=False):
    """A peer screen; subclasses name themselves, compose a body and say what `back` and `move` do."""

    NAME: ClassVar[str] = ""
    BINDINGS = bindings_of("deck")
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self._focused_before: Widget | None = None

    @property
    def deck(self) -> MemdeckApp:
        return cast("MemdeckApp", self.app)

    def compose(self) -> ComposeResult:
        yield TopBar(self.NAME, self.deck.keymap)
        yield Line(id="notice")
        with Vertical(id="body"):
            yield from self.body()
        yield KeyHints(self.NAME, self.deck.keymap)
        yield self.too_small()

    def too_small(self) -> Static:
        """What is shown below the smallest size that works."""
        return Static(f"memdeck needs {SMALLEST.width}x{SMALLEST.height}", id="tiny", markup=False)

    def body(self) -> ComposeResult:
        """The widgets between the notice and the hints."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._fit()
        self.watch(self.app, "state", self.state_changed)

    def on_resize(self) -> None:
        self._fit()

    def on_screen_resume(self) -> None:
        self._fit()
        self.hint()

    def on_descendant_focus(self) -> None:
        self.hint()

    def on_descendant_blur(self) -> None:
        self.hint()

    def on_top_bar_tab_clicked(self, event: TopBar.TabClicked) -> None:
        self.deck.action_show(event.screen)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.deck.failed(event.worker.group, event.worker.error)

    @property
    def is_in_step(self) -> bool:
        """Whether the list is what the field asks for, and what is shown is what the row in force points at."""
        return True

    def hurry(self) -> None:
        """Begin at once with what would begin when the user rests, to come in step; may be called again and again."""

    def at_work(self, group: str) -> bool:
        """Whether a worker of the screen's is at work."""
        return any(one.group == group and one.node is self and not one.is_finished for one in self.workers)

    @property
    def moves_wait(self) -> bool:
        """Whether the keys that move wait as well: in a list that is there they do not."""
        return False

    @property
    def typing(self) -> bool:
        """Whether letters go into a text field."""
        return isinstance(self.focused, Input)

    def state_changed(self, state: DeckState) -> None:
        """Draw what changed of the memory's state."""
        self.query_one(TopBar).show(state)
        self.notice(state.banner)

    def notice(self, text: str) -> None:
        """A line below the top that stays; "" takes it away."""
        line = self.query_one("#notice", Line)
        line.display = bool(text)
        line.set(f"! {shown(text)}" if text else "")

    def hint(self) -> None:
        if self.is_mounted:
            asking = any(prompt.is_open for prompt in self.query(Prompt))
            self.query_one(KeyHints).show(typing=self.typing, rows=self.has_rows, asking=asking)

    @property
    def has_rows(self) -> bool:
        """Whether there is a row that keys can act on."""
        return False

    @property
    def citation(self) -> Citation | None:
        """What a note would cite: where the lines stand that are selected, or that the cursor is on."""
        return None

    def action_back(self) -> None:
        """One level back; the outermost level stays."""

    def action_move(self, where: str) -> None:
        """Move in the pane that has the focus."""

    def _fit(self) -> None:
        """Put on the classes of the terminal's size; what had the focus before everything was hidden has it again."""
        classes = size_classes(self.app.size)
        if classes["-tiny"] and not self.has_class("-tiny"):
            self._focused_before = self.focused
        elif self._focused_before is not None and not classes["-tiny"]:
            self.call_after_refresh(self._focused_before.focus)
            self._focused_before = None
        for name, on in classes.items():
            self.set_class(on, name)
