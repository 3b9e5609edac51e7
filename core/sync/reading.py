"""One file of a source read and cut into chunks: the work that runs ahead of the writer, here or in another process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from core.records import record
from core.store.document_reader import FileRow
from core.sync.intake import Intake, Prepared
from core.types import Chunk, Document, ScannedFile


class Asked(NamedTuple):
    """A file to read. `known` is the hash of the text that the index has for it, made as it would be made now."""

    file: ScannedFile
    known: str | None = None
    force: bool = False


@record(frozen=True, slots=True)
class Outcome:
    """What reading one file came to: a document to write, or the same text as before, or an error, or it is gone."""

    file: ScannedFile
    prepared: Prepared | None = None
    same: Document | None = None
    error: Exception | None = None
    seconds: float = 0.0

    @property
    def is_partial(self) -> bool:
        """Whether more of the file is to be read once this is written."""
        return self.prepared is not None and self.prepared.document.is_partial

    @property
    def characters(self) -> int:
        """Of its chunks."""
        return sum(len(chunk.text) for chunk in self.prepared.chunks) if self.prepared is not None else 0


def asked(intake: Intake, file: ScannedFile, row: FileRow | None, force: bool) -> Asked:
    """What to ask about a file whose row in the index is `row`."""
    known = row.hash if row is not None and row.build == intake.build and not force else None
    return Asked(file, known, force)


def read_one(intake: Intake, asked: Asked) -> Outcome:
    """Never raises: what is wrong with a file is its outcome."""
    started = time.perf_counter()
    file = asked.file
    try:
        document = intake.read(file, asked.force)
        if document.hash == asked.known and not document.is_partial:
            return Outcome(file, same=document, seconds=time.perf_counter() - started)
        return Outcome(file, prepared=intake.prepare(document), seconds=time.perf_counter() - started)
    except FileNotFoundError:
        return Outcome(file, seconds=time.perf_counter() - started)
    except Exception as error:
        return Outcome(file, error=error, seconds=time.perf_counter() - started)


Packed = tuple[
    Document | None, Document | None, Sequence[tuple[object, ...]], Sequence[bytes], int, str, Exception | None, float
]


def packed(outcome: Outcome) -> Packed:
    """An outcome without what nobody needs who writes it: whole texts, and whose file it is."""
    prepared = outcome.prepared
    if prepared is None:
        return None, _bare(outcome.same), (), (), 0, "", outcome.error, outcome.seconds
    rows = [
        (
            *(chunk.ordinal, chunk.start_line, chunk.end_line, chunk.text, chunk.heading, chunk.line_map),
            *(chunk.observed_ms, chunk.observed_from_ms),
        )
        for chunk in prepared.chunks
    ]
    document = _bare(prepared.document)
    return document, None, rows, prepared.embed_hashes, prepared.kept, prepared.base, None, outcome.seconds


def unpacked(file: ScannedFile, data: Packed) -> Outcome:
    """The outcome of reading `file` that was packed."""
    document, same, rows, hashes, kept, base, error, seconds = data
    prepared = None
    if document is not None:
        chunks = tuple(Chunk(*row) for row in rows)  # type: ignore[arg-type]
        prepared = Prepared(document, chunks, tuple(hashes), kept, base)
    return Outcome(file, prepared, same, error, seconds)


def _bare(document: Document | None) -> Document | None:
    """A document whose lines are counted and whose text is left behind."""
    if document is None:
        return None
    return Document(
        source=document.source,
        path=document.path,
        absolute=document.absolute,
        stat=document.stat,
        hash=document.hash,
        text="",
        warning=document.warning,
        date_ms=document.date_ms,
        dialect=document.dialect,
        title=document.title,
        details=document.details,
        line_count=document.lines_in_all,
        is_partial=document.is_partial,
    )
