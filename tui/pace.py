"""How fast the index grows: chunks in each second of work, and a line of blocks that shows them."""

from __future__ import annotations

from collections.abc import Sequence

from core import events, record

KEPT_SECONDS = 240
_PAUSE_SECONDS = 5
"""A longer pause between two events is no part of the work and leaves no gap."""
_BLOCKS = "▁▂▃▄▅▆▇█"


@record(frozen=True, slots=True)
class Pace:
    """`counts` are chunks per second of work, oldest first; `second` is the clock's second of the last of them."""

    second: int = 0
    counts: tuple[int, ...] = ()

    def after(self, event: events.Event) -> Pace:
        """The pace once `event` happened; only events that wrote something move it."""
        match event:
            case events.FileIndexed(chunks_new=amount) | events.EmbeddingProgressed(written=amount) if amount > 0:
                pass
            case _:
                return self
        second = event.at_ms // 1000
        gap = second - self.second
        if self.counts and gap <= 0:
            return Pace(self.second, (*self.counts[:-1], self.counts[-1] + amount))
        still = (0,) * (gap - 1) if self.counts and gap <= _PAUSE_SECONDS else ()
        return Pace(second, (*self.counts, *still, amount)[-KEPT_SECONDS:])

    @property
    def mean(self) -> float:
        return sum(self.counts) / len(self.counts) if self.counts else 0.0

    @property
    def top(self) -> int:
        return max(self.counts, default=0)

    def says(self) -> str:
        """`mean 14 · max 212 chunks/s`."""
        return f"mean {self.mean:,.0f} · max {self.top:,} chunks/s"


def spark(counts: Sequence[int], cells: int) -> str:
    """The last `cells` counts as blocks, the highest of them full."""
    seen = counts[-cells:] if cells > 0 else ()
    top = max(seen, default=0)
    return "".join(_BLOCKS[(count * (len(_BLOCKS) - 1) + top - 1) // top] if top else _BLOCKS[0] for count in seen)
