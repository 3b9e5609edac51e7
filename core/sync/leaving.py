"""Documents whose file is gone: most leave the index, kept transcripts stay in it with a mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import get_args

from core.events import FileRemoved, SourceGone
from core.sync.intake import Intake, KeepsText
from core.sync.job_tools import JobCounts, JobTools
from core.sync.plan import Key, Plan
from core.types import Source

GROUP = 50
"""Documents that one transaction takes out or marks."""


def settle_gone(tools: JobTools, counts: JobCounts, intake: Intake, plan: Plan) -> Iterator[None]:
    """Take out or mark what the plan found without a file; yields between transactions. Raises StoreError."""
    renamed_from = set(plan.renamed.values())
    yield from _remove(tools, counts, plan.gone, renamed_from)
    for group in _groups(plan.orphaned):
        with tools.database.transaction():
            marked = [key for key in group if tools.documents.mark_source_gone(*key)]
            for source, path in group:
                tools.documents.clear_error(source, path)
        counts.sources_gone += len(marked)
        for source, path in marked:
            tools.bus.publish(SourceGone(at_ms=tools.now_ms(), source=source, path=path))
        yield
    if isinstance(intake, KeepsText):
        for key in plan.outdated:
            _renew(tools, counts, intake, key)
            yield


def leave_out(tools: JobTools, counts: JobCounts) -> Iterator[None]:
    """Take out the documents of sources that the settings do not name any more. Raises StoreError."""
    named = {intake.source for intake in tools.intakes}
    source: Source
    for source in get_args(Source):
        if source not in named:
            yield from _remove(tools, counts, [(source, path) for path in tools.documents.paths(source)])
            with tools.database.transaction():
                tools.documents.clear_errors(source)


def _remove(
    tools: JobTools, counts: JobCounts, keys: Sequence[Key], renamed_from: Set[Key] = frozenset()
) -> Iterator[None]:
    for group in _groups(keys):
        with tools.database.transaction():
            for source, path in group:
                counts.chunks_removed += tools.documents.remove(source, path)
                tools.documents.clear_error(source, path)
        left = [key for key in group if key not in renamed_from]
        counts.removed += len(left)
        for source, path in left:
            tools.bus.publish(FileRemoved(at_ms=tools.now_ms(), source=source, path=path))
        yield


def _groups(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    for start in range(0, len(keys), GROUP):
        yield keys[start : start + GROUP]


def _renew(tools: JobTools, counts: JobCounts, intake: KeepsText, key: Key) -> None:
    """Build a kept document anew from its own chunks, as the settings are now."""
    stored = tools.documents.get_document(*key)
    if stored is None:
        return
    prepared = intake.renew(stored, [one.chunk for one in tools.documents.chunks_of(stored.id)])
    with tools.database.transaction():
        replaced = tools.documents.replace(
            prepared.document,
            prepared.chunks,
            build=intake.build,
            scanned_ns=stored.scanned_ns,
            now_ms=tools.now_ms(),
            embed_hashes=prepared.embed_hashes,
        )
    counts.chunks_added += replaced.new
    counts.chunks_removed += replaced.gone
    counts.vectors_cached += replaced.cached
