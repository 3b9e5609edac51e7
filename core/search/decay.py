"""Temporal decay: dated text loses score with age."""

from __future__ import annotations

import math
from datetime import date, datetime

from core.search.rows import FileInfo


def local_day(epoch_ms: int) -> date | None:
    """The local day of a moment; None outside the calendar."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000).date()
    except (OverflowError, ValueError, OSError):
        return None


def text_date_ms(file: FileInfo, observed_ms: int | None) -> int | None:
    """When a text was said: its own time, else the date in its document's name (epoch ms); None for undated."""
    return observed_ms if observed_ms is not None else file.date_ms


def decay_factor(file: FileInfo, observed_ms: int | None, *, today: date, half_life_days: float) -> float:
    """2^(−age/half-life), age in whole local days; 1.0 for evergreen text and for the future.

    `MEMORY.md` and undated files of the workspace are evergreen; undated transcripts and files of extra paths age by
    their last change.
    """
    moment = text_date_ms(file, observed_ms)
    if moment is None:
        if file.source == "memory" and not file.path.startswith("/"):
            return 1.0
        moment = file.mtime_ns // 1_000_000
    day = local_day(moment)
    if day is None:
        return 1.0
    return math.exp(-math.log(2) / half_life_days * max(0, (today - day).days))
