"""Why a hit stands where it stands: the words for its score, and the raw evidence."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from core import Hit
from tui.screens.window import Window, window_bindings
from tui.text import fitted, shown, shown_path
from tui.widgets.line import Line
from tui.widgets.text_pane import TextPane

_NAME_CELLS = 11
_MEANINGS = {
    "words": "r = −bm25 of the words (above as r/(1+r))",
    "parts": "beginnings of the words, in longer ones too",
    "pairs": "words side by side, as in the query",
    "identifiers": "names and codes, written as in the query",
    "distinct": "how many of the query's words it holds",
    "complete": "1: it holds all words of a short query",
    "cosine": "likeness in meaning, −1 to 1",
    "text_z": "the words' part, in standard deviations",
    "vector_z": "the cosine, in standard deviations",
    "fused": "the sum that orders the hits",
    "qmd": "the score that qmd gives",
}
"""What the evidence of a hit is, by its name; the formulas stand in core/search/fusion.py."""
_MEANING_CELLS = max(map(len, _MEANINGS.values()))
_VALUE_CELLS = 8


class Explanation(Window[None], inherit_bindings=False):
    """Esc, Enter, and the keys that leave and that asked for it close it."""

    BINDINGS = window_bindings(
        "why", dict.fromkeys(("app.back", "search.explain", "app.leave", "hit.open"), "dismiss(None)")
    )

    def __init__(self, hit: Hit, place: int) -> None:
        super().__init__()
        self._hit = hit
        self._place = place

    def compose(self) -> ComposeResult:
        with Vertical(id="explanation"):
            yield Line(id="explanation-title", fill="─")
            yield TextPane(partial(explanation, self._hit), id="explanation-text")

    def on_mount(self) -> None:
        self.query_one("#explanation-title", Line).set(
            f"─ hit {self._place} · why ", f" {self.key_of('app.back')} closes ─"
        )

    def on_resize(self) -> None:
        self.bound("#explanation-text", beside=3)

    def action_move(self, where: str) -> None:
        self.query_one(TextPane).move(where)


def explanation(hit: Hit, width: int) -> Content:
    """The score of a hit in words, then every number that it was made of, with what it is where there is room."""
    parts = hit.parts
    rows = [
        Content.styled(shown_path(str(hit.citation)), "bold $primary"),
        Content(""),
        Content.assemble((f"score {hit.score:.3f}", "bold"), f": {shown(parts.explain())}"),
    ]
    if hit.heading:
        rows.append(Content(f"under {shown(' › '.join(hit.heading))}"))
    rows += [Content(""), Content.styled("what was measured" if parts.evidence else "nothing was measured", "bold")]
    has_room = width >= 5 + _NAME_CELLS + _VALUE_CELLS + _MEANING_CELLS
    for name, value in parts.evidence.items():
        row = Content.assemble((f"  {fitted(shown(name), _NAME_CELLS)} ", "$text-muted"), _number(value))
        if has_room and name in _MEANINGS:
            row = Content.assemble(row, (f"  {_MEANINGS[name]}", "$text-muted"))
        rows.append(row)
    return Content("\n").join(rows)


def _number(value: float) -> str:
    """With three decimals, or without where it is a whole number; points stand under each other."""
    return f"{value:>{_VALUE_CELLS - 4}.0f}    " if value == round(value) else f"{value:>{_VALUE_CELLS}.3f}"
