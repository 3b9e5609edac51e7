"""Programs on terminals of their own, for tests: on a pty, or in a tmux pane."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import uuid
from collections.abc import Callable

LONG = 90.0
"""Seconds that anything may take on a machine with other things to do; nothing here waits that long otherwise."""

CHILD = """
import os, sys
from pathlib import Path
from statistics import median
from core import open_memory
from tui.app import AppOptions, MemdeckApp, run_app
root = Path(sys.argv[1])
if os.environ.get("BREAK_HELP"):
    MemdeckApp.action_help = lambda self: 1 / 0
memory = open_memory(
    workspace=root / "ws", store=root / "index.sqlite", environ={}, home=root / "home",
    flags={"provider": "none", "sync.watch": False, "sessions.agents": os.environ.get("AGENTS", "").split()},
    resident=True,
)
sys.exit(run_app(memory, options=AppOptions(query=os.environ.get("QUERY", ""))))
"""


class Terminal:
    """A program on a pty of its own."""

    def __init__(self, argv: list[str], size: tuple[int, int], environ: dict[str, str]) -> None:
        width, height = size
        clean = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "TMUX", "VISUAL", "EDITOR")}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, {**clean, "TERM": "xterm-256color", **environ})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.output = b""

    def read(self, quiet: float = 0.4, limit: float = LONG) -> bytes:
        """What comes until nothing came for `quiet` seconds."""
        got, end, last = b"", time.monotonic() + limit, time.monotonic()
        while time.monotonic() < end and time.monotonic() - last < quiet:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    break
                if not data:
                    break
                got, last = got + data, time.monotonic()
        self.output += got
        return got

    def until(self, text: str, since: int = 0) -> None:
        """Read until `text` stands in the output, behind its first `since` bytes."""
        self.wait_for(lambda: text.encode() in self.output[since:], repr(text))

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Read until something holds."""
        end = time.monotonic() + LONG
        while not condition():
            assert time.monotonic() < end, f"{what} never came: {self.output[-2000:]!r}"
            self.read(0.1, 0.3)

    def press(self, keys: str, quiet: float = 0.4) -> bytes:
        os.write(self.fd, keys.encode())
        return self.read(quiet)

    def resize(self, width: int, height: int, until: str = "") -> None:
        """Change the size and wait for what is painted then; a busy program is told again, by way of another size."""
        before, end = len(self.output), time.monotonic() + LONG
        self._resize(width, height)
        self.read(0.3)
        while until.encode() not in self.output[before:]:
            assert time.monotonic() < end, f"{until!r} never came: {self.output[-2000:]!r}"
            if not self.read(3.0, 5.0):
                self._resize(width, height + 1)
                self.read(0.3)
                self._resize(width, height)
            self.read(0.3)

    def _resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    @property
    def ended(self) -> bool:
        return os.waitpid(self.pid, os.WNOHANG) != (0, 0)

    def wait(self) -> int:
        """The exit code; everything that the program still writes is read."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            self.read(0.1, 0.2)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.1, 1)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("the program did not end")

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)

    @property
    def restored(self) -> bool:
        """Whether the alternate screen, the hidden cursor and mouse reports were all taken back at the end."""
        pairs = [(b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1000h", b"\x1b[?1000l")]
        return all(self.output.rfind(off) > self.output.rfind(on) for on, off in pairs)


class Tmux:
    """A tmux server of its own with one pane of 80x24."""

    def __init__(self, *command: str) -> None:
        self._base = ["tmux", "-L", f"memdeck-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        self("new-session", "-d", "-x", "80", "-y", "24", *command)

    def __call__(self, *words: str) -> str:
        return subprocess.run([*self._base, *words], check=True, capture_output=True, text=True).stdout

    def until(self, *texts: str) -> None:
        end = time.monotonic() + LONG
        while not all(text in (pane := self("capture-pane", "-p")) for text in texts):
            assert time.monotonic() < end, pane
            time.sleep(0.1)

    def close(self) -> None:
        subprocess.run([*self._base, "kill-server"], check=False)
