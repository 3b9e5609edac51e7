"""What is set right before the writer builds on an index: keyword rows, and vectors of a file that was set aside."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from core.errors import KeywordsDamaged, StoreBusy, StoreError
from core.events import EventBus, StoreRecovered
from core.store.check import rebuild_keywords, repair, rows_agree, try_keywords
from core.store.database import Database
from core.store.salvage import salvage_vectors
from core.store.writer_lock import WriterLock
from core.sync.messages import MendRequested
from core.sync.writer import WriterRole
from core.text.words import counted


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
                done.append(f"{counted(count, 'vector')} saved from {kept}")
        try:
            if not self.keywords_damaged:
                try_keywords(database)
                if rows_agree(database):
                    return done
        except KeywordsDamaged:
            self.keywords_damaged = True
        if self.keywords_damaged:
            done.append(f"the keyword tables were made anew from {counted(rebuild_keywords(database), 'chunk')}")
        else:
            done.extend(repair(database))
        self.keywords_damaged = False
        return done


def answer_mend(
    message: MendRequested,
    open_role: Callable[[], None],
    role_of: Callable[[], object],
    lock: WriterLock,
    bus: EventBus,
) -> None:
    """Repair between two steps of the worker, if it is the writer, and tell what was done. Raises StoreError."""
    try:
        open_role()
        role = role_of()
        if not isinstance(role, WriterRole):
            busy = f"process {lock.owner()} writes the index"
            message.done.set_exception(StoreBusy(busy, remedy="close it, then run this again"))
            return
        done = role.repair()
    except StoreError as error:
        message.done.set_exception(error)
        raise
    for words in done:
        bus.publish(StoreRecovered(at_ms=int(time.time() * 1000), action="repaired", detail=words))
    message.done.set_result(done)
