"""The state of the memory as rows of label and words."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from core import Status
from tui.state import DeckState
from tui.text import counted, shown

Row = tuple[str, str, str]
"""Label, words, style of the words."""

_HEALTH = {"healthy": ("OK", "$success"), "degraded": ("DEGRADED", "$warning"), "down": ("DOWN", "$error")}


def status_content(state: DeckState) -> Content:
    """Everything that the status screen says, one row each; wide cells wrap by themselves."""
    status = state.status
    if status is None:
        return Content.styled("Opening the index…", "$text-muted")
    rows = [*_health(status), *_counts(status, state), *_parts(status, state), *_troubles(status)]
    return Content("\n").join(
        Content.assemble((f"{label:<9} ", "$text-muted"), (shown(words), style)) for label, words, style in rows
    )


def _health(status: Status) -> list[Row]:
    word, style = _HEALTH[status.health]
    return [("health", ": ".join(filter(None, (word, "; ".join(status.reasons)))), style)]


def _counts(status: Status, state: DeckState) -> list[Row]:
    per_source = ", ".join(f"{row.source} {row.files:,}" for row in status.source_counts)
    rows = [("files", f"{status.files:,}" + (f" ({per_source})" if per_source else ""), "")]
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
    asked = "" if status.requested_provider in ("", status.provider) else f" (asked for: {status.requested_provider})"
    writer = status.writer.get("pid")
    return [
        ("provider", " · ".join(filter(None, (model + asked, _destination(status)))), ""),
        ("words", _onoff(status.fts), _style(status.fts)),
        ("meaning", _onoff(status.vector), _style(status.vector)),
        ("cache", _amounts(status.cache), ""),
        *_identity(status),
        *_recovery(status),
        ("watching", _watching(status.watcher), ""),
        ("writer", "this process" if state.own_writer else f"another process, pid {writer}; this one follows", ""),
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


def _recovery(status: Status) -> list[Row]:
    counts = status.custom.get("readonlyRecovery")
    if not isinstance(counts, Mapping) or not counts.get("attempts"):
        return []
    words = f"{counts['attempts']} tried, {counts.get('successes')} done, {counts.get('failures')} failed"
    error = counts.get("lastError")
    style = "$warning" if counts.get("failures") else ""
    return [("recovery", f"{words} · last: {error}" if error else words, style)]


def _troubles(status: Status) -> list[Row]:
    rows: list[Row] = []
    if status.fallback:
        rows.append(("fallback", ", ".join(f"{key} {value}" for key, value in status.fallback.items()), "$warning"))
    reason = status.custom.get("providerUnavailableReason")
    if reason:
        rows.append(("", str(reason), "$warning"))
    problems = status.custom.get("scanProblems")
    rows += [("", str(problem), "$warning") for problem in problems[:3]] if isinstance(problems, list) else []
    for failure in status.failed[:3]:
        rows.append(("FAILED", f"{failure.path}: {failure.error}", "$error"))
    if len(status.failed) > 3:
        rows.append(("", f"and {len(status.failed) - 3} more: the files screen lists them", "$error"))
    if status.skipped or status.ignored:
        ignored = sum(status.ignored.values())
        rows.append(
            (
                "left out",
                f"{counted(len(status.skipped), 'file')} skipped, {counted(ignored, 'folder')} ignored",
                "$text-muted",
            )
        )
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
    return f"{entries:,} vectors" + (f" of {bound:,}" if bound else "") + found
