"""The process that a soak kills: it follows a workspace until its input ends. Run as `python -m tests.soak_child ROOT`.

A line on its input asks for a full sync with vectors; the answer is one JSON line.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from core.events import EventBus
from core.sync.watcher import Watcher
from tests.workbench import Bench, WordEmbedder


def main() -> None:
    bench = Bench(Path(sys.argv[1]), WordEmbedder())
    bench.worker.request("session-start")
    watcher = Watcher(
        bench.intakes()[0].watch_roots,
        lambda paths: bench.worker.request("watch", paths=paths),
        EventBus(),
        debounce_ms=20,
    )
    watcher.start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(asdict(bench.sync())), flush=True)
    watcher.stop()
    bench.worker.stop(10)


if __name__ == "__main__":
    main()
