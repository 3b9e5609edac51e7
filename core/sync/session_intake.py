"""The intake of transcripts: sessions found, read from where the last sync ended, rendered, masked, cut into chunks."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.chunking import embedding_hash, embedding_text
from core.records import record
from core.settings.model import Settings
from core.sources.redaction import Redactor
from core.sources.rules import is_within
from core.sources.transcripts.finder import Finder, among, scan_of, store_of
from core.sources.transcripts.found import Found
from core.sources.transcripts.model import TITLE_CHARACTERS, Checkpoint, Record, Session
from core.sources.transcripts.ranges import stored_lines
from core.sources.transcripts.reading import ResumePoint, SessionReading, SessionSource, session_of
from core.sources.transcripts.render import Rendered, render, wanted_roles
from core.store.document_reader import StoredDocument
from core.sync.growth import GROWTH, Growth, Remembered, StoredSessions, TimedLine, details_of, joined
from core.sync.intake import Prepared, build_key
from core.sync.session_counter import SessionCounter
from core.sync.session_cuts import Cut, chunk_of, cut_lines, settled_cuts
from core.sync.session_watch import session_watch_roots
from core.sync.watching import WatchRoot
from core.text.lines import scrub
from core.text.tokens import TokenCounter
from core.types import Chunk, Document, Scan, ScannedFile, Source, StatKey

TRANSCRIPTS_VERSION = "2"
"""Changes whenever the same transcripts give other text, or other times of it."""
MOST_AT_ONCE = 4 << 20
"""Bytes of a growing transcript that are read, and then written, at once: what is held of a huge one stays small."""


@record(frozen=True, slots=True)
class SessionDocument(Document):
    """A transcript, read. `text` is what was rendered in this reading: its `lines` come after the first `kept` chunks.

    These stand in the index under the hash `base`. `line_map` and `line_times` have an entry for each of the lines.
    `settled` lines will not change when the transcript grows on from `point`, `chain` is their hash.
    """

    lines: tuple[str, ...] = ()
    line_map: tuple[int, ...] = ()
    line_times: tuple[int | None, ...] = ()
    kept: int = 0
    base: str = ""
    settled: int = 0
    chain: str = ""
    point: ResumePoint | None = None
    origins: str = ""


class SessionIntake:
    """Sessions of the agents that the settings name.

    `index` is where a grown transcript finds how far it was read; without it transcripts are read whole each time.
    """

    source: Source = "sessions"

    def __init__(
        self,
        settings: Settings,
        *,
        home: Path,
        environ: Mapping[str, str],
        counter: TokenCounter,
        agent: str = "main",
        workspace: Path | None = None,
        index: StoredSessions | None = None,
    ) -> None:
        sessions = settings.sessions
        self.finder = Finder(sessions, home=home, environ=environ, agent_id=agent, workspace=workspace)
        self.redact = Redactor(sessions.redact_patterns)
        self.roles = wanted_roles(include_tools=sessions.include_tools, include_thinking=sessions.include_thinking)
        self._keeps_deleted = sessions.keep_deleted
        self._tokens = sessions.chunking.tokens
        self._overlap = sessions.chunking.overlap
        self._counter = SessionCounter(counter)
        self._index = index
        self._session_source = SessionSource()
        self._found: dict[str, Found] = {}
        self._recipe: dict[str, Any] = {
            "settings": settings, "home": home, "environ": dict(environ), "counter": counter, "agent": agent,
            "workspace": workspace, "index": index,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Callable[..., SessionIntake], tuple[dict[str, Any], dict[str, Found]]]:
        """Another process gets an intake of its own that knows the sessions which the last scan found."""
        return _copied, (self._recipe, self._found)

    @property
    def build(self) -> str:
        return build_key(
            "sessions", self._tokens, self._overlap, TRANSCRIPTS_VERSION, self.redact.version, *sorted(self.roles)
        )

    @property
    def scope(self) -> str:
        return f"sessions of {', '.join((*self.finder.agents, *self.finder.paths))}"

    def watch_roots(self) -> list[WatchRoot]:
        return session_watch_roots(self.finder)

    def owns(self, path: str) -> bool:
        """Whether a change of an absolute path is one of this source."""
        places = [place.path for place in self.finder.places()]
        return any(is_within(store_of(path), place) for place in (*places, *self.finder.paths))

    def scan(self, cancel: threading.Event | None = None) -> Scan:
        found, listing = self.finder.look(cancel)
        self._found = {one.path: one for one in found}
        return scan_of(found, listing, self._index.documents_below if self._index is not None else None)

    def scan_paths(self, paths: Iterable[str]) -> Scan:
        paths = [os.path.abspath(path) for path in paths]  # noqa: PTH100
        found, listing = self.finder.look(near=paths)
        self._found = {**self._found, **{one.path: one for one in found}}
        wanted = among(found, paths)
        return scan_of(wanted, listing, self._index.documents_below if self._index is not None else None)

    def read(self, file: ScannedFile, fresh: bool = False) -> Document:
        """Read what is new in a transcript, or with `fresh` all of it. Raises OSError."""
        found = self._found.get(file.path) or self.finder.find(file.path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file.absolute)
        origins = _origins_key(found)
        remembered = None if fresh or self._index is None or not _may_resume(found) else self._index.recall(file.path)
        growth = _usable(remembered, self.build, origins)
        resume = growth.point if growth is not None else None
        most = MOST_AT_ONCE if self._index is not None and _may_resume(found) else None
        is_old = False
        if remembered is not None and resume is not None and found.stat.size == resume.checkpoint.offset:
            # Nothing was added. Where the file was touched all of it may be other text: read in parts, the rows of the
            # later ones would go and come again.
            is_old, most = found.stat == remembered.stat, None
        read = self._session_source.read(found, self.roles, resume=resume, is_old=is_old, most=most)
        if read.reading.resumed and growth is not None and remembered is not None:
            return self._document(file, read, origins, growth, remembered.hash)
        return self._document(file, read, origins, None, "")

    def prepare(self, document: Document) -> Prepared:
        assert isinstance(document, SessionDocument)
        cuts = cut_lines(document.lines, self._counter, self._tokens, self._overlap)
        chunks = tuple(
            chunk_of(cut, number, document.lines, document.line_map, document.line_times)
            for number, cut in enumerate(cuts, document.kept)
        )
        hashes = tuple(embedding_hash(embedding_text(chunk)) for chunk in chunks)
        details = document.details
        if document.point is not None:
            growth = self._growth(document, document.point, cuts)
            details = json.dumps({**json.loads(details or "{}"), GROWTH: growth.to_json()}, ensure_ascii=False)
        return Prepared(replace(document, details=details), chunks, hashes, document.kept, document.base)

    def warm_up(self) -> None:
        self._counter.load()

    def kept_places(self) -> tuple[str, ...]:
        if not self._keeps_deleted:
            return ()
        return (*(place.path for place in self.finder.places()), *self.finder.paths)

    def renew(self, document: StoredDocument, chunks: Sequence[Chunk]) -> Prepared:
        """A session whose transcript is gone, masked and cut anew as the settings are now."""
        stored = stored_lines(chunks)
        lines = tuple(self.redact(one.text).replace("\n", " ") for one in stored)
        details = {name: value for name, value in details_of(document.details).items() if name != GROWTH}
        masked = {name: self.redact(value) if isinstance(value, str) else value for name, value in details.items()}
        return self.prepare(
            SessionDocument(
                source="sessions",
                path=document.path,
                absolute=document.absolute,
                stat=document.stat,
                hash="",  # of no text: a transcript that returns is read
                text=joined(lines),
                warning=document.warning,
                date_ms=document.date_ms,
                dialect=document.dialect,
                title=self._title(document.title) if document.title else None,
                details=json.dumps(masked, ensure_ascii=False, separators=(",", ":")),
                line_count=document.lines,
                lines=lines,
                line_map=tuple(one.line for one in stored),
                line_times=tuple(one.time for one in stored),
            )
        )

    def _growth(self, document: SessionDocument, point: ResumePoint, cuts: Sequence[Cut]) -> Growth:
        final, begin = settled_cuts(cuts, document.settled)
        carried = tuple(
            (document.lines[number], document.line_map[number], document.line_times[number])
            for number in range(begin, document.settled)
        )
        masked = replace(point, checkpoint=self._masked(point.checkpoint))
        return Growth(masked, document.chain, document.kept + final, carried, document.origins)

    def _document(
        self,
        file: ScannedFile,
        read: SessionReading,
        origins: str,
        growth: Growth | None,
        base: str,
    ) -> SessionDocument:
        """`growth` is where the reading went on, `base` the document's hash of then."""
        carried: tuple[TimedLine, ...] = growth.carried if growth is not None else ()
        session = session_of(read)
        messages = read.reading.messages
        checkpoint = read.point.checkpoint if read.point is not None else None
        before = render(
            messages[: checkpoint.messages] if checkpoint is not None else messages, self.redact, self.roles
        )
        after = Rendered([], [], [])
        if checkpoint is not None:
            after = render(messages[checkpoint.messages :], self.redact, self.roles)
        settled_chain = _chained(growth.chain if growth is not None else "", before)
        title = self._title(session.title)
        details = self._details(session, read)
        told = json.dumps([title, details], ensure_ascii=False, sort_keys=True, default=list)
        digest = hashlib.sha256(told.encode("utf-8", "replace"))
        digest.update(_chained(settled_chain, after).encode())
        lines = (*(text for text, _, _ in carried), *before.lines, *after.lines)
        return SessionDocument(
            source="sessions",
            path=file.path,
            absolute=read.found.absolute,
            stat=_stat(read),
            hash=digest.hexdigest(),
            text=joined(lines),
            warning=_warning(session, self._counts(session.unknown)),
            date_ms=session.started,
            dialect=session.dialect,
            title=title or None,
            details=json.dumps(details, ensure_ascii=False, separators=(",", ":")),
            line_count=session.lines,
            lines=lines,
            line_map=(*(line for _, line, _ in carried), *before.line_map, *after.line_map),
            line_times=(*(time for _, _, time in carried), *before.times, *after.times),
            is_partial=read.reading.is_partial,
            kept=growth.kept if growth is not None else 0,
            base=base,
            settled=len(carried) + len(before.lines),
            chain=settled_chain,
            point=read.point,
            origins=origins,
        )

    def _masked(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint fit to be kept: titles quote what was said, and any text of a record may hold a secret."""
        facts = checkpoint.facts.copy()
        facts.titles = {source: self.redact(title) for source, title in facts.titles.items()}
        facts.unknown = self._counts(facts.unknown)
        facts.id, facts.cwd = self.redact(facts.id), self.redact(facts.cwd)
        facts.model, facts.parent = self.redact(facts.model), self.redact(facts.parent)
        state = {
            name: self.redact(value) if isinstance(value, str) else value for name, value in checkpoint.state.items()
        }
        return replace(checkpoint, facts=facts, state=state)

    def _counts(self, unknown: Mapping[str, int]) -> dict[str, int]:
        """Records by type, their names masked."""
        counts: dict[str, int] = {}
        for name, count in unknown.items():
            masked = self.redact(name)
            counts[masked] = counts.get(masked, 0) + count
        return dict(sorted(counts.items()))

    def _title(self, title: str) -> str:
        masked = " ".join(scrub(self.redact(title)).split())
        return masked if len(masked) <= TITLE_CHARACTERS else f"{masked[: TITLE_CHARACTERS - 2]} …"

    def _details(self, session: Session, read: SessionReading) -> Record:
        """What the sessions screen shows; all of it masked, none of it empty."""
        details: Record = {
            "session": self.redact(session.id),
            "cwd": self.redact(session.cwd),
            "model": self.redact(session.model),
            "started": session.started,
            "ended": session.ended,
            "messages": session.counts.get("user", 0) + session.counts.get("assistant", 0),
            "counts": dict(session.counts),
            "bytes": session.size,
            "lines": session.lines,
            "parent": self.redact(session.parent),
            "kind": session.kind,
            "title_source": session.title_source,
            "unknown": self._counts(session.unknown),
            "repeated": session.repeated,
            "source_file": read.found.absolute,
            "within": read.found.within,
        }
        if session.bad_count:
            details["bad_lines"] = {
                "count": session.bad_count,
                "first": [[bad.line, bad.why] for bad in session.bad_lines],
            }
        return {name: value for name, value in details.items() if value not in ("", None, {}, 0)}


def _copied(recipe: dict[str, Any], found: dict[str, Found]) -> SessionIntake:
    intake = SessionIntake(**recipe)
    intake._found = found
    return intake


def _stat(read: SessionReading) -> StatKey:
    """The stat key that the index compares with; of a transcript that is read in part no file has it."""
    if not read.reading.is_partial:
        return read.stat
    return read.stat._replace(size=read.reading.end, mtime_ns=0)


def _may_resume(found: Found) -> bool:
    return found.growing and found.dialect not in ("opencode", "aider", "gemini")


def _usable(remembered: Remembered | None, build: str, origins: str) -> Growth | None:
    if remembered is None or remembered.growth is None or remembered.build != build:
        return None
    growth = remembered.growth
    if growth.origins != origins or remembered.chunks < growth.kept:
        return None
    return growth


def _origins_key(found: Found) -> str:
    if not found.origins:
        return ""
    return hashlib.sha256(repr(found.origins).encode("utf-8", "replace")).hexdigest()[:16]


def _chained(chain: str, rendered: Rendered) -> str:
    """The hash of lines with what came before them; the same however the lines are split."""
    digest = bytes.fromhex(chain) if chain else bytes(32)
    for line, number, time in zip(rendered.lines, rendered.line_map, rendered.times, strict=True):
        digest = hashlib.sha256(digest + f"{number}:{time}:{line}".encode("utf-8", "replace")).digest()
    return digest.hex()


def _warning(session: Session, unknown: Mapping[str, int]) -> str | None:
    """What of a transcript could not be read, in words."""
    words = []
    if session.bad_count:
        first = ", ".join(str(bad.line) for bad in session.bad_lines[:5] if bad.line)
        lines = "1 line is" if session.bad_count == 1 else f"{session.bad_count} lines are"
        words.append(f"{lines} no record" + (f" (line {first})" if first else ""))
    if unknown:
        kinds = ", ".join(f"{name} ×{count}" for name, count in list(unknown.items())[:5])
        words.append(f"records of unknown types: {kinds}")
    return "; ".join(words) or None
