"""`memdeck index`: bring the index in step with the files, and say what was done."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import Progress, Status, SyncReport

_NAMED_AT_MOST = 10


@click.command("index")
@click.option("--force", is_flag=True, help="Index every file anew, also those that did not change.")
@click.option("--no-vectors", is_flag=True, help="Stop when the keyword index is done.")
@json_option
@scope_options
def command(*, scope: Scope, force: bool, no_vectors: bool, as_json: bool) -> int:
    """Bring the index in step with the files.

    Text is searchable by its words as soon as it is read; vectors for its meaning follow. Ctrl-C stops between two
    steps and keeps what is done: the next run goes on from there.
    """
    from core import SyncCancelled

    with opened(scope) as memory:
        started = time.monotonic()
        with _cancelled_by_signal() as (cancel, stopped_by), _progress_bar() as on_progress:
            try:
                report = memory.sync(
                    "force" if force else "manual",
                    force=force,
                    vectors=not no_vectors,
                    on_progress=on_progress,
                    cancel=cancel,
                )
            except SyncCancelled:
                if not stopped_by:
                    raise
                return _stopped(stopped_by[0])
        seconds = time.monotonic() - started
        status = memory.status()
    if as_json:
        output.print_json(_report_json(report, status, seconds))
    else:
        _print_report(report, status, seconds)
    return _stopped(stopped_by[0]) if stopped_by else output.OK


def _stopped(number: int) -> int:
    output.note("stopped; what was done is kept, and memdeck index goes on from there")
    return 128 + number


@contextmanager
def _cancelled_by_signal() -> Iterator[tuple[threading.Event, list[int]]]:
    """An event that Ctrl-C and SIGTERM set, and the signals that came; a second one ends the process at once."""
    cancel = threading.Event()
    came: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if came:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        came.append(number)
        cancel.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cancel, came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _progress_bar() -> AbstractContextManager[Callable[[Progress], None] | None]:
    if not sys.stderr.isatty():
        return nullcontext(None)
    from tui.cli.progress import progress_bar

    return progress_bar()


def _report_json(report: SyncReport, status: Status, seconds: float) -> dict[str, object]:
    answer: dict[str, object] = {
        "reason": report.reason,
        "scanned": report.scanned,
        "indexed": report.indexed,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "sourcesGone": report.sources_gone,
        "failed": [{"path": file.path, "error": file.error, "attempts": file.attempts} for file in status.failed],
        "skipped": [{"path": file.path, "kind": file.kind, "detail": file.detail} for file in status.skipped],
        "partial": [{"path": path, "warning": warning} for path, warning in _partial(status)],
        "chunksAdded": report.chunks_added,
        "chunksRemoved": report.chunks_removed,
        "vectorsMade": report.vectors_made,
        "vectorsCached": report.vectors_cached,
        "vectorsWaiting": report.vectors_waiting,
        "files": status.files,
        "chunks": status.chunks,
        "cancelled": report.cancelled,
        "seconds": {name: round(value, 4) for name, value in report.seconds.items()} | {"total": round(seconds, 4)},
    }
    if report.warning:
        answer["warning"] = report.warning
    return answer


def _print_report(report: SyncReport, status: Status, seconds: float) -> None:
    from core import skip_words

    changes = [
        output.count(report.indexed, "file") + " indexed" if report.indexed else "",
        f"{report.removed:,} removed" if report.removed else "",
        f"{report.sources_gone:,} kept though the source is gone" if report.sources_gone else "",
        f"{report.unchanged:,} unchanged" if report.unchanged else "",
    ]
    output.line((", ".join(part for part in changes if part) or "no files") + f" in {output.duration(seconds)}")
    if report.vectors_made or report.vectors_cached:
        made = output.count(report.vectors_made, "vector") + " made"
        output.line(made + (f", {report.vectors_cached:,} from the cache" if report.vectors_cached else ""))
    output.line(f"the index holds {output.count(status.files, 'file')} in {output.count(status.chunks, 'chunk')}")
    if report.vectors_waiting:
        output.line(f"{output.count(report.vectors_waiting, 'chunk')} without a vector yet")
    if report.warning:
        output.note(f"warning: {report.warning}")
    _name("failed", [(file.path, file.error) for file in status.failed])
    _name("read in part", _partial(status))
    _name("skipped", [(file.path, skip_words(file)) for file in status.skipped])


def _partial(status: Status) -> list[tuple[str, str]]:
    """Documents that could be read only in part, each with what was wrong."""
    warnings = status.custom.get("warnings")
    return [(str(one["path"]), str(one["warning"])) for one in warnings] if isinstance(warnings, list) else []


def _name(what: str, files: list[tuple[str, str]]) -> None:
    for path, reason in files[:_NAMED_AT_MOST]:
        output.note(f"{what}: {output.visible(path)}: {output.visible(reason)}")
    if len(files) > _NAMED_AT_MOST:
        output.note(f"{what}: {len(files) - _NAMED_AT_MOST:,} more; memdeck status --json names all")
