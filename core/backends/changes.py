"""How many files differ from the index: what a search tells beside its hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.errors import StoreMissing
from core.store.file_errors import FileErrors
from core.store.forgetting import forgotten
from core.types import Scan, Source

if TYPE_CHECKING:
    from core.backends.readers import Reader, ReaderPool
    from core.sync.intake import Intake


def changed_files(readers: ReaderPool, intakes: Sequence[Intake]) -> int:
    """Files that differ from the index by their stat keys: new, changed or gone."""
    scans = {intake.source: intake.scan() for intake in intakes}
    try:
        with readers.lease() as reader:
            return changed_in(reader, intakes, scans)
    except StoreMissing:
        return sum(len(scan.files) for scan in scans.values())


def changed_in(
    reader: Reader, intakes: Sequence[Intake], scans: Mapping[Source, Scan], paused: list[str] | None = None
) -> int:
    """The same for scans at hand; what is kept although its folder cannot be looked at goes to `paused`, in words."""
    skipped = {skip.path for skip in FileErrors(reader.database).skips()}
    changed = 0
    for intake in intakes:
        scan = scans[intake.source]
        gone_for_good = forgotten(reader.database)
        if gone_for_good:
            from core.sync.plan import without_forgotten

            scan = without_forgotten(scan, gone_for_good)
        files, rows = reader.documents.differing(intake.source, scan.files, intake.build)
        if not files and not rows:
            continue
        from core.sync.plan import paused_words, plan_sync  # mostly nothing has changed
        from core.sync.unmounted import with_unmounted

        scan = with_unmounted(scan, rows)
        plan = plan_sync(
            replace(scan, files=tuple(files)),
            rows,
            builds={intake.source: intake.build},
            kept_places=intake.kept_places(),
        )
        words = paused_words(plan, scan)
        if paused is not None and words is not None:
            paused.append(words)
        changed += plan.changes - sum(file.path in skipped for file in plan.changed)
    return changed
