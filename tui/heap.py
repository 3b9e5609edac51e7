"""The garbage collector, kept out of the user's way: a full collection holds the program for a tenth of a second."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual._styles_cache import StylesCache

from core import give_back_free_pages, share_heap

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode

REST_SECONDS = 5.0
"""How often it is looked whether there is garbage worth a collection."""
QUIET_SECONDS = 2.0
"""How long no key came when garbage is looked for."""
LONGEST_SECONDS = 10.0
"""How long one who types without a pause puts it off: it takes longer the more there is, and memory with it."""
WORTH = 20
"""Collections of the young that make a full one worth its time."""
_SELDOM = (2000, 10, 200)


def forget_styles() -> None:
    """Have Textual let go of the widgets, some of them gone, that its cache of background styles keeps.

    It has a thousand of them, each with its drawn lines.
    """
    StylesCache.get_inner_outer.cache_clear()


def forget_widgets(app: App[None]) -> None:
    """Have Textual let go of all widgets that are gone, which it would keep for long.

    Whoever watches the app (a text area does, for the theme) stays in its list until what is watched changes.
    """
    forget_styles()
    watched: Mapping[str, list[tuple[DOMNode, object]]] = getattr(app, "__watchers", {})
    for watchers in watched.values():
        watchers[:] = [(node, callback) for node, callback in watchers if node.is_attached]


class Heap:
    """Settles what the start has made, then collects while nobody types."""

    def __init__(self) -> None:
        self._last_key = self._last_rest = self._last_trim = time.monotonic()
        self._is_final = False

    def settled(self) -> None:
        """The app is on the screen: what is here now stays, and need not be looked through again."""
        gc.freeze()
        gc.enable()

    def key(self) -> None:
        self._last_key = time.monotonic()

    def rest(self) -> None:
        """Collect, if there is something worth it and nobody types, or nobody stops.

        After the last key for a while free pages go back in any case.
        """
        _, young, old = gc.get_count()
        now = time.monotonic()
        is_quiet = now - self._last_key >= QUIET_SECONDS or now - self._last_rest >= LONGEST_SECONDS
        if young + old * _SELDOM[1] >= WORTH and is_quiet:
            self._last_rest = now
            forget_styles()
            gc.collect()
            self._give_back(now)
            if not self._is_final:  # what is loaded at first use is here by now
                self._is_final = True
                gc.freeze()
        elif self._last_key > self._last_trim and now - self._last_key >= QUIET_SECONDS:
            self._give_back(now)

    def _give_back(self, now: float) -> None:
        self._last_trim = now
        give_back_free_pages()


@contextmanager
def quiet_heap() -> Iterator[Heap]:
    """No collection until the app has settled, then few; one heap for all threads.

    What is left at the end goes with the process, unsorted.
    """
    share_heap()
    gc.disable()
    gc.set_threshold(*_SELDOM)
    try:
        yield Heap()
    finally:
        gc.freeze()
        gc.enable()
