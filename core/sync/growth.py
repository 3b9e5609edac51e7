"""How far a transcript is read: kept in the index with its document, so that only what was added is read next time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from core.errors import StoreError
from core.records import record
from core.sources.transcripts.model import Checkpoint, Record
from core.sources.transcripts.parser import facts_from_json, facts_to_json
from core.sources.transcripts.reading import Anchor, ResumePoint
from core.store.database import Database
from core.store.document_reader import NO_DEVICE, DocumentReader, StoredDocument
from core.types import Chunk, StatKey

GROWTH = "growth"
"""The key in a document's details."""
_FORM = 1

TimedLine = tuple[str, int, int | None]
"""A rendered line, its physical line and when it was said (epoch ms)."""


@record(frozen=True, slots=True)
class Growth:
    """What lets reading, rendering and chunking of a transcript go on.

    `point` is where the records before are read for good, `chain` the hash of the lines rendered from them. The first
    `kept` chunks cannot change any more; `carried` are the lines with which the next one begins. `origins` names what
    the session repeats.
    """

    point: ResumePoint
    chain: str
    kept: int
    carried: tuple[TimedLine, ...]
    origins: str = ""

    def to_json(self) -> Record:
        checkpoint, anchor = self.point.checkpoint, self.point.anchor
        return {
            "form": _FORM,
            "offset": checkpoint.offset,
            "line": checkpoint.line,
            "facts": facts_to_json(checkpoint.facts),
            "state": checkpoint.state,
            "anchor": [anchor.inode, anchor.head, anchor.tail] if anchor is not None else None,
            "chain": self.chain,
            "kept": self.kept,
            "carried": self.carried,
            "origins": self.origins,
        }

    @classmethod
    def from_json(cls, value: object) -> Growth | None:
        """What `to_json` gave; None for anything else, so that the transcript is read anew."""
        if not isinstance(value, dict) or value.get("form") != _FORM:
            return None
        try:
            anchor = None
            if value["anchor"] is not None:
                inode, head, tail = value["anchor"]
                anchor = Anchor(int(inode), str(head), str(tail))
            checkpoint = Checkpoint(
                int(value["offset"]), int(value["line"]), facts_from_json(value["facts"]), dict(value["state"]), 0
            )
            carried = tuple(
                (str(text), int(line), None if time is None else int(time)) for text, line, time in value["carried"]
            )
            return cls(
                ResumePoint(checkpoint, anchor), str(value["chain"]), int(value["kept"]), carried, str(value["origins"])
            )
        except (KeyError, TypeError, ValueError):
            return None


@record(frozen=True, slots=True)
class Remembered:
    """What the index holds of a transcript: hash, how its rows were built, how far it was read, how many chunks."""

    hash: str
    stat: StatKey
    build: str
    growth: Growth | None
    chunks: int


@record(frozen=True, slots=True)
class KeptSession:
    """A transcript as the index holds it: its document and its chunks, in order."""

    document: StoredDocument
    chunks: tuple[Chunk, ...]


@record(frozen=True, slots=True)
class KnownSize:
    """A transcript as it was indexed: its document's path and the stat key of then; whether it went away since."""

    path: str
    stat: StatKey
    source_gone: bool = False


class StoredSessions:
    """Reads what the index knows of transcripts, on a connection of its own for each thread.

    An index that is absent or cannot be read knows nothing: transcripts are then read from the start.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[StoredSessions], tuple[Path]]:
        return StoredSessions, (self._store,)

    def recall(self, path: str) -> Remembered | None:
        """What reading the session of a document path can go on from."""
        with self._snapshot() as reader:
            document = reader.get_document("sessions", path) if reader is not None else None
            if reader is None or document is None:
                return None
            told = {} if document.is_source_gone else details_of(document.details)
            growth = Growth.from_json(told.get(GROWTH))
            return Remembered(document.hash, document.stat, document.build, growth, document.chunks)
        return None

    def kept(self, path: str, *, marked: bool) -> KeptSession | None:
        """What the index holds of the session of a document path; with `marked` only where its transcript is gone."""
        with self._snapshot() as reader:
            document = reader.get_document("sessions", path) if reader is not None else None
            if reader is None or document is None or (marked and not document.is_source_gone):
                return None
            return KeptSession(document, tuple(one.chunk for one in reader.chunks_of(document.id)))
        return None

    @contextmanager
    def _snapshot(self) -> Iterator[DocumentReader | None]:
        """A reader of one state of the index, None without an index; a failure ends the block."""
        database = self._open()
        try:
            if database is None:
                yield None
            else:
                with database.snapshot():
                    yield DocumentReader(database)
        except StoreError:
            self._drop()

    def documents_below(self, place: str) -> list[str] | None:
        """Paths of the documents whose transcript lies at `place` or below it; None when the index cannot be read."""
        folder = f"{place.rstrip('/')}/"
        rows = self._rows(
            "SELECT path FROM files WHERE source = 'sessions' AND (absolute = ? OR substr(absolute, 1, ?) = ?)",
            (place, len(folder), folder),
        )
        return None if rows is None else [str(row[0]) for row in rows]

    def known_sizes(self, absolute: str) -> list[KnownSize]:
        """The documents of one file or store, as they were indexed."""
        rows = self._rows(
            "SELECT path, size, mtime_ns, ctime_ns, inode, device FROM files "
            "WHERE source = 'sessions' AND absolute = ?",
            (absolute,),
        )
        return [
            KnownSize(str(row[0]), StatKey(*row[1:]), row[-1] == NO_DEVICE)  # type: ignore[arg-type]
            for row in rows or ()
        ]

    def close(self) -> None:
        """Close this thread's connection; those of others go with their threads."""
        self._drop()

    def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[object, ...]] | None:
        database = self._open()
        if database is None:
            return None
        try:
            return list(database.rows(sql, values))
        except StoreError:
            self._drop()
            return None

    def _open(self) -> Database | None:
        database: Database | None = getattr(self._local, "database", None)
        if database is not None and database.is_replaced:
            self._drop()
            database = None
        if database is None:
            try:
                database = Database.open(self._store, read_only=True, vector_extension=False)
            except StoreError:
                return None
            self._local.database = database
        return database

    def _drop(self) -> None:
        database: Database | None = getattr(self._local, "database", None)
        self._local.database = None
        if database is not None:
            database.close()


def details_of(text: str | None) -> Record:
    """A document's details; an empty table when there are none."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def joined(lines: Iterable[str]) -> str:
    """Lines as the text of a document."""
    return "".join(f"{line}\n" for line in lines)
