"""The title line over a preview: which file and lines, under which headings, how far down; right at any width."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.text import cells_of, elided_path, fitted, shown, shown_path

_STEP = " › "
_GAP = "…"
_LEAST_PATH = 8
_LEAST_TRAIL = 5


def breadcrumb(titles: Sequence[str], cells: int) -> str:
    """`Title › Section › Sub` in at most `cells` cells: the middle goes first, then the start, the end is cut last."""
    names = [name for name in map(shown, titles) if name]
    if not names or cells < 1:
        return ""
    outer, inner = names[:1], names[1:]
    shorter = [[*outer, _GAP, *inner[skip:]] for skip in range(1, len(inner))]
    for parts in (names, *shorter, [_GAP, names[-1]], names[-1:]):
        text = _STEP.join(parts)
        if cells_of(text) <= cells:
            return text
    return fitted(names[-1], cells).rstrip() if cells >= _LEAST_TRAIL else ""


def preview_title(
    cells: int, *, path: str, lines: str, state: str, trail: Sequence[str], doing: str, count: str, percent: int
) -> tuple[Content, str]:
    """The left and the right part of the title in `cells` cells.

    `lines` is the cited range, `state` what became of it, `doing` a selection or a find, `count` the document's length.
    When it is narrow the count goes, then the headings are elided, then the path; the range and `doing` stay.
    """
    path = shown_path(path)
    fixed = 2 + cells_of(lines) + cells_of(state) + 1
    for tail in (f"{doing}{count} · {percent}% ─", f"{doing}{percent}% ─"):
        room = cells - fixed - cells_of(tail) - 2
        whole = breadcrumb(trail, 10_000)
        if room >= cells_of(path) + (cells_of(whole) + 3 if whole else 0):
            break
    for_trail = room - 3 - max(min(cells_of(path), room // 2), _LEAST_PATH)
    crumbs = breadcrumb(trail, for_trail)
    room -= cells_of(crumbs) + 3 if crumbs else 0
    left = Content.assemble("─ ", (elided_path(path, max(room, _LEAST_PATH)) + lines, "bold"), (state, "$warning"), " ")
    return left, f" {crumbs} · {tail}" if crumbs else f" {tail}"
