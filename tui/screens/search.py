"""The home screen: a query, the hits, and the preview on the cited lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

from textual import work
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input

from core import Hit, MemdeckError, SearchCancelled, SearchMode, SearchRequest, SearchResult, Source
from tui import guidance
from tui.commands import Command
from tui.dates import ANY_TIME, DateFilter, next_span, typed_dates
from tui.history import QueryHistory
from tui.pages import Target
from tui.screens.base import bindings_of
from tui.screens.browse import BrowseScreen
from tui.state import DeckState
from tui.text import cells_of, counted
from tui.widgets.hit_list import HitList

HITS = 50
TYPING_SECONDS = 0.12
"""How long typing rests before a search starts."""
EMBED_SECONDS = 0.6
"""How long typing rests before the query goes to a remote provider."""
FRESHEN_SECONDS = 1.0
"""The index may change this long before the hits are looked up again; longer while it changes all the time."""
BUSY_FRESHEN_SECONDS = 3.0
MODES: tuple[SearchMode, ...] = ("hybrid", "keyword", "semantic")


class ResultsCame(Message):
    """Hits of one search; `number` tells which, later ones being newer."""

    def __init__(self, number: int, result: SearchResult) -> None:
        super().__init__()
        self.number = number
        self.result = result


class SearchScreen(BrowseScreen[Hit]):
    """Searches while one types; older hits stay until newer ones come."""

    NAME = "search"
    BINDINGS = bindings_of("search")
    PLACEHOLDER = "search what is remembered"

    mode: var[SearchMode] = var[SearchMode]("hybrid", init=False)
    source: var[str] = var("all", init=False)
    dates: var[DateFilter] = var(ANY_TIME, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.result: SearchResult | None = None
        self._number = 0
        self._shown_number = 0
        self._moved = False
        self._fresh: Timer | None = None
        self._embed_now = False
        self._is_resting = False
        self._asked_number = self._failed_number = 0
        self._typed = ""

    def make_list(self) -> HitList:
        return HitList(id="hits")

    @property
    def hits(self) -> HitList:
        return self.query_one(HitList)

    def target(self, item: Hit) -> Target:
        return Target.of_hit(item, self.hits.terms)

    def on_mount(self) -> None:
        self.history = QueryHistory(self.deck.options.history)
        self.input.value = self.deck.options.query
        if not self.input.value:
            self._show_home()

    # Asking

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._moved = False
        self.ask()

    def chosen(self) -> None:
        self._moved = True
        self.used()
        if self.typing and not self.deck.memory.embeds_while_typing and self._only_words_so_far():
            self._embed_now = True
            self.ask()
        else:
            super().chosen()

    def _only_words_so_far(self) -> bool:
        result = self.result
        return self.mode != "keyword" and (result is None or result.query != self.input.value or result.partial)

    @property
    def is_listed(self) -> bool:
        """Whether the hits are those of what the user asked last, be they older than the index or not ranked yet."""
        asked, result = self._asked_number, self.result
        if self._shown_number != asked:
            return max(self._shown_number, self._failed_number) >= asked
        return result is None or not result.partial or bool(result.hits) or not self.at_work("search")

    def hurry_list(self) -> None:
        if self._is_resting:
            self.ask(0.0)

    def ask(self, rest: float = TYPING_SECONDS, *, again: bool = False) -> None:
        """Search for what stands in the field once typing rests; a newer call takes the place of this one.

        `again` looks up what the user has asked before, since the index changed.
        """
        self._number += 1
        if not again:
            self._asked_number = self._number
        self._is_resting = rest > 0
        self._ask(rest)

    @work(exclusive=True, group="search", exit_on_error=False)
    async def _ask(self, rest: float) -> None:
        query = self.input.value
        if not query.strip():
            self.result, self._shown_number = None, self._number
            self.hits.show(())
            self._show_home()
            return
        memory, embed_now = self.deck.memory, self._embed_now
        self._embed_now = False
        if not embed_now:
            await asyncio.sleep(rest)
            self._is_resting = False
            if self.mode != "keyword" and not memory.embeds_while_typing:
                await self._find(query, "keyword", last=False)
                await asyncio.sleep(EMBED_SECONDS - rest)
        await self._find(query, self.mode, last=True)

    async def _find(self, query: str, mode: SearchMode, *, last: bool) -> None:
        number, cancel = self._number, threading.Event()
        sources: tuple[Source, ...] | None = None if self.source == "all" else (self.source,)  # type: ignore[assignment]
        request = SearchRequest(self.dates.applied_to(query), mode=mode, max_results=HITS, sources=sources)

        def came(result: SearchResult) -> None:
            self.post_message(ResultsCame(number, replace(result, query=query)))

        try:
            result = await asyncio.to_thread(self.deck.memory.search, request, on_partial=came, cancel=cancel)
        except asyncio.CancelledError:
            cancel.set()
            raise
        except SearchCancelled:
            self._failed_number = number
            return
        except MemdeckError as error:
            self._failed_number = number
            self.failed_to("The search failed", error)
            return
        came(result)

    # Answering

    def on_results_came(self, event: ResultsCame) -> None:
        event.stop()
        if event.number < self._shown_number or (event.number != self._number and not self.input.value.strip()):
            return
        self._shown_number = event.number
        self._show(event.result)

    def _show(self, result: SearchResult) -> None:
        hits, current = self.hits, self.hits.current
        keep = _stand_in(current, result.hits) if current is not None and self._moved else None
        self.result = result
        hits.terms = result.terms
        if result.hits or not result.partial:
            hits.show(result.hits, keep=keep)
        self._tell()
        if result.hits:
            self.show_empty(None)
        elif not result.partial:
            self.show_empty(self._nothing(result))
        self._warn()

    def _warn(self) -> None:
        """The line below the top: what is wrong with the index, else with the result unless it is said below."""
        result = self.result
        warning = result.warning if result is not None and (result.hits or not result.filters) else None
        self.notice(self.deck.state.banner or warning or "")

    def _nothing(self, result: SearchResult) -> Content:
        keys = [self.deck.keymap.key(f"search.{part}", typing=True) for part in ("mode", "source", "dates")]
        return guidance.no_hits(result, self.mode, self.source, self.dates.label, keys)

    def _show_home(self) -> None:
        self.show_empty(guidance.home(self.deck.state, self.deck.memory.workspace, self.deck.keymap))
        self._tell()

    def _tell(self) -> None:
        """What narrows the search, the number of hits and what it took, at the right of the query."""
        result, wide = self.result, self.has_class("-wide")
        done = self.mode if result is None or result.partial else result.mode
        parts: list[str] = [self.mode if done == self.mode else f"{self.mode}→{done}", self.source]
        if self.dates is not ANY_TIME:
            parts.append(self.dates.label)
        if result is not None:
            count = len(result.hits)
            hits = f"{HITS}+ hits" if count >= HITS else counted(count, "hit")
            parts.append(f"{hits} in {counted(len({hit.path for hit in result.hits}), 'file')}" if wide else hits)
            if result.catching_up:
                parts.append("catching up")
            if wide and result.pending and self.mode != "keyword":
                parts.append(f"{result.pending:,} by words only")
            parts.append("ranking" if result.partial else _took(result, in_parts=wide))
        if self.source == "all" and not wide and self.dates is not ANY_TIME:
            parts.remove("all")
        while len(parts) > 3 and cells_of(" · ".join(parts)) >= self.info.size.width > 0:
            parts.pop()
        self.info.set("", Content.styled(" · ".join(parts), "$text-muted"))

    # Keys

    def action_mode_next(self) -> None:
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]

    def action_source_next(self) -> None:
        choices = ("all", *self.deck.memory.settings.settings.sources)
        if len(choices) <= 2:
            self.deck.say(f"{choices[-1]} is the only source; sessions.agents adds transcripts")
            return
        self.source = choices[(choices.index(self.source) + 1) % len(choices)]

    def action_dates_next(self) -> None:
        dates = next_span(self.dates)
        if dates is None:
            self.prompt.ask("dates", "dates (2026-01, 2w, after:… before:…):", self._typed)
        self.dates = dates or ANY_TIME

    def answered(self, purpose: str, text: str) -> None:
        if purpose != "dates":
            super().answered(purpose, text)
            return
        dates = typed_dates(text)
        if dates is None:
            self.deck.say(f"{text} is no date: 2026-01-31, 2026-01, 2w, after:2026-01 before:yesterday", "warning")
        else:
            self._typed, self.dates = text, dates

    def action_group(self) -> None:
        self.hits.group()
        fold, unfold = (self.deck.keymap.key(f"preview.{side}") for side in ("left", "right"))
        self.deck.say(f"hits by document; {fold} {unfold} fold" if self.hits.grouped else "hits by score")

    def watch_mode(self) -> None:
        self._asked_otherwise()

    def watch_source(self) -> None:
        self._asked_otherwise()

    def watch_dates(self) -> None:
        self._asked_otherwise()

    def _asked_otherwise(self) -> None:
        if not self.is_mounted:
            return
        self._moved = False
        self._tell()
        if self.input.value.strip():
            self.ask(0.0)

    def used(self) -> None:
        self.history.add(self.input.value)

    def action_history(self) -> None:
        queries = self.history.queries
        if not queries:
            self.deck.say("no earlier queries yet: one is kept when a hit is opened or cited")
            return

        def recall(chosen: Command | None) -> None:
            if chosen is not None:
                self.input.value = chosen.title
                self.input.cursor_position = len(chosen.title)
                self.action_query()

        from tui.screens.palette import Palette

        self.deck.push_screen(Palette([Command(query, "", "") for query in queries], "earlier queries"), recall)

    def action_move(self, where: str) -> None:
        if where == "up" and self.typing and not self.input.value and not self.prompt.is_open:
            self.action_history()
            return
        self._moved = self._moved or self.has_rows
        if where in ("left", "right") and self.hits.has_focus:
            self.hits.fold(where == "left")
        else:
            super().action_move(where)

    def action_explain(self) -> None:
        hit = self.hits.current
        if hit is not None:
            from tui.screens.explain import Explanation

            self.deck.push_screen(Explanation(hit, self.hits.hits.index(hit) + 1))

    async def action_transcript(self) -> None:
        hit, result = self.hits.current, self.result
        if hit is None or result is None or hit.source != "sessions":
            self.deck.say("this is no hit of a transcript")
        else:
            self.used()
            await self.deck.show_hit(hit, result, self.mode)

    # The index changes

    def state_changed(self, state: DeckState) -> None:
        seen = getattr(self, "_revision", state.revision)
        self._revision = state.revision
        super().state_changed(state)
        self._warn()
        if not self.input.value.strip():
            self._show_home()
        elif state.revision != seen and self._fresh is None:
            calm = state.busy and self.result is not None and self.result.hits
            self._fresh = self.set_timer(BUSY_FRESHEN_SECONDS if calm else FRESHEN_SECONDS, self._freshen)

    def _freshen(self) -> None:
        """Look the hits up again and keep the place."""
        self._fresh = None
        self.reload()
        if self.input.value.strip():
            self._moved = True
            self.ask(again=True)


def _stand_in(before: Hit, hits: Sequence[Hit]) -> str:
    """The key of the hit that stands for an earlier one: itself, the same lines, the same document; else its own."""
    same_path = [hit for hit in hits if hit.path == before.path]
    same_lines = [h for h in same_path if h.start_line <= before.end_line and before.start_line <= h.end_line]
    itself = [hit for hit in hits if hit.chunk_id == before.chunk_id]
    return str(next(iter([*itself, *same_lines, *same_path]), before).chunk_id)


def _took(result: SearchResult, *, in_parts: bool) -> str:
    """Milliseconds of a search, on wide screens step by step."""
    took = result.milliseconds
    steps = (("words", ("keyword",)), ("meaning", ("embed", "vector")), ("ranking", ("rank", "snippet")))
    sums = [(name, sum(took.get(key, 0.0) for key in keys)) for name, keys in steps]
    shown = [f"{name} {spent:.0f}" for name, spent in sums if spent >= 0.5]
    if in_parts and len(shown) > 1:
        return f"{' + '.join(shown)} ms"
    return f"{took.get('total', sum(spent for _, spent in sums)):.0f} ms"
