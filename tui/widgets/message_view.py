"""The messages of a transcript, each with its line, time and role; only those in view are read and drawn."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from core import MemdeckError, SessionView, record, visible
from tui.row_steps import back
from tui.text import fitted, shown, term_spans, why
from tui.widgets.block_view import BlockView
from tui.wrapping import wrapped

READ_AT_ONCE = 128 << 10
"""Bytes that are read and parsed while drawing; longer records are read by a worker."""
NARROW = 70
WHEEL_ROWS = 3
_ROLE_CELLS = 9
_ROLES = ("user", "assistant", "tool", "thinking", "summary")
_SPOKEN = ("user", "assistant")


class Row(NamedTuple):
    """A row of a message; `kind` is date, head, text, note or wait."""

    kind: str
    text: str


class MessageView(BlockView[Row]):
    """`items` are the messages shown, by their number in the view; `current` is where among them the cursor is."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"messages--{kind}" for kind in (*_ROLES, "place", "date", "note", "term", "cursor", "cited")
    }

    @record()
    class Wanted(Message):
        """Messages whose records are too long to be read while drawing, or whose file is not open."""

        seqs: tuple[int, ...]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: SessionView | None = None
        self.items: Sequence[int] = ()
        self.current = 0
        self.terms: tuple[str, ...] = ()
        self.cited = (0, 0)
        self.more_key = ""
        self._anchor: int | None = None
        self._whole: dict[int, str] = {}
        self._asked: set[int] = set()
        self._troubles: dict[int, str] = {}

    # What is shown

    def show(
        self, view: SessionView, items: Sequence[int], *, at: int = 0, top: int | None = None, skip: int = 0
    ) -> None:
        """Show messages with item `at` under the cursor and item `top` at the top of the view, or `at` near it."""
        if view is not self.view:
            self._whole, self._anchor = self._carried(view), None
            self._asked.clear()
            self._troubles.clear()
        elif items is not self.items:
            self._anchor = None
        self.view, self.items = view, items
        self.current = min(max(at, 0), max(len(items) - 1, 0))
        self.forget()
        if top is None:
            self.place(self.current)
            self.show_block(self.current)
            self._lead_in()
        else:
            self.place(top, skip)

    def clear(self) -> None:
        self.view, self.items, self.current, self._anchor = None, (), 0, None
        self._whole.clear()
        self._asked.clear()
        self.forget()
        self.place(0)

    def _carried(self, view: SessionView) -> dict[int, str]:
        """What was shown whole in an earlier view of the same session."""
        before = self.view
        if before is None or before.path != view.path:
            return {}
        found = {view.same_as(before, seq): text for seq, text in self._whole.items()}
        return {seq: text for seq, text in found.items() if seq is not None}

    def _lead_in(self) -> None:
        """Some rows of what was said before the message under the cursor."""
        if self.current and len(self.rows_of(self.current)) < self.height:
            self.place(*self.up_from(self.current, min(2, self.height // 4)))

    def loaded(self, troubles: Mapping[int, str]) -> None:
        """Messages that were wanted can be drawn now, or cannot be read for a reason."""
        self._troubles.update({seq: why for seq, why in troubles.items() if why})
        for seq in troubles:
            self._asked.discard(seq)
            index = self.index_of(seq)
            if index is not None:
                self.remake(index)

    def show_whole(self, seq: int, text: str | None) -> None:
        """Show this text for a message, or with None its beginning again."""
        if text is None:
            self._whole.pop(seq, None)
        else:
            self._whole[seq] = text
        index = self.index_of(seq)
        if index is not None:
            self.remake(index)
            self.show_block(index, context=0)

    def is_whole(self, seq: int) -> bool:
        return seq in self._whole

    def cite(self, first: int, last: int) -> None:
        """Mark the messages on these physical lines as cited."""
        self.cited = (first, last)
        self.refresh()

    def index_of(self, seq: int) -> int | None:
        """Where a message stands among the items."""
        at = bisect_left(self.items, seq)
        return at if at < len(self.items) and self.items[at] == seq else None

    def nearest(self, seq: int) -> int:
        """The item of a message, or that of the last one before it."""
        return max(bisect_right(self.items, seq) - 1, 0)

    @property
    def current_seq(self) -> int | None:
        return self.items[self.current] if self.current < len(self.items) else None

    @property
    def at_end(self) -> bool:
        """Whether the cursor is on the last message and its last row is in view."""
        rows = self.in_view()
        last = len(self.items) - 1
        return bool(rows) and self.current == last == rows[-1][0] and rows[-1][1] == len(self.rows_of(last)) - 1

    # Moving

    def move(self, where: str) -> None:
        """One of up, down (read on), page_up, page_down, first, last."""
        page = max(self.height - 1, 1)
        match where:
            case "down":
                self._read_on()
            case "up":
                self._read_back()
            case "page_down":
                before = (self.top, self.skip)
                self.scroll_rows(page)
                self._follow(last=before == (self.top, self.skip))
            case "page_up":
                before = (self.top, self.skip)
                self.scroll_rows(-page)
                self._follow(first=before == (self.top, self.skip))
            case "first":
                self.go_to(0)
            case "last":
                self.current = max(len(self.items) - 1, 0)
                self.place(self.current, 1 << 30)

    def turn(self, by: int) -> None:
        """To the next message, or the one before."""
        self.go_to(self.current + by)

    def go_to(self, index: int) -> None:
        """Put the cursor on an item and bring its beginning into view."""
        if self.items:
            self.current = min(max(index, 0), len(self.items) - 1)
            self._drawn = None
            self.show_block(self.current)

    def show_row(self, number: int) -> None:
        """Bring a row of the message under the cursor into view."""
        if not any((block, row) == (self.current, number) for block, row, _ in self.in_view()):
            self.place(*back(self.rows_of, (self.current, number), self.height // 3))

    @property
    def current_rows(self) -> list[str]:
        """The text of the message under the cursor, row by row; "" for rows of another kind."""
        rows = self.rows_of(self.current) if self.items else ()
        return [row.text if row.kind == "text" else "" for row in rows]

    def _read_on(self) -> None:
        seen = [number for block, number, _ in self.in_view() if block == self.current]
        if seen and seen[-1] < len(self.rows_of(self.current)) - 1:
            self.scroll_rows(1)
        elif self.current < len(self.items) - 1:
            self.current += 1
            if not any(block == self.current for block, _, _ in self.in_view()):
                self.scroll_rows(1)
                if not any(block == self.current for block, _, _ in self.in_view()):
                    self.show_block(self.current)
            self.refresh()
            self.post_message(self.Scrolled(self))

    def _read_back(self) -> None:
        seen = [number for block, number, _ in self.in_view() if block == self.current]
        if seen and seen[0] > 0:
            self.scroll_rows(-1)
        elif self.current > 0:
            self.current -= 1
            if not any(block == self.current for block, _, _ in self.in_view()):
                self.scroll_rows(-1)
                if not any(block == self.current for block, _, _ in self.in_view()):
                    self.show_block(self.current)
            self.refresh()
            self.post_message(self.Scrolled(self))

    def _follow(self, *, first: bool = False, last: bool = False) -> None:
        """After a page: the cursor goes to a message in view, at the ends to the first or the last."""
        blocks = list(dict.fromkeys(block for block, _, _ in self.in_view()))
        if blocks:
            if first or last:
                self.current = blocks[0] if first else blocks[-1]
            elif self.current not in blocks:
                self.current = blocks[0] if self.current > blocks[-1] else blocks[min(1, len(blocks) - 1)]
        self.refresh()

    def on_resize(self) -> None:
        super().on_resize()
        if self.height and self.items and not any(block == self.current for block, _, _ in self.in_view()):
            self.show_block(self.current)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_rows(WHEEL_ROWS)
        self._follow()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_rows(-WHEEL_ROWS)
        self._follow()

    def on_click(self, event: events.Click) -> None:
        rows = self.in_view()
        if 0 <= event.y < len(rows):
            self.current = rows[event.y][0]
            self.refresh()
            self.post_message(self.Scrolled(self))

    # Selecting

    def select(self) -> None:
        """Begin a selection at the cursor, or end it."""
        self._anchor = None if self._anchor is not None else self.current
        self.refresh()

    @property
    def selected(self) -> list[int]:
        """The messages that are selected, by their number in the view; none without a selection."""
        if self._anchor is None:
            return []
        first, last = sorted((self._anchor, self.current))
        return list(self.items[first : last + 1])

    # Rows

    @property
    def count(self) -> int:
        return len(self.items)

    @property
    def _is_narrow(self) -> bool:
        return self.width < NARROW

    @property
    def _digits(self) -> int:
        return max(3, len(str(self.view.line_count))) if self.view is not None else 3

    @property
    def _indent(self) -> int:
        return 2 if self._is_narrow else self._digits + _ROLE_CELLS + 9

    def make(self, index: int) -> list[Row]:
        assert self.view is not None
        seq = self.items[index]
        rows = [Row("date", day)] if (day := self._new_day(index)) else []
        if self._is_narrow:
            rows.append(Row("head", ""))
        cells = max(self.width - self._indent - 1, 4)
        if seq in self._troubles:
            return [*rows, Row("note", fitted(f"cannot be read any more: {self._troubles[seq]}", cells))]
        if seq not in self._whole:
            cost = self.view.cost(seq)
            if not 0 <= cost <= READ_AT_ONCE:
                if seq not in self._asked:
                    self._asked.add(seq)
                    self.post_message(self.Wanted((seq,)))
                return [*rows, Row("wait", "…")]
        try:
            message = self.view.message(seq)
        except (OSError, MemdeckError) as error:
            return [*rows, Row("note", fitted(f"cannot be read any more: {why(error)}", cells))]
        text = self._whole.get(seq, message.text)
        if message.name and not text.startswith(message.name):
            text = f"{message.name}: {text}"
        if not message.active:
            text = f"(left branch) {text}"
        if message.role not in _SPOKEN and seq not in self._whole:
            return [*rows, Row("text", fitted(shown(text), cells).rstrip())]
        plain = visible(text, keep_newlines=True, tab_size=4)
        rows += [Row("text", row) for row in wrapped(plain.strip("\n"), cells)]
        if message.cut and seq not in self._whole:
            rows.append(Row("note", f"… the beginning; {self.more_key} shows all" if self.more_key else "…"))
        return rows

    def _new_day(self, index: int) -> str:
        """The day of an item where it is another one than that of the item before."""
        assert self.view is not None
        day = _clock(self.view.moment(self.items[index]), "%Y-%m-%d")
        before = _clock(self.view.moment(self.items[index - 1]), "%Y-%m-%d") if index else ""
        return day if day != before else ""

    # Drawing

    def draw(self, index: int, number: int, row: Row, *, is_top: bool) -> Strip:
        assert self.view is not None
        seq = self.items[index]
        role = self.view.roles[seq]
        base = self.visual_style
        if row.kind == "date":
            line = f"  {row.text} {'─' * max(self.width - len(row.text) - 3, 0)}"
            return Strip([Segment(line, (base + self._style("messages--date")).rich_style)])
        edge, edge_kind = self._edge(index, seq)
        segments = [Segment(edge, (base + self._style(f"messages--{edge_kind}")).rich_style)]
        is_first = number == self._head_of(index)
        role_style = (base + self._style(f"messages--{role}")).rich_style
        place_style = (base + self._style("messages--place")).rich_style
        start, _ = self.view.place(seq)
        if self._is_narrow:
            if row.kind == "head":
                segments += [
                    Segment(f" {role}", role_style),
                    Segment(f"  L{start}  {_clock(self.view.moment(seq), '%H:%M')}", place_style),
                ]
                return Strip(segments)
            segments.append(Segment(" ", base.rich_style))
        elif is_first:
            clock = _clock(self.view.moment(seq), "%H:%M") or "     "
            segments.append(Segment(f"{start:>{self._digits + 1}} {clock} ", place_style))
            segments.append(Segment(f"{role:<{_ROLE_CELLS}} ", role_style))
        elif is_top:
            segments.append(Segment(" " * (self._digits + 8), place_style))
            segments.append(Segment(f"{'…' + role[: _ROLE_CELLS - 1]:<{_ROLE_CELLS}} ", place_style))
        else:
            segments.append(Segment(" " * self._indent, base.rich_style))
        kind = row.kind if row.kind in ("note",) else role
        content = Content(row.text)
        for begin, end in term_spans(row.text, self.terms) if self.terms else ():
            content = content.stylize(self._style("messages--term"), begin, end)
        style = base + self._style(f"messages--{'note' if kind in ('note',) or row.kind == 'wait' else f'{role}'}")
        body = style if role not in _SPOKEN or row.kind in ("note", "wait") else base
        return Strip([*segments, *content.render_segments(body)])

    def _head_of(self, index: int) -> int:
        """The row that carries line, time and role."""
        return 1 if self.rows_of(index)[0].kind == "date" else 0

    def _edge(self, index: int, seq: int) -> tuple[str, str]:
        assert self.view is not None
        if self._anchor is not None and min(self._anchor, self.current) <= index <= max(self._anchor, self.current):
            return "V", "cursor"
        if index == self.current:
            return "▌", "cursor"
        first, last = self.view.place(seq)
        return ("│", "cited") if first <= self.cited[1] and last >= self.cited[0] > 0 else (" ", "place")


def _clock(moment: int | None, form: str) -> str:
    """A moment (epoch ms) in local time; "" for none, or for one that no calendar has."""
    if moment is None:
        return ""
    try:
        return time.strftime(form, time.localtime(moment / 1000))
    except (ValueError, OverflowError, OSError):
        return ""
