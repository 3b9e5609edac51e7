"""Values that cross threads: frozen, slotted, and free of behaviour beyond small derivations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from core.identity import EmbeddingIdentity as EmbeddingIdentity
from core.identity import IndexIdentity as IndexIdentity
from core.records import record
from core.regexes import late_regex

Source = Literal["memory", "sessions"]
SearchMode = Literal["hybrid", "keyword", "semantic"]
CitationMode = Literal["on", "off", "auto"]
SyncReason = Literal[
    "session-start", "search", "watch", "interval", "session-delta", "post-compaction", "manual", "force"
]
HealthState = Literal["healthy", "degraded", "down"]
GetStatus = Literal["ok", "empty", "missing", "denied", "not_allowed"]

_CITATION = late_regex(
    r"^(?P<path>.+?)(?:#L(?P<start>\d+)(?:-L?(?P<end>\d+))?|:(?P<line>\d+)(?:-(?P<last>\d+))?)$", re.S
)


class StatKey(NamedTuple):
    """What `stat` says of a file; equal keys save reading it. Sizes in bytes, times in nanoseconds."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class ScannedFile(NamedTuple):
    """A file that a scan found: `path` is the document's path (SPEC §1), `absolute` where it lies."""

    source: Source
    path: str
    absolute: str
    stat: StatKey


@record(frozen=True, slots=True)
class SkippedPath:
    """A path that is not indexed, why (one word: symlink, fifo, directory, duplicate, undecodable…) and in words."""

    path: str
    kind: str
    detail: str


@record(frozen=True, slots=True)
class Scan:
    """What is on disk now.

    `uncertain` holds document-path prefixes whose contents could not be read (an absent root, a folder without
    permission): rows below them are kept. The prefix "" stands for every workspace-relative path.
    `ignored` counts the folders not entered, by name; `ignored_folders` are the paths of the first of them.
    """

    files: tuple[ScannedFile, ...]
    skipped: tuple[SkippedPath, ...] = ()
    uncertain: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    ignored_folders: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Chunk:
    """A run of whole lines of a document, or a piece of one long line. Lines are 1-based and inclusive.

    `heading` is the Markdown heading path, outermost first. `line_map[i]` is the physical line of the chunk's i-th
    text line where these differ (transcripts); empty means start_line + i. `observed_ms` dates the text (epoch ms),
    None where only the document knows; where its lines were said at several times it is the last of these, and
    `observed_from_ms` the first.
    """

    ordinal: int
    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...] = ()
    line_map: tuple[int, ...] = ()
    observed_ms: int | None = None
    observed_from_ms: int | None = None


@record(frozen=True, slots=True)
class Document:
    """One file of a source, read and decoded, ready for chunking.

    `hash` is the sha256 hex of the bytes (for transcripts: of the rendered text and line map). `date_ms` is
    when a session began (epoch ms); a note is dated by the day in its name. `details` is JSON of what only the source
    knows. `line_count` is given where `text` does not tell it. More is to be read of a partial one.
    """

    source: Source
    path: str
    absolute: str
    stat: StatKey
    hash: str
    text: str
    warning: str | None = None
    date_ms: int | None = None
    dialect: str | None = None
    title: str | None = None
    details: str | None = None
    line_count: int | None = None
    is_partial: bool = False

    @property
    def lines_in_all(self) -> int:
        """How many lines it has; a last one without an end counts."""
        if self.line_count is not None:
            return self.line_count
        return self.text.count("\n") + (self.text != "" and not self.text.endswith("\n"))


