"""What starting costs: CPU seconds of imports and commands, and the app's first paint on a pseudo-terminal."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_SAMPLE = _ROOT / "tui" / "cli" / "demo" / "workspace"
_QUIET_SECONDS = 0.4
_LAST_WORD = b"palette"
"""What stands at the lower right end of the screen."""


def cpu_seconds(command: list[str], environ: dict[str, str], repeats: int) -> float:
    """Median user + system seconds of a command after a first run that is not counted; SystemExit when it fails."""
    times = []
    for _ in range(repeats + 1):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ, cwd=_ROOT)
        assert process.stderr is not None
        errors = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise SystemExit(
                f"startup.py: {' '.join(command)} ended with {process.returncode}\n{errors.decode(errors='replace')}"
            )
        times.append(usage.ru_utime + usage.ru_stime)
    return round(statistics.median(times[1:]), 3)


def first_paint(
    command: list[str], environ: dict[str, str], *, rows: int = 24, columns: int = 80
) -> dict[str, float | int]:
    """Seconds until the first byte and until nothing more is painted, the bytes, and the CPU until the screen stands.

    `cpuSeconds` goes on until the app, which works in the background too, is quit by Ctrl-Q.
    """
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(_ROOT)
        os.execvpe(command[0], command, environ)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    first = last = None
    received, painting, shown = 0, 0.0, b""
    deadline = started + 30
    while time.perf_counter() < deadline:
        ready, _, _ = select.select([terminal], [], [], _QUIET_SECONDS)
        if not ready:
            if received > 1000:
                break
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        last = time.perf_counter() - started
        first = last if first is None else first
        received += len(data)
        if _LAST_WORD not in shown:
            shown = (shown + data)[-100_000:]
            painting = _cpu_of(pid)
    os.write(terminal, b"\x11")
    _drain(terminal, 5.0)
    os.close(terminal)
    _, status, usage = os.wait4(pid, 0)
    return {
        "firstByteSeconds": round(first or 0.0, 3),
        "paintedSeconds": round(last or 0.0, 3),
        "bytes": received,
        "paintedCpuSeconds": round(painting, 3),
        "cpuSeconds": round(usage.ru_utime + usage.ru_stime, 3),
        "rssMb": round(usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3), 1),
        "exitCode": os.waitstatus_to_exitcode(status),
    }


def _cpu_of(pid: int) -> float:
    """CPU that a process has used so far; 0 where no /proc tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drain(terminal: int, seconds: float) -> None:
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            if ready and not os.read(terminal, 65536):
                return
        except OSError:
            return


def measure(repeats: int) -> dict[str, object]:
    """All figures, on an indexed copy of the sample workspace."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        shutil.copytree(_SAMPLE, workspace)
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ |= {"TERM": "xterm-256color", "HOME": folder, "PYTHONPATH": str(_ROOT)}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            environ[name] = str(Path(folder) / name.lower())
        python = [sys.executable]
        memdeck = [*python, "-m", "tui", "--workspace", str(workspace)]
        subprocess.run([*memdeck, "index"], env=environ, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
        commands = {
            "search --mode keyword": [*memdeck, "search", "--mode", "keyword", "certificate"],
            "search": [*memdeck, "search", "certificate"],
            "get": [*memdeck, "get", "MEMORY.md"],
            "index, nothing changed": [*memdeck, "index"],
            "status": [*memdeck, "status"],
            "config": [*memdeck, "config"],
            "keys": [*memdeck, "keys"],
            "--help": [*memdeck, "--help"],
        }
        return {
            "importCpuSeconds": {
                "nothing": cpu_seconds([*python, "-c", "pass"], environ, repeats),
                "core": cpu_seconds([*python, "-c", "import core"], environ, repeats),
                "tui.app": cpu_seconds([*python, "-c", "import tui.app"], environ, repeats),
            },
            "commandCpuSeconds": {name: cpu_seconds(command, environ, repeats) for name, command in commands.items()},
            "firstPaint": first_paint(memdeck, environ),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.repeats)
    if options.json:
        print(json.dumps(figures))
        return 0
    for group, values in figures.items():
        print(group)
        assert isinstance(values, dict)
        for name, value in values.items():
            print(f"  {name:24} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
