"""What one state of an index answers the same to every search: counts that need not be asked again."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, cast

from core.records import record
from core.types import Source

if TYPE_CHECKING:
    from core.store.database import Database

MOST_WORDS = 20_000
"""Words whose counts are kept."""


@record(slots=True)
class IndexFacts:
    """Counts of one state of the index.

    `chunks` is by source, `pending` how many chunks wait for a vector, `words` how many chunks hold a token: filled by
    the vocabulary of each search.
    """

    version: int
    chunks: dict[Source, int]
    pending: int
    words: dict[str, int] = field(default_factory=dict)


class FactsKeeper:
    """Keeps the facts of a connection's index until any connection commits a change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._facts: IndexFacts | None = None

    def current(self) -> IndexFacts:
        """The facts of the read transaction under way. Raises StoreError."""
        version = self._database.connection.data_version()
        if self._facts is None or self._facts.version != version:
            counted = self._database.rows("SELECT source, sum(chunks) FROM files GROUP BY source")
            self._facts = IndexFacts(
                version,
                {cast("Source", source): int(cast("int", chunks)) for source, chunks in counted},
                self._database.count("SELECT count(*) FROM embedding_queue WHERE error IS NULL"),
            )
        elif len(self._facts.words) > MOST_WORDS:
            self._facts.words.clear()
        return self._facts
