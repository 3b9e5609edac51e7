"""A progress bar on standard error, for terminals only: Rich is imported here and nowhere else on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from tui.cli.output import duration, visible

if TYPE_CHECKING:
    from core import Progress


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """A bar that follows what it is told, from any thread, four times a second; it leaves nothing behind."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[amount]}", markup=False),
        TextColumn("{task.fields[pace]}", markup=False, style="dim"),
    )
    with Bars(*columns, console=Console(file=sys.stderr), transient=True, refresh_per_second=4) as bars:
        task = bars.add_task("looking at files", total=None, amount="", pace="")

        def follow(progress: Progress) -> None:
            bars.update(
                task,
                description=visible(progress.label),
                completed=progress.completed,
                total=progress.total or None,
                amount=_amount(progress),
                pace=_pace(progress),
            )

        yield follow


def _amount(progress: Progress) -> str:
    if not progress.total:
        return ""
    return f"{progress.completed / progress.total:4.0%} {progress.completed:,}/{progress.total:,}"


def _pace(progress: Progress) -> str:
    parts = []
    if progress.rate is not None:
        parts.append(f"{progress.rate:,.0f}/s")
    if progress.seconds_left is not None:
        parts.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(parts)