@record(frozen=True, slots=True)
class Citation:
    """`path#L12` or `path#L12-L20`: where a text stands. Lines are 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int

    def __str__(self) -> str:
        if self.start_line == self.end_line:
            return f"{self.path}#L{self.start_line}"
        return f"{self.path}#L{self.start_line}-L{self.end_line}"

    @classmethod
    def parse(cls, text: str) -> Citation | None:
        """Read `path#L12`, `path#L12-L20`, `path:12` or `path:12-20`; None if it names no line."""
        match = _CITATION.match(text)
        if match is None:
            return None
        start = int(match["start"] or match["line"])
        end = int(match["end"] or match["last"] or start)
        return cls(match["path"], start, end) if 1 <= start <= end else None


@record(frozen=True, slots=True)
class ScoreParts:
    """Why a hit stands where it stands.

    `vector` = max(0, cosine), None when the chunk has no vector or none was asked for; `text` = r/(1+r) with
    r = −bm25, None when no query word matched; `matched` are the query words found; `literal` marks a literal match
    of the whole query; `decay` multiplies (1.0 = none); `diversity` is the MMR penalty taken, None when off;
    `evidence` names the raw parts before the logistic (bm25, substring, pairs, identifiers, z-scores…).
    """

    score: float
    vector: float | None = None
    text: float | None = None
    literal: bool = False
    decay: float = 1.0
    diversity: float | None = None
    matched: tuple[str, ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)

    def explain(self) -> str:
        """One line for people: what carried this hit."""
        words = []
        if self.literal:
            words.append("literal match of the query")
        if self.text is not None:
            words.append(
                f"words {self.text:.2f} ({', '.join(self.matched)})" if self.matched else f"words {self.text:.2f}"
            )
        if self.vector is not None:
            words.append(f"meaning {self.vector:.2f}")
        if self.decay < 1.0:
            words.append(f"age ×{self.decay:.2f}")
        if self.diversity is not None:
            words.append(f"diversity −{self.diversity:.2f}")
        return "; ".join(words) or "no evidence recorded"


@record(frozen=True, slots=True)
class Hit:
    """A chunk, or merged neighbours, that answers a query.

    `line` is the line that matches best (start_line for a purely semantic hit). `snippet` is original text, up to
    700 characters around the match. `date_ms` dates the text, None for undated. `document_hash` is the hash of the
    document when it was indexed, so that a viewer can tell a stale citation. `source_gone`: the transcript is gone.
    """

    chunk_id: int
    source: Source
    path: str
    start_line: int
    end_line: int
    line: int
    score: float
    parts: ScoreParts
    snippet: str
    heading: tuple[str, ...] = ()
    date_ms: int | None = None
    dialect: str | None = None
    document_hash: str = ""
    source_gone: bool = False

    @property
    def citation(self) -> Citation:
        return Citation(self.path, self.start_line, self.end_line)


@record(frozen=True, slots=True)
class SearchRequest:
    """What is asked. None takes the setting. `sources` None means all that are indexed."""

    query: str
    mode: SearchMode = "hybrid"
    max_results: int | None = None
    min_score: float | None = None
    sources: tuple[Source, ...] | None = None
    session_key: str | None = None
    deadline_ms: int | None = None


@record(frozen=True, slots=True)
class SearchResult:
    """What was found. `mode` is what was really done; `partial` marks keyword hits shown before the query's vector.

    `milliseconds` has keyword, embed, vector, rank, snippet, total. `pending` counts chunks that wait for a vector.
    `catching_up` says that files changed and the index has not followed yet. `terms` are the words to mark.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    mode: SearchMode = "hybrid"
    partial: bool = False
    warning: str | None = None
    provider: str = ""
    model: str = ""
    fallback: Mapping[str, str] | None = None
    pending: int = 0
    catching_up: bool = False
    terms: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    candidates: int = 0
    milliseconds: Mapping[str, float] = field(default_factory=dict)


@record(frozen=True, slots=True)
class GetResult:
    """Lines of an indexed document, or why there are none. `from_line` is 1-based; `lines` counts those returned."""

    path: str
    status: GetStatus
    from_line: int = 1
    lines: int = 0
    text: str = ""
    truncated: bool = False
    next_from: int | None = None
    error: str | None = None
    source_gone: bool = False


@record(frozen=True, slots=True)
class FileFailure:
    """A file that could not be indexed; it is tried again. `at_ms` is epoch milliseconds."""

    source: Source
    path: str
    error: str
    attempts: int
    at_ms: int


@record(frozen=True, slots=True)
class Progress:
    """How far long work is. completed <= total always; `rate` per second and `seconds_left` None while unknown."""

    completed: int
    total: int
    label: str
    rate: float | None = None
    seconds_left: float | None = None


@record(frozen=True, slots=True)
class SyncReport:
    """What a sync did. `seconds` has scan, read, keyword, embed; counts are documents unless named otherwise."""

    reason: SyncReason
    scanned: int = 0
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    skipped: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    vectors_made: int = 0
    vectors_cached: int = 0
    vectors_waiting: int = 0
    cancelled: bool = False
    warning: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    sources_gone: int = 0


@record(frozen=True, slots=True)
class SourceCount:
    source: Source
    files: int
    chunks: int
    sources_gone: int = 0


@record(frozen=True, slots=True)
class IndexedDocument:
    """A row of the files screen: what the index knows of one document.

    `waiting` chunks have no vector yet, `refused` ones get none.
    """

    source: Source
    path: str
    size: int
    mtime_ns: int
    chunks: int
    lines: int
    indexed_ms: int
    warning: str | None = None
    title: str | None = None
    dialect: str | None = None
    source_gone: bool = False
    date_ms: int | None = None
    waiting: int = 0
    refused: int = 0


@record(frozen=True, slots=True)
class Status:
    """The state of one memory (SPEC §13). Mappings hold JSON-ready values under the reference's camelCase keys."""

    backend: str
    provider: str
    model: str
    requested_provider: str
    files: int
    chunks: int
    pending: int
    dirty: bool
    workspace_dir: str
    db_path: str
    db_bytes: int
    sources: tuple[str, ...]
    extra_paths: tuple[str, ...]
    source_counts: tuple[SourceCount, ...]
    vector: Mapping[str, object]
    fts: Mapping[str, object]
    cache: Mapping[str, object]
    batch: Mapping[str, object]
    custom: Mapping[str, object]
    watcher: Mapping[str, object]
    writer: Mapping[str, object]
    failed: tuple[FileFailure, ...] = ()
    skipped: tuple[SkippedPath, ...] = ()
    fallback: Mapping[str, str] | None = None
    health: HealthState = "healthy"
    reasons: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@record(frozen=True, slots=True)
class Finding:
    """One result of `doctor`: what was checked, whether it holds, and the remedy when it does not."""

    check: str
    ok: bool
    detail: str
    remedy: str = ""
