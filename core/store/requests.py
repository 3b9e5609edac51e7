"""What processes that only read ask of the one that writes: a table in the index itself."""

from __future__ import annotations

from core.records import record
from core.store.database import Database
from core.store.texts import storable

KEPT_MS = 3_600_000
"""How long an answer stays for whoever asked."""


@record(frozen=True, slots=True)
class Request:
    """`kind` is sync or forget, `payload` JSON, `asked_by` a pid, `asked_ms` epoch milliseconds."""

    id: int
    kind: str
    payload: str
    asked_by: int
    asked_ms: int


class Requests:
    """Each method is one transaction of its own. Raises StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._taken: set[int] = set()

    def ask(self, kind: str, payload: str, *, pid: int, now_ms: int) -> int:
        """Leave a request for the writer; its number."""
        with self._database.transaction():
            return self._database.count(
                "INSERT INTO requests (kind, payload, asked_by, asked_ms) VALUES (?, ?, ?, ?) RETURNING id",
                (kind, storable(payload), pid, now_ms),
            )

    def take(self, kind: str | None = None) -> list[Request]:
        """Requests without an answer that this object has not given out before, oldest first.

        A writer that takes over from one that died gets again what that one left unanswered.
        """
        rows = self._database.rows(
            "SELECT id, kind, payload, asked_by, asked_ms FROM requests "
            "WHERE done_ms IS NULL AND (?1 IS NULL OR kind = ?1) ORDER BY id",
            (kind,),
        )
        found = [Request(*row) for row in rows]  # type: ignore[arg-type]
        new = [request for request in found if request.id not in self._taken]
        self._taken.update(request.id for request in new)
        return new

    @property
    def in_hand(self) -> int:
        """Requests that this object has given out and that have no answer yet."""
        return len(self._taken)

    def show_life(self, *, now_ms: int) -> None:
        """Commit that the writer is there, for those whose requests take their time."""
        self._database.set_meta("writer_alive_ms", str(now_ms))

    def finish(self, request_id: int, outcome: str, *, now_ms: int) -> None:
        """Answer a request; answers older than an hour go."""
        with self._database.transaction():
            self._database.run(
                "UPDATE requests SET done_ms = ?, outcome = ? WHERE id = ?", (now_ms, storable(outcome), request_id)
            )
            self._database.run("DELETE FROM requests WHERE done_ms < ?", (now_ms - KEPT_MS,))
        self._taken.discard(request_id)

    def outcome(self, request_id: int) -> str | None:
        """The answer; None while there is none."""
        value = self._database.value("SELECT outcome FROM requests WHERE id = ?", (request_id,))
        return value if isinstance(value, str) else None

    def withdraw(self, request_id: int) -> None:
        """Take a request back."""
        with self._database.transaction():
            self._database.run("DELETE FROM requests WHERE id = ?", (request_id,))

    def waiting(self) -> int:
        """Requests without an answer."""
        return self._database.count("SELECT count(*) FROM requests WHERE done_ms IS NULL")
