"""How soon a saved file is found: `freshness.py` follows a made workspace and searches for what was just written.

Milliseconds from the save to the first hit, at rest and while vectors are being made; then a storm of file events,
after which the index is compared with the files, and the same before the eyes of the app on a terminal, with how late
its event loop was; and what a memory costs that only watches.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from pty_app import PtyApp, first_in_line, quiet_environ
from typing_lag import lags, percentiles

from core import Memory, SearchRequest, open_memory


def make_workspace(root: Path, files: int) -> Path:
    """A workspace with `files` notes of about 1.5 kB."""
    workspace = root / "ws"
    for number in range(files):
        path = workspace / f"memory/{number % 20:02}/{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n" + f"The quick brown fox number {number} jumps over the lazy dog.\n" * 25)
    return workspace


def opened(workspace: Path, store: Path, provider: str) -> Memory:
    return open_memory(
        workspace=workspace, store=store, environ={}, home=store.parent, flags={"provider": provider}, resident=True
    )


def milliseconds_to_find(memory: Memory, path: Path) -> float:
    """Save a word that nobody has used, and search for it until it is found."""
    word = f"w{uuid.uuid4().hex}"
    with path.open("a") as file:
        file.write(f"{word}\n")
    started = time.perf_counter()
    while not memory.search(SearchRequest(word, mode="keyword")).hits:
        if time.perf_counter() - started > 60:
            raise SystemExit(f"freshness.py: {path} was never found")
        time.sleep(0.01)
    return (time.perf_counter() - started) * 1000


def spread(times: list[float]) -> dict[str, float | int]:
    """Count, median and 95th percentile of milliseconds."""
    ordered = sorted(times)
    return {
        "saves": len(times),
        "p50": round(statistics.median(times), 1),
        "p95": round(ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))], 1),
    }


def saves(memory: Memory, workspace: Path, count: int) -> dict[str, float | int]:
    """`count` saves, one after the other."""
    files = sorted(workspace.rglob("*.md"))
    return spread([milliseconds_to_find(memory, files[number * 7 % len(files)]) for number in range(count)])


def storm(memory: Memory, workspace: Path, events: int) -> dict[str, object]:
    """`events` writes as fast as they go; how long until the index is in step again, and whether it is."""
    files = sorted(workspace.rglob("*.md"))[:200]
    started = time.perf_counter()
    for number in range(events):
        files[number % len(files)].write_text(f"storm {number} {number // len(files)}\n")
    written = time.perf_counter() - started
    last = f"storm {events - 1} {(events - 1) // len(files)}"
    while not memory.search(SearchRequest(f'"{last}"', mode="keyword")).hits:
        if time.perf_counter() - started > 120:
            raise SystemExit("freshness.py: the storm was never followed")
        time.sleep(0.02)
    found = time.perf_counter() - started
    report = memory.sync(vectors=False)
    return {
        "events": events,
        "seconds_written": round(written, 2),
        "seconds_found": round(found, 2),
        "files_missed": report.indexed,
    }


_STORM = """
import sys, time
from pathlib import Path
files, events, seconds = [Path(line) for line in sys.stdin.read().splitlines()], int(sys.argv[1]), float(sys.argv[2])
began = time.perf_counter()
for number in range(events):
    files[number % len(files)].write_text(f"storm {number} {number // len(files)}\\n")
    ahead = seconds * number / events - (time.perf_counter() - began)
    if ahead > 0.002:
        time.sleep(ahead)
