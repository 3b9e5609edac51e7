"""The page of hits that qmd's finds become: each file once, what no longer holds left out, a place for memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from core.backends.qmd_collections import Collection
from core.backends.qmd_hits import FoundDocument, HitMaker, Stale, below_head, shows
from core.backends.qmd_output import RawHit
from core.backends.qmd_sessions import HEAD_LINES
from core.errors import NotAllowed, SearchCancelled, Undecodable
from core.records import record
from core.text.words import counted
from core.types import Hit, Source

Opener = Callable[[Collection, str], FoundDocument]
"""Reads the document that a collection's file stands for. Raises NotAllowed, OSError, Undecodable."""


@record(frozen=True, slots=True)
class Page:
    """Hits, and how many of qmd's finds were left out: `stale` by its index, `refused` by the rules of what is read."""

    hits: tuple[Hit, ...]
    stale: int = 0
    refused: int = 0

    @property
    def warning(self) -> str | None:
        words = []
        if self.stale:
            words.append(f"{counted(self.stale, 'hit')} of qmd left out: the files have changed since its last update")
        if self.refused:
            words.append(f"{counted(self.refused, 'hit')} of qmd left out: the files may not be read")
        return "; ".join(words) or None


def fill_page(
    raws: Sequence[RawHit],
    *,
    most: int,
    collections: Mapping[str, Collection],
    forgotten: Set[tuple[Source, str]],
    read: Opener,
    maker: HitMaker,
    cancelled: Callable[[], bool],
) -> Page:
    """Up to `most` hits in qmd's order, none of a `forgotten` document.

    Where sessions alone would fill the page, memory's best has the last place. Raises SearchCancelled.
    """
    hits: list[Hit] = []
    seen: set[str] = set()
    stale = refused = 0
    for raw in raws:
        if cancelled():
            raise SearchCancelled("the search was cancelled")
        full = len(hits) >= most
        if full and any(hit.source == "memory" for hit in hits):
            break
        collection = collections.get(raw.collection)
        if collection is None or (full and collection.source != "memory"):
            continue
        try:
            document = read(collection, raw.path)
            known = document.path in seen or (document.source, document.path) in forgotten
            asked = None if known else maker.asked_part(document)
            if asked is None:
                continue
            seen.add(document.path)
            shown = below_head(raw, HEAD_LINES) if document.source == "sessions" else raw
            hit = maker.make(shown, asked, ceiling=hits[-1].score if hits else 1.0)
        except OSError:
            stale += 1
            continue
        except Stale:
            stale += asked is document or not shows(shown, document.lines)  # or what qmd saw is of another time
            continue
        except (NotAllowed, Undecodable):
            refused += 1
            continue
        if full:
            hits[-1] = hit
            break
        hits.append(hit)
    return Page(tuple(hits), stale, refused)
