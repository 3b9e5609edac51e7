"""What reading a huge file takes: `reading.py --mb 200` opens, searches and pages through files in the app on a pty.

A note is indexed while it is small, then it grows: to lines of 2 kB, to short lines, to lines of 12 MiB. For each: the
time from the query to the file on the screen, from Enter to the first match (in the middle) and to the end of the
search, how late the app's event loop was meanwhile (MEMDECK_TRACE, one figure each 100 ms), and its growth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from pty_app import PtyApp, quiet_environ
from typing_lag import lags, percentiles

from core import open_memory

_CHILD = """
import sys
from pathlib import Path
from core import open_memory
from tui.app import AppOptions, run_app
root = Path(sys.argv[1])
memory = open_memory(
    workspace=root / "ws", store=root / "index.sqlite", environ={}, home=root / "home",
    flags={"provider": "none", "sync.watch": False}, resident=True,
)
sys.exit(run_app(memory, options=AppOptions(start=False)))
"""
_WORDS = b"some words on a line, and some more "
_LINES: Mapping[str, int] = {"2 kB": 2000, "50 B": 50, "12 MiB": 12 << 20}
_SECONDS = 300.0


def grow(note: Path, size: int, length: int) -> int:
    """Let a note grow by `size` bytes in lines of `length`, one in the middle of its own; gives its lines."""
    line = (_WORDS * (length // len(_WORDS) + 1))[: length - 1] + b"\n"
    block = line * max(1, (1 << 20) // length)
    with note.open("ab") as out:
        for number in range(size // len(block) + 1):
            out.write(block)
            if number == size // len(block) // 2:
                out.write(b"here a zebra crosses\n")
    with note.open("rb") as source:
        return sum(data.count(b"\n") for data in iter(lambda: source.read(1 << 20), b""))


def peak_mb(app: PtyApp) -> float:
    status = Path(f"/proc/{app.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run(root: Path, size: int, length: int) -> dict[str, object]:
    """All figures of one file."""
    note = root / "ws" / "memory" / "note.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Note\n\nquayside\n")
    memory = open_memory(
        workspace=root / "ws", store=root / "index.sqlite", environ={}, home=root / "home", flags={"provider": "none"}
    )
    memory.sync()
    memory.close()
    count, trace = grow(note, size, length), root / "trace.jsonl"
    app = PtyApp([sys.executable, "-c", _CHILD, str(root)], quiet_environ(root, MEMDECK_TRACE=str(trace)))
    try:
        app.wait_for("palette")
        time.sleep(1)
        before, start = app.use().rss_mb, time.time()
        pressed, seen = app.press("quayside")
        opened = app.painted(f"{count:,} lines", seen, _SECONDS)
        time.sleep(6)  # its outline
        found_from, open_mb = time.time(), peak_mb(app) - before
        app.press("\t\r")
        time.sleep(0.5)
        app.press("f")
        time.sleep(0.5)
        app.press("zebra crosses")
        time.sleep(0.5)
        asked, seen = app.press("\r")
        first = app.painted("a zebra crosses", seen, _SECONDS)
        ended = app.painted("1/1 found", seen, _SECONDS)
        found_until = time.time()
        find_mb = peak_mb(app) - before - open_mb
        for _ in range(20):
            app.press("\x1b[6~")
            time.sleep(0.15)
        paged_until = time.time()
    finally:
        code = app.quit()
    return {
        "lines": count,
        "megabytes": round(note.stat().st_size / 1e6),
        "openMs": None if opened is None else round((opened - pressed) * 1000),
        "firstMatchMs": None if first is None else round((first - asked) * 1000),
        "allMatchesMs": None if ended is None else round((ended - asked) * 1000),
        "openLagMs": percentiles(lags(trace, start, found_from)),
        "findLagMs": percentiles(lags(trace, found_from, found_until)),
        "pageLagMs": percentiles(lags(trace, found_until, paged_until)),
        "openGrowthMb": round(open_mb, 1),
        "findGrowthMb": round(find_mb, 1),
        "exitCode": code,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--mb", type=float, default=200.0, help="megabytes of each file (10^6 bytes)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = {}
    for name, length in _LINES.items():
        with tempfile.TemporaryDirectory() as folder:
            figures[f"lines of {name}"] = run(Path(folder), int(options.mb * 1e6), length)
    print(json.dumps(figures, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