print(time.perf_counter() - began)
"""
"""Saves files one after the other, evenly over a time, in a process of its own."""


def app_storm(root: Path, workspace: Path, provider: str, events: int, *, alone: bool) -> dict[str, object]:
    """The app on a terminal while files are saved `events` times in a second: its loop lag before and until all is
    indexed, in ms, and whether the index is right then."""
    store, trace = root / f"app-{provider}.sqlite", root / f"trace-{provider}.jsonl"
    memory = opened(workspace, store, provider)
    memory.sync()
    memory.close()
    argv = [sys.executable, "-m", "tui", "--workspace", str(workspace), "--store", str(store)]
    app = PtyApp(argv, quiet_environ(root, MEMDECK_TRACE=str(trace), MEMDECK_PROVIDER=provider))
    try:
        with first_in_line(app.pid, os.getpid()) if alone else contextlib.nullcontext():
            app.wait_for("palette")
            time.sleep(3)
            before = time.time()
            time.sleep(3)
            files = sorted(workspace.rglob("*.md"))[:200]
            began = time.time()
            storm = subprocess.run(
                [sys.executable, "-c", _STORM, str(events), "1.0"],
                input="\n".join(map(str, files)),
                capture_output=True,
                text=True,
                check=True,
            )
            seen = follow(workspace, store, provider, limit=120)
            time.sleep(1)
            ended = time.time()
        painted = app.forget()
    finally:
        app.quit()
    memory = opened(workspace, store, provider)
    report = memory.sync(vectors=False)
    memory.close()
    return {
        "events": events,
        "seconds_written": round(float(storm.stdout), 2),
        "seconds_followed": round(seen, 2),
        "lag_ms_before": percentiles(lags(trace, before, began)),
        "lag_ms": percentiles(lags(trace, began, ended)),
        "bytes_painted": painted,
        "files_missed": report.indexed,
    }


def follow(workspace: Path, store: Path, provider: str, *, limit: float) -> float:
    """How many seconds it takes until no file differs from the index and no chunk waits for its vector."""
    memory = opened(workspace, store, provider)
    started = time.monotonic()
    try:
        while memory.changed_files() or memory.status().pending:
            if time.monotonic() - started > limit:
                raise SystemExit("freshness.py: the app never followed the storm")
            time.sleep(0.5)
    finally:
        memory.close()
    return time.monotonic() - started


def idle(seconds: float) -> dict[str, float]:
    """CPU that this process uses while nothing changes, as a share of one core."""
    before = time.process_time()
    time.sleep(seconds)
    return {"seconds": seconds, "core_share": round((time.process_time() - before) / seconds, 5)}


def measure(root: Path, *, files: int, count: int, events: int, idle_seconds: float, alone: bool) -> dict[str, object]:
    """All figures."""
    workspace = make_workspace(root, files)
    memory = opened(workspace, root / "words.sqlite", "none")
    memory.sync()
    memory.start()
    time.sleep(1)
    figures: dict[str, object] = {
        "files": files,
        "debounce_ms": memory.settings.settings.sync.watch_debounce_ms,
        "at_rest": saves(memory, workspace, count),
        "storm": storm(memory, workspace, events),
        "idle": idle(idle_seconds),
        "app_storm": {
            provider: app_storm(root, workspace, provider, events, alone=alone) for provider in ("none", "local")
        },
        "watch": memory.watch_state.mode,
    }
    memory.close()
    with_vectors = opened(workspace, root / "vectors.sqlite", "local")
    with_vectors.sync(vectors=False)
    with_vectors.start()
    time.sleep(1)
    figures["while_vectors_are_made"] = saves(with_vectors, workspace, count)
    figures["vectors_waiting_at_the_end"] = with_vectors.status().pending
    with_vectors.close()
    time.sleep(2)
    figures["threads_left"] = [thread.name for thread in threading.enumerate() if thread.name.startswith("memdeck")]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--idle-seconds", type=float, default=10)
    parser.add_argument("--folder", help="where to work: 5,000 saves fit into a second on a quick disk alone")
    parser.add_argument("--alone", action="store_true", help="before all other processes of a shared machine (as root)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(folder="/dev/shm" if Path("/dev/shm").is_dir() else None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measure(
            Path(folder),
            files=options.files,
            count=options.saves,
            events=options.events,
            idle_seconds=options.idle_seconds,
            alone=options.alone,
        )
    print(json.dumps(figures, indent=None if options.json else 2))


if __name__ == "__main__":
    main()
