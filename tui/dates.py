"""The date filter of the search: the spans that one key walks through, and what may be typed instead."""

from __future__ import annotations

from core import parse_query, record


@record(frozen=True, slots=True)
class DateFilter:
    """`label` is what the screen says; `filters` is what goes before the query, "" for any time."""

    label: str = "any time"
    filters: str = ""

    def applied_to(self, query: str) -> str:
        """The query with this filter laid over those of its own: a hit must pass both."""
        return f"{self.filters} {query}" if self.filters and query.strip() else query


ANY_TIME = DateFilter()
SPANS = (
    ANY_TIME,
    DateFilter("since yesterday", "after:yesterday"),
    DateFilter("7 days", "after:7d"),
    DateFilter("30 days", "after:30d"),
    DateFilter("1 year", "after:1y"),
)


def next_span(current: DateFilter) -> DateFilter | None:
    """The span after `current`; None after the last, where dates are typed; any time after typed ones."""
    if current not in SPANS:
        return ANY_TIME
    index = SPANS.index(current) + 1
    return SPANS[index] if index < len(SPANS) else None


def typed_dates(text: str) -> DateFilter | None:
    """`after:` and `before:` as in a query, or a day, month, year or age alone, which is where the span begins.

    Nothing typed is any time; None for what is neither.
    """
    if not text.strip():
        return ANY_TIME
    read = parse_query(text if ":" in text else f"after:{text.strip()}")
    if read.text or not (read.filters.after or read.filters.before):
        return None
    filters = " ".join(read.typed_filters)
    return DateFilter(filters, filters)
