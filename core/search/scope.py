"""Which chunks a search may find: its filters, resolved before anything is retrieved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import cast

import apsw

from core.search.query import Filters
from core.store.database import id_array
from core.text.analysis import fold
from core.text.days import day_in_name, day_start_ms
from core.types import Source

_MILLISECONDS = 1_000_000


def allowed_chunks(
    connection: apsw.Connection, filters: Filters, sources: Sequence[Source] | None = None
) -> list[int] | None:
    """Ids of the chunks that pass the filters and are of one of `sources`, ascending; None when all do.

    A chunk is dated by what it says, else by its document's name, else by its file's last change. One that was said
    over some time passes when a part of that is asked for.
    """
    wanted = frozenset(sources if sources is not None else ("memory", "sessions"))
    if filters.sources:
        wanted &= frozenset(filters.sources)
    if not filters and wanted >= {"memory", "sessions"}:
        return None
    rows = cast(
        "list[tuple[int, str, str, str | None, int | None, int]]",
        connection.execute("SELECT id, source, path, dialect, date_ms, mtime_ns FROM files").fetchall(),
    )
    is_dated = filters.after is not None or filters.before is not None
    first, end = asked_ms(filters)
    whole: list[int] = []
    by_chunk: dict[int, int] = {}
    for file_id, source, path, dialect, date_ms, mtime_ns in rows:
        if source not in wanted or (filters.dialects and (dialect or "").lower() not in filters.dialects):
            continue
        if filters.paths and not _on_path(path, filters.paths):
            continue
        if not is_dated:
            whole.append(file_id)
            continue
        written_ms = mtime_ns // _MILLISECONDS
        if source == "sessions":
            by_chunk[file_id] = written_ms if date_ms is None else date_ms
            continue
        day = day_in_name(path)
        if filters.on_day(day) if day is not None else first <= written_ms < end:
            whole.append(file_id)
    if len(whole) == len(rows):
        return None
    allowed = _ids(
        connection, "SELECT id FROM chunks WHERE file_id IN (SELECT value FROM carray(?))", (id_array(whole),)
    )
    if by_chunk:
        # Only what was said in a session has times of its own.
        said = cast(
            "list[tuple[int, int, int | None, int | None]]",
            connection.execute(
                "SELECT id, file_id, observed_ms, observed_from_ms FROM chunks "
                "WHERE file_id IN (SELECT value FROM carray(?))",
                (id_array(by_chunk),),
            ).fetchall(),
        )
        for chunk_id, file_id, observed_ms, since in said:
            moment = by_chunk[file_id] if observed_ms is None else observed_ms
            if moment >= first and (moment if since is None else since) < end:
                allowed.append(chunk_id)
    return sorted(allowed)


def chunks_of_source(connection: apsw.Connection, source: Source) -> list[int]:
    """Ids of the chunks of one source, ascending."""
    return _ids(
        connection,
        "SELECT chunks.id FROM files JOIN chunks ON chunks.file_id = files.id WHERE source = ? ORDER BY 1",
        (source,),
    )


def _ids(connection: apsw.Connection, sql: str, values: tuple[object, ...]) -> list[int]:
    """The only column of all rows, of which there may be a hundred thousand."""
    found = connection.execute(sql, values).get
    return found if isinstance(found, list) else [] if found is None else [found]


def passes(filters: Filters, *, source: Source, path: str, dialect: str | None) -> bool:
    """Whether a document that is not in the index is what the filters ask for, whatever its time."""
    if filters.sources and source not in filters.sources:
        return False
    if filters.dialects and (dialect or "").lower() not in filters.dialects:
        return False
    return not filters.paths or _on_path(path, filters.paths)


def asked_ms(filters: Filters) -> tuple[float, float]:
    """The moments that the filters ask for (epoch ms): from the first until before the second."""
    first = day_start_ms(filters.after) if filters.after is not None else -math.inf
    return first, day_start_ms(filters.before) if filters.before is not None else math.inf


def _on_path(path: str, wanted: Sequence[str]) -> bool:
    folded = fold(path)
    for pattern in wanted:
        if "*" in pattern or "?" in pattern:
            if fnmatchcase(folded, pattern) or fnmatchcase(folded, f"*/{pattern}"):
                return True
        elif pattern in folded:
            return True
    return False
