"""OpenClaw's SQLite store: the sessions of one agent as rows, their events plain or packed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import zstandard

from core.records import record
from core.sources.transcripts.model import Checkpoint, Role
from core.sources.transcripts.openclaw import OpenClawParser
from core.sources.transcripts.parser import Keep, Position, Reading, Restart, read_lines
from core.sources.transcripts.records import LONGEST_LINE, Line, cut_base64
from core.sources.transcripts.stores import Store, Value

STORE_NAME = "openclaw-agent.sqlite"
_LARGE = 64 << 10


@record(frozen=True, slots=True)
class StoredSession:
    """A session of the store: its key and title, and what tells whether it changed.

    `rows` counts events, `last` is the highest sequence number, `generation` changes when history is rewritten,
    times are epoch ms.
    """

    id: str
    key: str
    title: str
    rows: int
    last: int
    generation: int
    created: int
    updated: int

    @property
    def mark(self) -> int:
        """A checksum of what shows besides the rows."""
        return zlib.crc32(json.dumps([self.key, self.title, self.generation, self.rows]).encode())


def is_store(store: Store) -> bool:
    return "event_json" in store.columns("transcript_events")


def sessions_of(store: Store) -> list[StoredSession]:
    """The sessions that have events, by an index alone: whatever stands behind the text of an event costs its pages.

    Raises apsw.Error.
    """
    counted = store.rows("SELECT session_id, count(*), max(seq) FROM transcript_events GROUP BY session_id")
    windows: dict[Value, tuple[Value, ...]] = {}
    if store.columns("session_windows"):
        windows = {
            row[0]: row[1:]
            for row in store.rows(
                f"SELECT session_id, {store.column('session_windows', 'session_key')}, "
                f"{store.column('session_windows', 'created_at')}, {store.column('session_windows', 'updated_at')}, "
                f"{store.column('session_windows', 'display_name')} FROM session_windows"
            )
        }
    nodes: dict[Value, Value] = {}
    if store.columns("session_nodes"):
        nodes = {
            row[0]: row[1] or row[2]
            for row in store.rows(
                f"SELECT current_session_id, {store.column('session_nodes', 'label')}, "
                f"{store.column('session_nodes', 'display_name')} FROM session_nodes"
            )
        }
    generations: dict[Value, Value] = {}
    if "generation" in store.columns("transcript_rewrite_watermarks"):
        generations = {
            row[0]: row[1] for row in store.rows("SELECT session_id, generation FROM transcript_rewrite_watermarks")
        }
    found = []
    for session, rows, last in counted:
        key, created, updated, display = windows.get(session, (None, None, None, None))
        title = nodes.get(session) or display
        found.append(
            StoredSession(
                id=str(session),
                key=str(key or ""),
                title=str(title or ""),
                rows=_number(rows),
                last=_number(last),
                generation=zlib.crc32(str(generations.get(session, "")).encode()),
                created=_number(created),
                updated=_number(updated),
            )
        )
    return found


def read_session(
    store: Store,
    session: str,
    wanted: Iterable[Role],
    *,
    checkpoint: Checkpoint | None = None,
    keep: Keep | None = None,
) -> Reading:
    """The events of a session in order; lines are sequence numbers + 1. Goes on after `checkpoint` where it can.

    The conversation is the store's own list of active events, or else the branch that the last event ends.
    """
    active = _active_lines(store, session)
    if checkpoint is not None:
        seen = checkpoint.state.get("active")
        if isinstance(seen, int) and seen == _mark_before(active, checkpoint.line):
            parser = OpenClawParser(wanted)
            parser.keep = keep
            parser.resume(checkpoint)
            try:
                lines = _events(store, session, checkpoint.line)
                return _judged(read_lines(parser, lines, start=Position(checkpoint.offset, checkpoint.line)), active)
            except Restart:
                pass
    parser = OpenClawParser(wanted)
    parser.keep = keep
    return _judged(read_lines(parser, _events(store, session, 0)), active)


def bytes_after(store: Store, session: str, seq: int) -> int:
    """Bytes of the events after a sequence number."""
    size = store.column("transcript_events", "event_utf8_bytes", "length(event_json)")
    rows = store.rows(f"SELECT sum({size}) FROM transcript_events WHERE session_id = ? AND seq > ?", (session, seq))
    return _number(rows[0][0]) if rows else 0


def read_events(store: Store, session: str, first: int, count: int) -> Iterator[Line]:
    """The events on lines `first` to `first + count - 1`."""
    for line in _events(store, session, first - 1):
        if line.number >= first + count:
            return
        yield line


def _judged(reading: Reading, active: frozenset[int] | None) -> Reading:
    """The reading with the store's own word on which messages are active."""
    checkpoint = reading.checkpoint
    if active is not None:
        for number, message in enumerate(reading.messages):
            is_active = message.line_start in active
            if message.active != is_active:
                reading.messages[number] = replace(message, active=is_active)
    if checkpoint is not None:
        state = {**checkpoint.state, "active": _mark_before(active, checkpoint.line)}
        checkpoint = replace(checkpoint, state=state)
    return replace(reading, checkpoint=checkpoint)


def _mark_before(active: frozenset[int] | None, line: int) -> int:
    """A checksum of the active events on lines up to `line`; -1 without a list of them."""
    if active is None:
        return -1
    return zlib.crc32(repr(sorted(number for number in active if number <= line)).encode())


def _active_lines(store: Store, session: str) -> frozenset[int] | None:
    if "event_seq" not in store.columns("session_transcript_active_events"):
        return None
    rows = store.rows("SELECT event_seq FROM session_transcript_active_events WHERE session_id = ?", (session,))
    return frozenset(_number(row[0]) + 1 for row in rows) if rows else None


def _events(store: Store, session: str, after: int) -> Iterator[Line]:
    packed = store.column("transcript_events", "event_zstd")
    unpacker = zstandard.ZstdDecompressor()
    for seq, plain, blob in store.each(
        f"SELECT seq, event_json, {packed} FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq",
        (session, after),
    ):
        number = _number(seq) + 1
        data = b""
        if isinstance(plain, str):
            data = plain.encode("utf-8", "replace")
        elif isinstance(blob, bytes):
            try:
                data = unpacker.decompress(blob, max_output_size=LONGEST_LINE)
            except zstandard.ZstdError:
                data = b"(not a whole zstd frame)"
        if len(data) > _LARGE:
            data = cut_base64(data)
        yield Line(number, number, data, True, len(data) <= LONGEST_LINE)


def _number(value: Value) -> int:
    return int(value) if isinstance(value, int | float) else 0
