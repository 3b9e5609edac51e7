"""MEMDECK_TRACE=FILE: every 100 ms one JSON line of how late the event loop was and how many bytes the terminal got."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path

from textual.drivers.linux_driver import LinuxDriver

INTERVAL_SECONDS = 0.1


class Trace:
    """Counts what `driver` writes; appends lines {t: epoch seconds, lag_ms, bytes: since the last line} to a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.bytes_written = 0

    @classmethod
    def asked_for(cls, environ: Mapping[str, str]) -> Trace | None:
        file = environ.get("MEMDECK_TRACE")
        return cls(Path(file)) if file else None

    @property
    def driver(self) -> type[LinuxDriver]:
        """Textual's terminal driver, counted."""
        trace = self

        class CountingDriver(LinuxDriver):
            def write(self, data: str) -> None:
                trace.bytes_written += len(data.encode("utf-8", "replace"))
                super().write(data)

        return CountingDriver

    async def run(self) -> None:
        """Write lines until cancelled. Raises OSError when the file cannot be written."""
        with self._file.open("a", encoding="utf-8", buffering=1) as out:
            before = self.bytes_written
            while True:
                began = time.monotonic()
                await asyncio.sleep(INTERVAL_SECONDS)
                lag = max(0.0, time.monotonic() - began - INTERVAL_SECONDS)
                now = self.bytes_written
                line = {"t": round(time.time(), 3), "lag_ms": round(lag * 1000, 2), "bytes": now - before}
                out.write(json.dumps(line) + "\n")
                before = now
