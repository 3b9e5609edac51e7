"""Why a hit stands where it stands: the words for its score, and the raw evidence."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from core import Hit
from tui.screens.window import Window, window_bindings
from tui.text import fitted, shown, shown_path
from tui.widgets.line import Line
from tui.widgets.text_pane import TextPane

_NAME_CELLS = 16


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
            yield TextPane(explanation(self._hit), id="explanation-text")

    def on_mount(self) -> None:
        self.query_one("#explanation-title", Line).set(
            f"─ hit {self._place} · why ", f" {self.key_of('app.back')} closes ─"
        )

    def on_resize(self) -> None:
        self.bound("#explanation-text", beside=3)

    def action_move(self, where: str) -> None:
        self.query_one(TextPane).move(where)


def explanation(hit: Hit) -> Content:
    """The score of a hit in words, then every number that it was made of."""
    parts = hit.parts
    rows = [
        Content.styled(shown_path(str(hit.citation)), "bold $primary"),
        Content(""),
        Content.assemble((f"score {hit.score:.3f}", "bold"), f": {shown(parts.explain())}"),
    ]
    if hit.heading:
        rows.append(Content(f"under {shown(' › '.join(hit.heading))}"))
    rows += [Content(""), Content.styled("what was measured" if parts.evidence else "nothing was measured", "bold")]
    rows += [
        Content.assemble((f"  {fitted(shown(name), _NAME_CELLS)}", "$text-muted"), f" {value:>9.3f}")
        for name, value in parts.evidence.items()
    ]
    return Content("\n").join(rows)
