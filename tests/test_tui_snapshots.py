"""What the search screen and the windows look like in every state: as text at four sizes, as SVG at two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core import Memory, SearchRequest, SearchResult, StoreError, events
from tests.pictures import Album, pictured_memory, write_files

FILES = {
    "MEMORY.md": "# Who we are\n\n- The deck keeps what agents remember.\n- Ask before deleting anything.\n",
    "memory/2026-03-11.md": (
        "# Wednesday\n\n## Decisions\n\n"
        "- When sqlite-vec cannot be loaded, **fall back to words** and say so.\n"
        "- Keep `vec0` as the index on disk.\n"
    ),
    "memory/storage.md": (
        "# Storage\n\nOne SQLite file holds everything.\n\n## Fallback\n\n"
        "The order matters, because a failed extension must not leave a lock behind.\n\n"
        "When sqlite-vec cannot be loaded the index keeps working on words alone. The status screen shows why, and "
        "search answers with the words' half of the ranking.\n\n"
        "```python\nconnection.enable_load_extension(True)  # not a heading\n```\n\n"
        "See [the docs](https://alexgarcia.xyz/sqlite-vec/).\n"
    ),
    "memory/projects/東京/checklist.md": "# リリース\n\n1. sqlite-vec を確認する\n2. wheels をビルドする\n",
    "memory/hostile.md": "# [/] not markup\n\n- [x] sqlite-vec done \x1b[2J [@click=app.quit]quit[/]\n",
}
TOOK = {"keyword": 6.0, "rank": 2.0, "total": 8.0}
QUERY = "sqlite-vec cannot be loaded"
BROKEN = StoreError("the index [/] is damaged\x1b", remedy="memdeck doctor --repair sets right what can be")
AT = 1_773_230_400_000


class State(NamedTuple):
    """How a state is reached: a query, keys, what has to show then, and what the search answers otherwise."""

    query: str
    keys: str = ""
    text: str = "▌"
    answer: dict[str, Any] = {}  # noqa: RUF012 -- never changed


STATES = {
    "home": State("", text="Type a question"),
    "found": State(QUERY),
    "ranking": State(QUERY, text="ranking", answer={"partial": True}),
    "no_hits": State("zxqwv", text="No hits"),
    "no_hits_in_time": State("zxqwv", "f8", "since yesterday"),
    "filters_alone": State("path:memory", text="Filters alone"),
    "waiting": State(QUERY, text="▌", answer={"mode": "hybrid", "pending": 340, "catching_up": True}),
    "words_only": State(
        QUERY, text="!", answer={"mode": "keyword", "warning": "found by words only: ollama does not answer [/x]"}
    ),
    "failed": State("broken", text="damaged"),
    "narrowed": State(f"{QUERY} path:memory", "f8 f8 f8 f8 f8 2 0 2 6 minus 0 3 enter", "after:2026-03"),
    "asking_dates": State(QUERY, "f8 f8 f8 f8 f8", "dates (2026"),
    "groups": State(QUERY, "tab d", "▾"),
    "marks": State(QUERY, "tab space space", "*"),
    "found_in_file": State(QUERY, "tab enter f v e c enter", "1/"),
    "selection": State(QUERY, "tab enter v j j", "V  6"),
    "going_to_a_line": State(QUERY, "tab number_sign 4", "line"),
    "full": State(QUERY, "ctrl+o"),
    "list_alone": State(QUERY, "ctrl+o ctrl+o"),
    "moved": State(QUERY, text="moved from"),
    "gone": State(QUERY, text="memory/2026-03-11.md:"),
    "lost_watch": State(QUERY, text="not watching the files"),
    "help": State(QUERY, "f1", "closes"),
    "why": State(QUERY, "tab x", "what was measured"),
    "note": State(QUERY, "ctrl+n S t a y s space u p", "Stays up"),
    "palette": State(QUERY, "ctrl+p", "search: mode"),
    "palette_narrowed": State(QUERY, "ctrl+p c o p y", "copy: the"),
    "history": State("", "f7", "earlier queries"),
}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with pictured_memory(FILES) as memory:
        memory.sync()
        yield memory


@pytest.fixture
def shown(deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens the app for a state, with a search that takes no time and a history of three queries."""
    (tmp_path / "queries").write_text("wheels\nwho is allergic\nsqlite-vec [/x]\n")
    search = memory.search

    def show(state: State, **options: Any) -> Any:
        def timeless(request: SearchRequest, **given: Any) -> SearchResult:
            if "broken" in request.query:
                raise BROKEN
            return replace(search(request, **{**given, "on_partial": None}), milliseconds=TOOK, **state.answer)

        monkeypatch.setattr(memory, "search", timeless)
        return deck(memory, query=state.query, history=tmp_path / "queries", **options)

    yield show
    write_files(memory.workspace, FILES)


async def arrange(running: Any, memory: Memory, name: str) -> None:
    state = STATES[name]
    screen = running.app.screen
    if name == "lost_watch":
        memory.events.publish(events.WatchLost(at_ms=AT, reason="no inotify left [/x]"))
    if QUERY in state.query:
        await running.until(lambda: screen.preview.page is not None or name in ("moved", "gone"))
    await running.press(*state.keys.split())
    await running.until(lambda: state.text in "\n".join(running.lines()))
    await running.rest()


@pytest.mark.parametrize("name", STATES)
async def test_search(shown: Callable[..., Any], memory: Memory, album: Album, name: str) -> None:
    day = memory.workspace / "memory/2026-03-11.md"
    if name == "moved":
        day.write_text("# Before\n\nadded above\n\n" + FILES["memory/2026-03-11.md"])
    if name == "gone":
        day.unlink()
    async with shown(STATES[name]) as running:
        await arrange(running, memory, name)
        await album.sizes(running)


@pytest.mark.parametrize("name", ["groups", "selection", "palette"])
async def test_themes(shown: Callable[..., Any], memory: Memory, album: Album, name: str) -> None:
    async with shown(STATES[name]) as running:
        await arrange(running, memory, name)
        await album.themes(running)


async def test_without_colour(
    shown: Callable[..., Any], memory: Memory, album: Album, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(STATES["found"]) as running:
        await arrange(running, memory, "found")
        await album.sizes(running)


async def test_nothing_indexed(deck: Any, album: Album) -> None:
    with pictured_memory({}) as empty:
        empty.sync()
        async with deck(empty) as running:
            await running.until(lambda: "Nothing to search" in "\n".join(running.lines()))
            await album.sizes(running)


@pytest.mark.parametrize("theme", ["memdeck", "ansi-light"])
async def test_toasts(shown: Callable[..., Any], memory: Memory, album: Album, theme: str) -> None:
    async with shown(STATES["found"], environ={"TEXTUAL_THEME": theme}) as running:
        await arrange(running, memory, "found")
        running.app.clear_notifications()
        running.app.notify("memory/[/] 2026.md#L1-L6 → the terminal's clipboard", markup=False, timeout=600)
        running.app.notify("not copied: no such file [/x]", markup=False, severity="error", timeout=600)
        await running.rest()
        await album.as_it_is(running)
