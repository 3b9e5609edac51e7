"""How soon a fresh index answers: `first_answer.py WORKSPACE` indexes it in another process and searches meanwhile.

Measured from the start of that process: seconds until a keyword search has a hit, until every file is searchable by its
words, and the time of searches while vectors are being made. The indexing process is stopped at the end.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core import Memory, SearchRequest, open_memory

_WORD = re.compile(r"[A-Za-z]{5,}")


def query_words(workspace: Path, number: int, seed: int = 1) -> list[str]:
    """Two-word queries from the workspace's own text; the first is its most frequent word."""
    files = sorted(workspace.rglob("*.md"))
    chance = random.Random(seed)
    counts: collections.Counter[str] = collections.Counter()
    for path in chance.sample(files, min(len(files), 200)):
        counts.update(word.lower() for word in _WORD.findall(path.read_text("utf-8", "replace")))
    words = [word for word, _ in counts.most_common(2000)]
    if len(words) < 2:
        raise SystemExit(f"first_answer.py: too little text in {workspace}")
    return [words[0], *(" ".join(chance.sample(words, 2)) for _ in range(number))]


def timed_search(memory: Memory, query: str, mode: str) -> tuple[float, bool]:
    """(milliseconds, whether anything was found) of one search."""
    request = SearchRequest(query, mode="keyword" if mode == "keyword" else "hybrid")
    started = time.perf_counter()
    result = memory.search(request)
    return (time.perf_counter() - started) * 1000, bool(result.hits)


def summary(times: list[float]) -> dict[str, float | int]:
    """Count, median and 95th percentile of milliseconds."""
    if not times:
        return {"searches": 0}
    ordered = sorted(times)
    last = min(len(ordered) - 1, round(0.95 * len(ordered)))
    return {"searches": len(times), "p50": round(statistics.median(times), 1), "p95": round(ordered[last], 1)}


def measure(workspace: Path, store: Path, *, seconds_with_vectors: float, limit: float) -> dict[str, object]:
    """All figures of one fresh index at `store`."""
    queries = query_words(workspace, 200)
    memory = open_memory(workspace=workspace, store=store, resident=True)
    command = [sys.executable, "-m", "tui", "index", "--json", "--workspace", str(workspace), "--store", str(store)]
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def elapsed() -> float:
        return time.perf_counter() - started

    first_answer = keywords_done = first_vectors = None
    next_look = 0.0
    during_keywords: list[float] = []
    during_vectors: dict[str, list[float]] = {"keyword": [], "hybrid": []}
    pending_at_start = pending_at_end = 0
    try:
        while elapsed() < limit and child.poll() is None:
            if not store.exists():
                time.sleep(0.01)
                continue
            took, found = timed_search(memory, queries[0], "keyword")
            if first_answer is None and found:
                first_answer = elapsed()
            during_keywords.append(took)
            # Asking what changed scans the workspace: seldom, so as not to slow what is measured.
            if elapsed() > next_look:
                if memory.changed_files() == 0:
                    keywords_done = elapsed()
                    break
                next_look = elapsed() + 1.0
            time.sleep(0.1 if first_answer is None else 0.3)
        pending_at_start = memory.status().pending
        while elapsed() < limit and child.poll() is None and memory.status().pending == pending_at_start:
            time.sleep(0.2)
        first_vectors = elapsed()
        until = elapsed() + seconds_with_vectors
        for number, query in enumerate(queries[1:] * 20):
            if elapsed() > until or child.poll() is not None:
                break
            mode = ("keyword", "hybrid")[number % 2]
            during_vectors[mode].append(timed_search(memory, query, mode)[0])
            time.sleep(0.05)
        pending_at_end = memory.status().pending
        files = memory.status().files
    finally:
        memory.close()
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        _, raw_errors = child.communicate(timeout=60)
        usage = os.times()
    if first_answer is None:
        raise SystemExit(f"first_answer.py: no answer within {limit:.0f} s\n{raw_errors.decode(errors='replace')}")
    return {
        "files": files,
        "secondsToFirstAnswer": round(first_answer, 2),
        "secondsToKeywordsDone": None if keywords_done is None else round(keywords_done, 2),
        "secondsToFirstVectors": None if first_vectors is None else round(first_vectors, 2),
        "searchMsWhileReading": summary(during_keywords),
        "searchMsWhileVectorsAreMade": {mode: summary(times) for mode, times in during_vectors.items()},
        "chunksWaitingWhenKeywordsDone": pending_at_start,
        "vectorsMadeWhileMeasuring": pending_at_start - pending_at_end,
        "cpuSecondsOfTheIndexer": round(usage.children_user + usage.children_system, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to search while vectors are made")
    parser.add_argument("--limit", type=float, default=300.0, help="give up after so many seconds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(
            options.workspace.resolve(),
            Path(folder) / "index.sqlite",
            seconds_with_vectors=options.seconds,
            limit=options.limit,
        )
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:32} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
