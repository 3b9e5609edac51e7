"""Days of the calendar, and their first moments where the user is: a day has no time zone until it is looked at."""

from __future__ import annotations

from datetime import date, datetime, time
from functools import lru_cache

from core.regexes import late_regex

_DATE = late_regex(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")

_KEPT_DAYS = 20_000
"""Names whose days are remembered: a dated search, and a list of documents, looks at all names there are."""


def day_start_ms(day: date) -> int:
    """Epoch milliseconds of a local day's first moment."""
    try:
        return int(datetime.combine(day, time.min).timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return int((datetime.combine(day, time.min) - datetime(1970, 1, 1)).total_seconds() * 1000)


@lru_cache(maxsize=_KEPT_DAYS)
def day_in_name(path: str) -> date | None:
    """The first day (`YYYY-MM-DD`) in a file's name; None without one."""
    for year, month, day in _DATE.findall(path.rpartition("/")[2]):
        try:
            return date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None


def name_date_ms(path: str) -> int | None:
    """The day in a file's name as epoch ms of its local midnight, as the time zone is now; None without one."""
    day = day_in_name(path)
    return None if day is None else day_start_ms(day)
