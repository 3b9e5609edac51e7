"""memdeck on a pseudo-terminal, for benches: keys in, bytes out, what the kernel knows of the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r":\[\d+\]$")
_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?<=>]*[a-zA-Z@~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cM])")


@dataclass(frozen=True, slots=True)
class Use:
    """What a process takes at a moment: resident megabytes, megabytes of its children, file descriptors, threads.

    `handles` says how many there are of each file or kind; `threads` how many have each name: Python's own names are
    there when the app was run by named.py.
    """

    rss_mb: float
    children_mb: float
    handles: Counter[str]
    threads: Counter[str]


class PtyApp:
    """A program on a terminal of its own; a thread takes what it writes, with the time at which it came."""

    def __init__(self, argv: Sequence[str], environ: dict[str, str], *, rows: int = 24, columns: int = 80) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execvpe(argv[0], list(argv), environ)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._came: list[tuple[float, bytes]] = []
        self._news = threading.Condition()
        self._tail = b""
        self._exit_code: int | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            select.select([self._terminal], [], [])
            try:
                data = os.read(self._terminal, 65536)
            except OSError:
                data = b""
            with self._news:
                if not data:
                    self._news.notify_all()
                    return
                self._came.append((time.perf_counter(), data))
                self._tail = (self._tail + data)[-20_000:]
                self._news.notify_all()

    def press(self, keys: str) -> tuple[float, int]:
        """Send keys; gives the time and how many pieces of output had come before."""
        with self._news:
            seen = len(self._came)
        now = time.perf_counter()
        os.write(self._terminal, keys.encode())
        return now, seen

    def painted(self, text: str, since: int, limit: float) -> float | None:
        """When `text` was first painted behind piece `since` of the output; None if not within `limit` seconds."""
        end = time.perf_counter() + limit
        with self._news:
            while True:
                shown = b""
                for moment, data in self._came[since:]:
                    shown += data
                    if text.encode() in _ESCAPES.sub(b"", shown):
                        return moment
                left = end - time.perf_counter()
                if left <= 0:
                    return None
                self._news.wait(left)

    def wait_for(self, text: str, limit: float = 60.0) -> None:
        """Wait until `text` has been painted. Raises SystemExit after `limit` seconds."""
        if self.painted(text, 0, limit) is None:
            raise SystemExit(f"{text!r} was not painted within {limit:.0f} s: {self.last_words}")

    @property
    def last_words(self) -> str:
        """The end of the output, without escape sequences."""
        with self._news:
            return _ESCAPES.sub(b"", self._tail)[-6000:].decode(errors="replace")

    def forget(self) -> int:
        """Let go of the output so far; gives how many bytes it was."""
        with self._news:
            size = sum(len(data) for _, data in self._came)
            self._came.clear()
            return size

    def received(self) -> tuple[int, float]:
        """How many bytes came since the last `forget`, and when the last of them did (0 for none)."""
        with self._news:
            return sum(len(data) for _, data in self._came), self._came[-1][0] if self._came else 0.0

    def use(self) -> Use:
        """What the process takes now; Linux alone tells. Raises SystemExit when it is no more."""
        values = _status(self.pid)
        if "VmRSS" not in values:
            while not self.ended:
                time.sleep(0.05)
            raise SystemExit(f"the app ended by itself with {self._exit_code}: {self.last_words}")
        children = sum(_resident_mb(_status(child)) for child in self.children())
        return Use(_resident_mb(values), children, self._handles(), self._threads())

    def _handles(self) -> Counter[str]:
        names: Counter[str] = Counter()
        for place in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # one that was closed meanwhile
                names[_NUMBER.sub("", os.readlink(place))] += 1  # noqa: PTH115 -- what it says need not be a path
        return names

    def _threads(self) -> Counter[str]:
        names: Counter[str] = Counter()
        for place in Path(f"/proc/{self.pid}/task").glob("*/comm"):
            with contextlib.suppress(OSError):  # a thread that has ended meanwhile
                names[place.read_text().strip()] += 1
        return names

    def children(self) -> list[int]:
        """The processes that this one has started and that live."""
        found: list[int] = []
        for task in Path(f"/proc/{self.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # a thread that has ended meanwhile
                found += map(int, task.read_text().split())
        return found

    @property
    def cpu_seconds(self) -> float:
        """CPU that the process has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def ended(self) -> bool:
        if self._exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code is not None

    def quit(self, limit: float = 30.0) -> int:
        """Leave by the key and give the exit code; kills what does not leave."""
        with contextlib.suppress(OSError):
            os.write(self._terminal, b"\x11")
        end = time.monotonic() + limit
        while not self.ended and time.monotonic() < end:
            time.sleep(0.05)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            self._exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._terminal)
        assert self._exit_code is not None
        return self._exit_code


def _status(pid: int) -> dict[str, str]:
    """What /proc says of a process; nothing of one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _resident_mb(status: dict[str, str]) -> float:
    return int(status.get("VmRSS", "0").split()[0]) / 1024


@contextlib.contextmanager
def first_in_line(*pids: int) -> Iterator[None]:
    """Have the kernel serve the sessions of processes before all others, as on a machine with nothing else to do.

    Priorities inside a session stay. Needs root, on Linux with autogroups; raises SystemExit without.
    """
    places = [Path(f"/proc/{pid}/autogroup") for pid in pids]
    try:
        before = [place.read_text().split()[-1] for place in places]
        for place in places:
            place.write_text("-19")
    except OSError as error:
        raise SystemExit(f"the machine cannot be had alone, which needs root and autogroups: {error}") from error
    try:
        yield
    finally:
        for place, nice in zip(places, before, strict=True):
            with contextlib.suppress(OSError):
                place.write_text(nice)


def quiet_environ(home: Path, **more: str) -> dict[str, str]:
    """An environment in which memdeck finds no settings and keeps everything below `home`."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMDECK_")}
    environ |= {"TERM": "xterm-256color", "HOME": str(home), "PYTHONPATH": str(ROOT)}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        environ[name] = str(home / name.lower())
    return environ | more
