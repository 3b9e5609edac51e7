"""What is set right before the writer builds on an index: keyword rows, and vectors of a file that was set aside."""

from __future__ import annotations

from pathlib import Path

from core.errors import KeywordsDamaged
from core.store.check import rebuild_keywords, repair, rows_agree, try_keywords
from core.store.database import Database
from core.store.salvage import salvage_vectors


class Mending:
    """Remembers what is known to be broken until it is mended."""

    def __init__(self) -> None:
        self.keywords_damaged = False
        self.kept: Path | None = None
        """The file that was set aside, until its vectors are saved."""

    def mend(self, database: Database) -> list[str]:
        """Mend, and say what was done; nothing to do costs nothing. Raises StoreError."""
        done = []
        if self.kept is not None:
            kept, self.kept = self.kept, None
            count = salvage_vectors(database, kept)
            if count:
                done.append(f"{count} vectors were saved from {kept}")
        try:
            if not self.keywords_damaged:
                try_keywords(database)
                if rows_agree(database):
                    return done
        except KeywordsDamaged:
            self.keywords_damaged = True
        if self.keywords_damaged:
            done.append(f"the keyword tables were made anew from {rebuild_keywords(database)} chunks")
        else:
            done.extend(repair(database))
        self.keywords_damaged = False
        return done
