"""A long life of the app: `soak.py --minutes 30` types, reads and switches screens while files change under it.

The app runs on a pseudo-terminal with the local model, on a workspace whose size stays about the same. After its index
is complete and a warm-up (a fifth of the time, at most five minutes: so long caches that have a bound still fill, and
the log of the last thousand changes) it lives on, with a rest before and after, in which nobody types and no file
changes, for longer than a process that it started for something waits for more to do. Its resident memory, in
megabytes, goes up and down by its nature, so like is compared with like, each figure over as much time as the other:

- `live`: the medians of the first and of the last quarter; the line through both says by how much it grew from the
  start of the life to its end,
- `rest`: the medians of the second halves of the two rests.

Of open files and of threads of each name the fewest are compared, of the first quarter with its rest and of the last
with its own. A pool starts a thread when all that it has are busy, however late, and numbers them up to its bound: such
a name may be new, but it is there once, where a pool that was left behind has it again beside that of the next. Exit
code 1 when memory grew by 10 MB or more in either way, when a file, a thread or a process was left behind, or when the
app ended badly. The memory of its children is told beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grow import grow
from pty_app import ROOT, PtyApp, Use, first_in_line, quiet_environ

from core import open_memory

_APP = Path(__file__).with_name("named.py")
_SAMPLE = ROOT / "tui" / "cli" / "demo" / "workspace"
_QUERIES = (
    "certificate",
    "quay request",
    "gateway storm",
    "why not forecasts",
    '"salt wedge"',
    "after:2026-01 uplink",
    "潮位",
    "zxkwv",
)
_OF_POOL = re.compile(r"_\d+$")
LIMIT_MB = 10.0
WARM_UP_SECONDS = 300.0
REST_SECONDS = 40.0
BURST_SECONDS = 90.0
BURST = 20
"""Changes at once, now and then: enough for the app to start a process for them, which has ended before the next."""
KEY_SECONDS = 0.05
_DOWN, _UP, _ENTER, _TAB, _ESC, _PAGE = "\x1b[B", "\x1b[A", "\r", "\t", "\x1b", "\x1b[6~"
_WIPE, _SEARCH, _SESSIONS, _STATUS, _FILES = "\x15", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"


class Life:
    """What changes in the workspace: files come, grow, move and go, and never become many more."""

    def __init__(self, workspace: Path, chance: random.Random) -> None:
        self._folder = workspace / "memory" / "soak"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._chance = chance
        self._stock = [path.read_text("utf-8") for path in sorted(_SAMPLE.rglob("*.md"))]
        self.changes = 0

    def step(self) -> None:
        """One change."""
        path = self._folder / f"note-{self._chance.randrange(40):02}.md"
        text = self._chance.choice(self._stock)
        match self._chance.randrange(4):
            case 0 | 1:
                path.write_text(f"{text}\nChange {self.changes}.\n", "utf-8")
            case 2 if path.exists():
                path.rename(self._folder / f"note-{self._chance.randrange(40):02}.md")
            case _:
                path.unlink(missing_ok=True)
        self.changes += 1


def sessions(chance: random.Random) -> Iterator[str]:
    """Keys, one press each: a query, its hits, the preview, other screens, windows over them."""
    for number in itertools.count():
        yield from (_SEARCH, _ESC, _ESC, _ESC, "/", _WIPE, *chance.choice(_QUERIES))
        yield from (_DOWN, _DOWN, _UP, _TAB, "j", " ", "d", "h", "l", "d", "t", "x", _ESC)
        yield from (_ENTER, _PAGE, "w", "w", "f", *"the", _ENTER, "n", "n", "N", _ESC, "v", "j", "j", _ESC, _ESC)
        yield from ("\x0f", "\x0f", "\x0f", "\x10", *"find", _ESC, "?", _ESC)
        yield from ("\x0e", *"draft", *("\x7f" * 5), _ESC)
        screen = (_SESSIONS, _STATUS, _FILES)[number % 3]
        yield from (screen, "j", "j", "k", _PAGE, "G", "g")
        if number % 10 == 0:
            yield from ("\x1b[20~",) * 4


def live(app: PtyApp, life: Life, seconds: float, sample_seconds: float) -> list[Use]:
    """Press keys and change files for so long; what the app took, sample by sample."""
    samples: list[Use] = []
    end = time.monotonic() + seconds
    next_sample = next_change = 0.0
    next_burst = time.monotonic() + BURST_SECONDS / 2
    chance = random.Random(2)
    for key in sessions(chance):
        now = time.monotonic()
        if now > end:
            return samples
        if now > next_sample:
            samples.append(app.use())
            app.forget()
            next_sample = now + sample_seconds
        if now > next_change:
            life.step()
            next_change = now + 0.5
        if now > next_burst:
            for _ in range(BURST):
                life.step()
            next_burst = now + BURST_SECONDS
        app.press(key)
        time.sleep(KEY_SECONDS * chance.uniform(0.5, 4.0))
    return samples


def rest(app: PtyApp) -> list[Use]:
    """Leave the app alone; what it took, sample by sample."""
    samples: list[Use] = []
    end = time.monotonic() + REST_SECONDS
    while time.monotonic() < end:
        time.sleep(0.5)
        samples.append(app.use())
    app.forget()
    return samples


def until_complete(workspace: Path, store: Path, limit: float = 600.0) -> None:
    """Wait until no chunk waits for its vector: what is loaded for these alone is there from then on."""
    memory = open_memory(workspace=workspace, store=store, environ={}, home=store.parent)
    end = time.monotonic() + limit
    try:
        while (status := memory.status()).pending or not status.chunks:
            if time.monotonic() > end:
                raise SystemExit("the index was never complete")
            time.sleep(0.5)
    finally:
        memory.close()


def quarters(samples: Sequence[Use]) -> tuple[Sequence[Use], Sequence[Use]]:
    """The first and the last."""
    count = max(len(samples) // 4, 3)
    return samples[:count], samples[-count:]


def memory(samples: Sequence[Use]) -> float:
    """The median of resident megabytes."""
    return statistics.median(use.rss_mb for use in samples)


def always(counts: Iterable[Counter[str]]) -> Counter[str]:
    """How many of each name there always were."""
    return functools.reduce(Counter.__and__, counts)


def left_behind(warm: Counter[str], end: Counter[str]) -> Counter[str]:
    """Threads that came and stayed, but for the first of its name in a pool."""
    late = Counter(name for name in end if not warm[name] and _OF_POOL.search(name))
    return end - warm - late


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"
    except OSError:
        return False


def measure(minutes: float, *, alone: bool) -> dict[str, object]:
    """All figures of one life of the app."""
    seconds = minutes * 60
    warm_up = min(seconds / 5, WARM_UP_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        home.mkdir()
        grow(_SAMPLE, workspace, files=40, size=150_000, seed=1)
        life = Life(workspace, random.Random(1))
        store = Path(folder) / "index.sqlite"
        argv = [sys.executable, str(_APP), "--workspace", str(workspace), "--store", str(store)]
        app = PtyApp(argv, quiet_environ(home))
        with first_in_line(app.pid, os.getpid()) if alone else contextlib.nullcontext():
            try:
                app.wait_for("palette")
                until_complete(workspace, store)
                warm = live(app, life, warm_up, 1.0)
                before = rest(app)
                samples = live(app, life, max(seconds - warm_up - 2 * REST_SECONDS, 10.0), max(seconds / 600, 0.5))
                after = rest(app)
                cpu = app.cpu_seconds
                children = app.children()
            finally:
                code = app.quit()
    first, last = quarters(samples)
    grown_live = (memory(last) - memory(first)) / (1 - len(first) / len(samples))
    at_rest = [memory(part[len(part) // 2 :]) for part in (before, after)]
    ends = [(*first, *before), (*last, *after)]
    handles = [always(use.handles for use in end) for end in ends]
    threads = [always(use.threads for use in end) for end in ends]
    kept_open, left = handles[1] - handles[0], left_behind(*threads)
    step = max(len(samples) // 20, 1)
    everything = [*warm, *before, *samples, *after]
    return {
        "minutes": minutes,
        "rssMb": {
            "start": round(warm[0].rss_mb, 1),
            "live": [round(memory(first), 1), round(memory(last), 1)],
            "rest": [round(value, 1) for value in at_rest],
            "most": round(max(use.rss_mb for use in everything), 1),
        },
        "growthMb": {"live": round(grown_live, 1), "rest": round(at_rest[1] - at_rest[0], 1)},
        "childrenMb": {
            "median": round(statistics.median(use.children_mb for use in samples), 1),
            "most": round(max(use.children_mb for use in everything), 1),
            "atRest": round(after[-1].children_mb, 1),
        },
        "handles": {
            "warm": handles[0].total(),
            "end": handles[1].total(),
            "most": max(use.handles.total() for use in samples),
            "keptOpen": {name.rpartition("/")[2]: count for name, count in kept_open.items()},
        },
        "threads": {
            "warm": threads[0].total(),
            "end": threads[1].total(),
            "most": max(use.threads.total() for use in samples),
            "late": dict(threads[1] - threads[0]),
            "leftBehind": dict(left),
        },
        "rssMbOverTime": [round(use.rss_mb, 1) for use in samples[::step]],
        "fileChanges": life.changes,
        "cpuSeconds": round(cpu, 1),
        "exitCode": code,
        "growsLessThan10Mb": max(grown_live, at_rest[1] - at_rest[0]) < LIMIT_MB,
        "leaksNothing": not kept_open and not left and not any(map(is_alive, children)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--alone", action="store_true", help="before all other processes of a shared machine (as root)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.minutes, alone=options.alone)
    print(json.dumps(figures, indent=None if options.json else 2))
    return 0 if figures["growsLessThan10Mb"] and figures["leaksNothing"] and figures["exitCode"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
