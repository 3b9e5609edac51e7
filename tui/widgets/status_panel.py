"""The state of the memory as rows of label and words."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from core import Status
from tui.event_log import log_line
from tui.state import DeckState
from tui.text import counted
from tui.widgets.text_pane import LabelRow, laid_out

Row = tuple[str, str, str]
"""Label, words, style of the words."""
LABEL_CELLS = 10

_HEALTH = {"healthy": ("OK", "$success"), "degraded": ("DEGRADED", "$warning"), "down": ("DOWN", "$error")}


def status_text(state: DeckState, width: int) -> Content:
    """The rows of the status in so many cells."""
    return laid_out(status_rows(state), LABEL_CELLS, width)


def status_rows(state: DeckState) -> list[LabelRow]:
    """Everything that the status screen says, one row each."""
    status = state.status
    if status is None:
        return [LabelRow(None, "Opening the index…", "$text-muted")]
    rows = [*_health(status), *_counts(status, state), *_parts(status, state), *_left_out(status)]
    return [LabelRow(*row) for row in rows]


def _health(status: Status) -> list[Row]:
    word, style = _HEALTH[status.health]
    reasons = counted(len(status.findings), "reason") + ", with what to do: tab" if status.findings else ""
    return [("health", " · ".join(filter(None, (word, reasons))), style)]


def _counts(status: Status, state: DeckState) -> list[Row]:
    per_source = ", ".join(f"{row.source} {row.files:,}" for row in status.source_counts)
    rows = [("files", f"{status.files:,}" + (f" ({per_source})" if per_source else ""), "")]
    changed = status.custom.get("changedFiles")
    if isinstance(changed, int) and changed:
        rows[0] = ("files", f"{rows[0][1]} · {counted(changed, 'file differs', 'files differ')} from the index", "")
    without = "found by words only" if status.provider in ("", "none") else "all with a vector"
    waiting = f"{state.waiting:,} wait for a vector" if state.waiting else without
    rows.append(("chunks", f"{status.chunks:,} · {waiting}", ""))
    if state.embedding is not None and state.embedding.rate:
        progress = state.embedding
        left = "" if progress.seconds_left is None else f", {progress.seconds_left:,.0f} s left"
        rows.append(("vectors", f"{progress.completed:,}/{progress.total:,} · {progress.rate:.1f}/s{left}", "$accent"))
    return rows


def _parts(status: Status, state: DeckState) -> list[Row]:
    model = " · ".join(filter(None, (status.provider, status.model)))
    as_asked = status.requested_provider in ("", "auto", status.provider)
    asked = "" if as_asked else f" (asked for: {status.requested_provider})"
    writer = status.writer.get("pid")
    return [
        ("watching", _watching(status.watcher), ""),
        ("writer", "this process" if state.own_writer else f"another process, pid {writer}; this one follows", ""),
        *_synced(state),
        ("provider", " · ".join(filter(None, (model + asked, _destination(status)))), ""),
        ("words", _onoff(status.fts), _style(status.fts)),
        ("meaning", _onoff(status.vector), _style(status.vector)),
        ("cache", _amounts(status.cache), ""),
        *_identity(status),
        *_recovery(status),
        ("index", f"{status.db_path} · {status.db_bytes / 1e6:,.1f} MB", ""),
        ("folder", " · ".join((status.workspace_dir, *status.extra_paths)), ""),
    ]


def _identity(status: Status) -> list[Row]:
    """What the vectors of the index were made with, and whether that is still what is asked for."""
    identity = status.custom.get("indexIdentity")
    if not isinstance(identity, Mapping):
        return []
    stored, reason = identity.get("stored"), identity.get("reason")
    if reason:
        return [("identity", f"differs: {reason}", "$warning")]
    return [("identity", str(stored), "")] if stored else []


def _synced(state: DeckState) -> list[Row]:
    """The last sync that this app saw end."""
    line = log_line(state.synced) if state.synced is not None else None
    return [] if line is None else [("synced", f"{line.clock} · {line.subject} · {line.detail}", "")]


def _recovery(status: Status) -> list[Row]:
    counts = status.custom.get("readonlyRecovery")
    if not isinstance(counts, Mapping) or not counts.get("attempts"):
        return []
    words = f"{counts['attempts']} tried, {counts.get('successes')} done, {counts.get('failures')} failed"
    error = counts.get("lastError")
    style = "$warning" if counts.get("failures") else ""
    return [("recovery", f"{words} · last: {error}" if error else words, style)]


def _left_out(status: Status) -> list[Row]:
    """Amounts of what is not indexed; the files stand in a list of their own."""
    rows: list[Row] = []
    if status.fallback:
        rows.append(("fallback", ", ".join(f"{key} {value}" for key, value in status.fallback.items()), "$warning"))
    if status.failed:
        rows.append(("FAILED", counted(len(status.failed), "file"), "$error"))
    if status.skipped or status.ignored:
        ignored = sum(status.ignored.values())
        amounts = f"{counted(len(status.skipped), 'file')} skipped, {counted(ignored, 'folder')} ignored"
        rows.append(("left out", amounts, "$text-muted"))
    return rows


def _destination(status: Status) -> str:
    where = status.custom.get("textGoesTo")
    return f"text goes to {where}" if where else ""


def _watching(watcher: Mapping[str, object]) -> str:
    folders = watcher.get("folders")
    amount = counted(folders, "folder") if isinstance(folders, int) and folders else ""
    return " · ".join(filter(None, (str(watcher.get("mode") or "off"), amount, str(watcher.get("reason") or ""))))


def _onoff(part: Mapping[str, object]) -> str:
    state = "on" if _is_on(part) else "OFF"
    dims = part.get("dims")
    details = [f"{dims} dims"] if dims else []
    details += [str(part[key]) for key in ("error", "loadError", "reason") if part.get(key)]
    return " · ".join([state, *details])


def _style(part: Mapping[str, object]) -> str:
    return "" if _is_on(part) else "$warning"


def _is_on(part: Mapping[str, object]) -> bool:
    return bool(part.get("semanticAvailable", part.get("available", part.get("enabled"))))


def _amounts(part: Mapping[str, object]) -> str:
    if not part.get("enabled", True):
        return "off"
    entries, bound = part.get("entries"), part.get("maxEntries")
    if not isinstance(entries, int):
        return "on"
    rate = part.get("hitRate")
    found = f" · {rate:.0%} found there" if isinstance(rate, int | float) else ""
    return counted(entries, "vector") + (f" of {bound:,}" if bound else "") + found
