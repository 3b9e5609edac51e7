"""MEMDECK_TRACE=FILE: every 100 ms one JSON line of how late the event loop was and how many bytes the terminal got."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

from textual.drivers.linux_driver import LinuxDriver

INTERVAL_SECONDS = 0.1


@dataclass(slots=True)
class ByteCount:
    """How many bytes went to the terminal."""

    total: int = 0


def counting_driver(count: ByteCount) -> type[LinuxDriver]:
    """Textual's terminal driver, which also counts what it writes."""

    class CountingDriver(LinuxDriver):
        def write(self, data: str) -> None:
            count.total += len(data.encode("utf-8", "replace"))
            super().write(data)

    return CountingDriver


async def trace_loop(file: Path, count: ByteCount) -> None:
    """Write lines {t: epoch seconds, lag_ms, bytes: since the last line} until cancelled."""
    with file.open("a", encoding="utf-8", buffering=1) as out:
        before = count.total
        while True:
            began = time.monotonic()
            await asyncio.sleep(INTERVAL_SECONDS)
            lag = max(0.0, time.monotonic() - began - INTERVAL_SECONDS)
            now, before_now = count.total, before
            before = now
            line = {"t": round(time.time(), 3), "lag_ms": round(lag * 1000, 2), "bytes": now - before_now}
            out.write(json.dumps(line) + "\n")
