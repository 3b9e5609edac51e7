"""The hits of one query within one transcript, in the order of its lines."""

from __future__ import annotations

from core import Hit, SearchMode, SearchRequest, SearchResult, record

MOST_HITS = 100
"""No search gives more; those that match best are walked through."""


@record(frozen=True, slots=True)
class Trail:
    """Hits by their best physical line; `terms` are the words to mark. `sought` is what was typed."""

    path: str
    sought: str
    terms: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()

    @classmethod
    def of(cls, path: str, sought: str, result: SearchResult) -> Trail:
        hits = [hit for hit in result.hits if hit.path == path]
        return cls(path, sought, result.terms, tuple(sorted(hits, key=lambda hit: (hit.line, hit.start_line))))

    @property
    def count(self) -> str:
        """How many hits there are, `100+` where there may be more."""
        return f"{len(self.hits)}{'+' if len(self.hits) >= MOST_HITS else ''}"

    def step(self, first: int, last: int, by: int) -> Hit | None:
        """The next hit after lines `first` to `last` (`by` 1), or the one before them (-1), around the ends."""
        if not self.hits:
            return None
        if by > 0:
            return next((hit for hit in self.hits if hit.line > last), self.hits[0])
        return next((hit for hit in reversed(self.hits) if hit.line < first), self.hits[-1])

    def number(self, first: int, last: int) -> int:
        """Which hit (from 1) stands on lines `first` to `last`; 0 for none."""
        return next((n for n, hit in enumerate(self.hits, 1) if first <= hit.line <= last), 0)


def request_within(path: str, query: str, mode: SearchMode, typed_filters: tuple[str, ...] = ()) -> SearchRequest:
    """A search for `query` in one transcript alone; filters of its own for paths and sources give way to that."""
    words = query
    for typed in typed_filters:
        if typed.lower().startswith(("path:", "source:")):
            words = words.replace(typed, " ", 1)
    place = path.replace('"', "?")  # a pattern, where the path itself cannot be quoted
    return SearchRequest(f'{words.strip()} path:"{place}"', mode=mode, max_results=MOST_HITS, sources=("sessions",))
