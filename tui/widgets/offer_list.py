"""What could be read, in groups: one workspace, and any of the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.content import Content

from core import Offer
from tui.text import cells_of, elided_path, fitted, shown, shown_path
from tui.widgets.row_list import RowList

LABEL_CELLS = 24
NARROW = 56


class OfferRow(NamedTuple):
    """A heading, or an offer and whether it is chosen."""

    heading: str
    offer: Offer | None = None
    chosen: bool = False


_HEADINGS = {
    "workspace": "Memory: one folder, whose MEMORY.md and memory/ are searched",
    "folder": "More memory",
    "agent": "Sessions: what was said to agents",
    "path": "Sessions: what was said to agents",
}


def offer_rows(offers: Iterable[Offer], picked: set[str]) -> list[OfferRow]:
    """The rows of offers in their order, each group below its heading; `picked` has keys."""
    rows: list[OfferRow] = []
    heading = ""
    for offer in offers:
        if _HEADINGS[offer.kind] != heading:
            heading = _HEADINGS[offer.kind]
            rows.append(OfferRow(heading))
        rows.append(OfferRow(heading, offer, offer.key in picked))
    return rows


class OfferList(RowList[OfferRow]):
    """`(•)` marks the one that is chosen, `[x]` each of those."""

    def key(self, item: OfferRow) -> str:
        return item.offer.key if item.offer is not None else f"heading {item.heading}"

    def rests(self, index: int) -> bool:
        return self.items[index].offer is not None

    def row(self, item: OfferRow, width: int) -> Content:
        offer = item.offer
        if offer is None:
            return Content.styled(f" {fitted(item.heading, width - 1)}", "bold")
        pair = "(•)" if offer.kind == "workspace" else "[x]"
        mark = (f" {pair if item.chosen else f'{pair[0]} {pair[2]}'} ", "bold" if item.chosen else "")
        label, room = shown(offer.label), width - 6
        if width < NARROW:
            name = label if offer.kind == "agent" else elided_path(shown_path(offer.path), room)
            return Content.assemble(mark, fitted(name, max(room, 4)))
        room -= LABEL_CELLS + 2
        holds = f"  {shown(offer.holds)}" if offer.holds else ""
        holds = holds if cells_of(shown_path(offer.path)) + cells_of(holds) <= room else ""
        place = elided_path(shown_path(offer.path), room - cells_of(holds))
        return Content.assemble(mark, fitted(label, LABEL_CELLS), "  ", place, (holds, "$text-muted"))
