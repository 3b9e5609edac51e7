"""A long life of the app: `soak.py --minutes 30` types, reads and switches screens while files change under it.

The app runs on a pseudo-terminal with the local model, on a workspace whose size stays about the same. After a warm-up
(a fifth of the time, at most two minutes) the figures are medians over the first and the last tenth of the samples:
resident memory in megabytes, open file descriptors, threads. Exit code 1 when memory grew by 10 MB or more, or when a
descriptor or a thread was left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grow import grow
from pty_app import ROOT, PtyApp, Use, first_in_line, quiet_environ

_SAMPLE = ROOT / "tui" / "cli" / "demo" / "workspace"
_QUERIES = (
    "certificate",
    "gateway queue",
    "why not forecasts",
    '"salt wedge"',
    "after:2026-01 uplink",
    "潮位",
    "zxqwv",
)
LIMIT_MB = 10.0
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
        app.press(key)
        time.sleep(KEY_SECONDS * chance.uniform(0.5, 4.0))
    return samples


def tenths(samples: Sequence[Use], value: Callable[[Use], float]) -> tuple[float, float]:
    """The medians of a figure over the first and the last tenth."""
    count = max(len(samples) // 10, 3)
    return statistics.median(map(value, samples[:count])), statistics.median(map(value, samples[-count:]))


def measure(minutes: float, *, alone: bool) -> dict[str, object]:
    """All figures of one life of the app."""
    seconds = minutes * 60
    warm_up = min(seconds / 5, 120.0)
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        home.mkdir()
        grow(_SAMPLE, workspace, files=120, size=600_000, seed=1)
        life = Life(workspace, random.Random(1))
        app = PtyApp([sys.executable, "-m", "tui", "--workspace", str(workspace)], quiet_environ(home))
        with first_in_line(app.pid, os.getpid()) if alone else contextlib.nullcontext():
            try:
                app.wait_for("palette")
                warm = live(app, life, warm_up, 1.0)
                samples = live(app, life, seconds - warm_up, max(seconds / 300, 0.5))
                cpu = app.cpu_seconds
            finally:
                code = app.quit()
    rss = tenths(samples, lambda use: use.rss_mb)
    handles = tenths(samples, lambda use: use.handles)
    threads = tenths(samples, lambda use: use.threads)
    growth = round(rss[1] - rss[0], 1)
    step = max(len(samples) // 10, 1)
    return {
        "minutes": minutes,
        "rssMb": {"start": round(warm[0].rss_mb, 1), "warm": round(rss[0], 1), "end": round(rss[1], 1)},
        "growthMb": growth,
        "handles": {"warm": handles[0], "end": handles[1], "most": max(use.handles for use in samples)},
        "threads": {"warm": threads[0], "end": threads[1], "most": max(use.threads for use in samples)},
        "rssMbOverTime": [round(use.rss_mb, 1) for use in samples[::step]],
        "fileChanges": life.changes,
        "cpuSeconds": round(cpu, 1),
        "exitCode": code,
        "growsLessThan10Mb": growth < LIMIT_MB,
        "leaksNothing": handles[1] <= handles[0] and threads[1] <= threads[0],
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
