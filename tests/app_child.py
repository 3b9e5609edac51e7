"""An app's memory in a process of its own: it follows the files and searches all the while.

Run as `python -m tests.app_child ROOT`; when its input ends it prints a JSON line {searches, slowest, errors, writes}.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from core import MemdeckError, SearchRequest, open_memory
from core.events import Event, WriterChanged


def main() -> None:
    root = Path(sys.argv[1])
    memory = open_memory(
        workspace=root / "ws",
        store=root / "index.sqlite",
        environ={},
        home=root / "home",
        flags={"provider": "none", "sync.watch_debounce_ms": 50},
        resident=True,
    )
    writes: list[bool] = []
    errors: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, WriterChanged):
            writes.append(event.own)

    memory.events.subscribe(note)
    memory.start()
    print("ready", flush=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    searches, slowest = 0, 0.0
    while not ended.wait(0.05):
        started = time.perf_counter()
        try:
            memory.search(SearchRequest("alpha kappa", mode="keyword"))
        except MemdeckError as error:
            errors.append(str(error))
        searches, slowest = searches + 1, max(slowest, time.perf_counter() - started)
    memory.close()
    print(json.dumps({"searches": searches, "slowest": slowest, "errors": errors, "writes": writes}), flush=True)


if __name__ == "__main__":
    main()
