"""How fluid typing stays while an index is made: `typing_lag.py --files 3000` types in the app on a pseudo-terminal.

First in an app with nothing to do, on the sample workspace; then in one that reads and embeds a grown workspace with
the local model. For both: how late the app's event loop was (MEMDECK_TRACE, one figure each 100 ms), and the time from
a key to its letter on the terminal. Milliseconds. The second app is left when `--seconds` are over or all is done.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from grow import grow
from pty_app import ROOT, PtyApp, first_in_line, quiet_environ

from core import open_memory

_SAMPLE = ROOT / "tui" / "cli" / "demo" / "workspace"
_WORDS = ("certificate", "gateway queue", "why not forecasts", "tide gauge", "firmware", "harbour", "store and forward")
_KEY_SECONDS = 0.15
_ERASE = "\x15"
LIMIT_MS = 50.0


def percentiles(values: Sequence[float]) -> dict[str, float | int]:
    """Count, median, 95th and 99th percentile, and the largest."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)

    return {"count": len(ordered), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": round(ordered[-1], 1)}


def keys() -> Iterator[str]:
    """Letters of queries, each query wiped before the next."""
    for words in itertools.cycle(_WORDS):
        yield from words
        yield _ERASE


def type_for(app: PtyApp, seconds: float, done: Path | None = None) -> list[float]:
    """Type like a quick typist; milliseconds from each letter to its paint."""
    until = time.monotonic() + seconds
    took: list[float] = []
    for key in keys():
        if time.monotonic() > until or app.ended or (done is not None and done.exists()):
            return took
        pressed, seen = app.press(key)
        if key not in (_ERASE, " "):
            painted = app.painted(key, seen, 5.0)
            took.append(5000.0 if painted is None else (painted - pressed) * 1000)
        app.forget()
        time.sleep(max(0.0, _KEY_SECONDS - (time.perf_counter() - pressed)))
    return took


def lags(trace: Path, start: float, end: float) -> list[float]:
    """The loop lags between two moments (epoch seconds)."""
    lines = (json.loads(line) for line in trace.read_text().splitlines())
    return [line["lag_ms"] for line in lines if start <= line["t"] <= end]


def counts(store: Path, workspace: Path) -> tuple[int, int, int]:
    """Files and chunks of an index, and chunks without a vector."""
    memory = open_memory(workspace=workspace, store=store, environ={}, home=store.parent)
    try:
        status = memory.status()
        return status.files, status.chunks, status.pending
    finally:
        memory.close()


def run(home: Path, workspace: Path, seconds: float, *, alone: bool) -> dict[str, object]:
    """Type in an app on `workspace` for so long; all figures."""
    home.mkdir()
    trace, store = home / "trace.jsonl", home / "index.sqlite"
    app = PtyApp(
        [sys.executable, "-m", "tui", "--workspace", str(workspace), "--store", str(store)],
        quiet_environ(home, MEMDECK_TRACE=str(trace)),
    )
    try:
        with first_in_line(app.pid, os.getpid()) if alone else contextlib.nullcontext():
            app.wait_for("palette")
            cpu, began, start = app.cpu_seconds, time.monotonic(), time.time()
            took = type_for(app, seconds)
            end, elapsed, cpu = time.time(), time.monotonic() - began, app.cpu_seconds - cpu
        files, chunks, pending = counts(store, workspace)
    finally:
        code = app.quit()
    late = lags(trace, start, end)
    return {
        "loopLagMs": percentiles(late),
        "loopLagThirdsP95": [
            percentiles(late[n * len(late) // 3 : (n + 1) * len(late) // 3]).get("p95") for n in range(3)
        ],
        "keyToPaintMs": percentiles(took),
        "seconds": round(elapsed, 1),
        "cores": round(cpu / elapsed, 2),
        "files": files,
        "chunks": chunks,
        "withoutVector": pending,
        "exitCode": code,
    }


def measure(files: int, megabytes: float, seconds: float, idle_seconds: float, *, alone: bool) -> dict[str, object]:
    """Both apps, and how the second compares with the first."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(_SAMPLE, root / "sample")
        grow(_SAMPLE, root / "grown", files=files, size=int(megabytes * 1e6), seed=1)
        idle = run(root / "idle", root / "sample", idle_seconds, alone=alone)
        busy = run(root / "busy", root / "grown", seconds, alone=alone)
    idle_p95, busy_p95 = (float(part["loopLagMs"]["p95"]) for part in (idle, busy))  # type: ignore[index]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "idle": idle,
        "indexing": busy,
        "lagRatio": round(busy_p95 / max(idle_p95, 0.1), 1),
        "withinLimit": busy_p95 < LIMIT_MS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--mb", type=float, default=22.0, help="megabytes of the grown workspace (10^6 bytes)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to type while the index is made")
    parser.add_argument("--idle-seconds", type=float, default=15.0, help="how long to type in the idle app")
    parser.add_argument("--alone", action="store_true", help="before all other processes of a shared machine (as root)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.files, options.mb, options.seconds, options.idle_seconds, alone=options.alone)
    print(json.dumps(figures, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
