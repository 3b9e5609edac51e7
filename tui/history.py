"""Earlier queries: newest first, bounded, kept from one run of the app to the next."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

KEPT = 200
_LONGEST = 2000


class QueryHistory:
    """Queries in a private file, one a line; without a file, or where it cannot be used, for this run only."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._queries = self._read()

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(self._queries)

    def add(self, query: str) -> None:
        """Put a query in front; queries that another app wrote meanwhile stay."""
        query = " ".join(query.split())[:_LONGEST]
        if not query or self._queries[:1] == [query]:
            return
        older = self._read() or self._queries
        self._queries = [query, *(other for other in older if other != query)][:KEPT]
        self._write()

    def _read(self) -> list[str]:
        if self._file is None:
            return []
        try:
            with self._file.open(encoding="utf-8", errors="replace") as lines:
                found = lines.read(KEPT * _LONGEST).split("\n")
        except OSError:
            return []
        return [line for line in found if line.strip()][:KEPT]

    def _write(self) -> None:
        if self._file is None:
            return
        text = "\n".join(self._queries).encode("utf-8", "replace")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._file.parent, prefix=".queries-")
            try:
                with os.fdopen(descriptor, "wb") as written:
                    written.write(text)
                Path(name).replace(self._file)
            except OSError:
                Path(name).unlink()
        except OSError:
            # A history that cannot be kept is no reason to disturb a search.
            return
