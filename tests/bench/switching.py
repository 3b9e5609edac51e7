"""What keys cost on a terminal of 80x24: `switching.py` opens the app on the sample workspace and some transcripts.

For every screen and the windows over them: bytes of a typed letter (alone, and with the list that follows it), of Down
(medians of five), and bytes written in three seconds without a key. For every screen: milliseconds from the key that
goes there until its last byte has come (median and largest of `--repeats`; the first visit builds it, and stands by
itself).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pty_app import ROOT, PtyApp, first_in_line, quiet_environ
from sessions import write_sessions

_SAMPLE = ROOT / "tui" / "cli" / "demo" / "workspace"
_FUNCTION = {"search": "\x1bOQ", "sessions": "\x1bOR", "status": "\x1bOS", "files": "\x1b[15~"}
_PLACES = {
    "search": ((_FUNCTION["search"],), "gatew"),
    "sessions": ((_FUNCTION["sessions"], "/"), "claud"),
    "messages": ((_FUNCTION["sessions"], "\r"), ""),
    "files": ((_FUNCTION["files"], "/"), "memor"),
    "status": ((_FUNCTION["status"], "\t"), ""),
    "palette": (("\x10",), "co"),
    "help": (("\x1bOP",), ""),
    "note": (("\x0e",), "remem"),
}
"""How to get to each place, and what is typed there."""
_DOWN, _ESC, _WIPE = "\x1b[B", "\x1b", "\x15"
_QUIET_SECONDS = 0.25
_LETTER_SECONDS = 0.06
_DOWNS = 5
LETTER_BYTES, DOWN_BYTES, SWITCH_MS = 1_000, 6_000, 100.0


def prepare(home: Path, workspace: Path) -> dict[str, str]:
    """A workspace with an index, transcripts among its sources; gives the environment for the app."""
    shutil.copytree(_SAMPLE, workspace)
    write_sessions(home, sessions=12, messages=10, line_bytes=400, seed=1)
    environ = quiet_environ(home)
    settings = Path(environ["XDG_CONFIG_HOME"]) / "memdeck" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[sessions]\nagents = ["claude-code", "codex", "pi"]\n')
    index = [sys.executable, "-m", "tui", "--workspace", str(workspace), "index"]
    subprocess.run(index, env=environ, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return environ


def settled(app: PtyApp, keys: str, quiet: float = _QUIET_SECONDS) -> tuple[int, float]:
    """Press keys and wait until nothing has come for a while: bytes, and milliseconds until the last of them."""
    app.forget()
    pressed, _ = app.press(keys)
    size, last = 0, pressed
    while True:
        time.sleep(0.01)
        came, moment = app.received()
        if came != size:
            size, last = came, moment
        if time.perf_counter() - max(last, pressed) > quiet:
            return size, (last - pressed) * 1000


def bytes_of(app: PtyApp, letters: str) -> dict[str, float]:
    """What letters, Down and doing nothing write where the app is now; of a letter also with the list that follows."""
    alone, followed = [], []
    for letter in letters:
        app.forget()
        app.press(letter)
        time.sleep(_LETTER_SECONDS)
        alone.append(app.received()[0])
        followed.append(alone[-1] + settled(app, "")[0])
    down = [settled(app, _DOWN)[0] for _ in range(_DOWNS)]
    settled(app, "", 1.5)
    app.forget()
    time.sleep(3.0)
    found: dict[str, float] = {"down": statistics.median(down), "idle": app.received()[0]}
    if letters:
        found |= {"letter": statistics.median(alone), "letterAndList": statistics.median(followed)}
    return found


def cost_of_keys(app: PtyApp) -> dict[str, dict[str, float]]:
    """Bytes on every screen, in the text field where it has one, and in the windows."""
    found: dict[str, dict[str, float]] = {}
    for place, (ways, letters) in _PLACES.items():
        for way in ways:
            settled(app, way)
        found[place] = bytes_of(app, letters)
        settled(app, _WIPE if letters else "")
        settled(app, _ESC)
    return found


def switches(app: PtyApp, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds to each screen, from the one before it."""
    took: dict[str, list[float]] = {screen: [] for screen in _FUNCTION}
    for _ in range(repeats):
        for screen, key in _FUNCTION.items():
            took[screen].append(settled(app, key)[1])
    return {
        screen: {"median": round(statistics.median(times), 1), "max": round(max(times), 1)}
        for screen, times in took.items()
    }


def measure(repeats: int, *, alone: bool) -> dict[str, object]:
    """All figures of one run of the app."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        home.mkdir()
        environ = prepare(home, workspace)
        app = PtyApp([sys.executable, "-m", "tui", "--workspace", str(workspace)], environ)
        with first_in_line(app.pid, os.getpid()) if alone else contextlib.nullcontext():
            try:
                app.wait_for("palette")
                time.sleep(2.0)
                first_paint = app.received()[0]
                first = {screen: round(settled(app, key)[1], 1) for screen, key in list(_FUNCTION.items())[1:]}
                between = switches(app, repeats)
                keys = cost_of_keys(app)
            finally:
                code = app.quit()
    return {
        "firstPaintBytes": first_paint,
        "firstVisitMs": first,
        "switchMs": between,
        "bytes": keys,
        "exitCode": code,
        "withinLimits": {
            "letters": all(cost.get("letter", 0) < LETTER_BYTES for cost in keys.values()),
            "down": all(cost["down"] < DOWN_BYTES for cost in keys.values()),
            "idle": all(not cost.get("idle") for cost in keys.values()),
            "switches": all(took["median"] < SWITCH_MS for took in between.values()),
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--alone", action="store_true", help="before all other processes of a shared machine (as root)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    print(json.dumps(measure(options.repeats, alone=options.alone), indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
