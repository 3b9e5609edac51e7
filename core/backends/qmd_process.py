"""Runs a program in a process group of its own, bounded in time and output, and ends the whole group with it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from core.errors import BackendError
from core.records import record

OUTPUT_BYTES = 1_000_000
"""What a program may write to standard output."""
ERROR_BYTES = 16_384
"""What is kept of standard error: its end."""
POLL_SECONDS = 0.02
LAST_WORDS_SECONDS = 0.3
"""How long output is read after the program itself ended, where what it left behind holds the pipes open."""
TERM_SECONDS = 0.2


class ProgramCancelled(Exception):
    """The caller gave up; the program is gone."""


class ProgramTimeout(BackendError):
    """The program took too long and was ended."""


@record(frozen=True, slots=True)
class Outcome:
    """What a program wrote and how it ended; `code` is its exit code, never that of a death by signal."""

    code: int
    stdout: str
    stderr: str
    seconds: float


def run_program(
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: Path,
    seconds: float,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run a program to its end, without input; `arguments[0]` is its path, `folder` its working directory.

    Raises ProgramCancelled, ProgramTimeout, and BackendError where it cannot be started, dies by a signal or writes
    more than OUTPUT_BYTES. In all cases nothing of its group is left running.
    """
    name = Path(arguments[0]).name
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BackendError(f"{name} cannot be started: {reason}") from error
    try:
        reader = _Reader(process, name)
        reader.read(started + seconds, seconds, cancelled)
    finally:
        _end(process)
    _check_signal(name, process.returncode, reader.error_text)
    return Outcome(process.returncode, reader.text, reader.error_text, time.monotonic() - started)


class _Reader:
    """Collects what a process writes, until it ends."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self._process = process
        self._name = name
        self._out = bytearray()
        self._err = bytearray()

    @property
    def text(self) -> str:
        return self._out.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        return self._err.decode("utf-8", "replace")

    def read(self, deadline: float, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Read until both pipes are closed, or shortly after the process has ended."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        with out, err, selectors.DefaultSelector() as selector:
            for pipe, kept in ((out, self._out), (err, self._err)):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, kept)
            while selector.get_map() or self._process.poll() is None:
                if self._process.poll() is not None:
                    deadline = min(deadline, time.monotonic() + LAST_WORDS_SECONDS)
                if cancelled():
                    raise ProgramCancelled
                if time.monotonic() >= deadline:
                    if self._process.poll() is not None:
                        return
                    raise ProgramTimeout(f"{self._name} did not answer within {seconds:g} s")
                if not selector.get_map():
                    time.sleep(POLL_SECONDS)
                for key, _ in selector.select(POLL_SECONDS):
                    if not self._take(key.fileobj, key.data):  # type: ignore[arg-type]
                        selector.unregister(key.fileobj)

    def _take(self, pipe: IO[bytes], kept: bytearray) -> bool:
        """Read what is there; False at the end of a pipe."""
        try:
            data = os.read(pipe.fileno(), 65_536)
        except BlockingIOError:
            return True
        kept += data
        if kept is self._err:
            del kept[:-ERROR_BYTES]
        elif len(kept) > OUTPUT_BYTES:
            raise BackendError(f"{self._name} wrote more than {OUTPUT_BYTES:,} bytes")
        return bool(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the group: asked first, then by force."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(TERM_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _check_signal(name: str, code: int, stderr: str) -> None:
    """Raises BackendError for a death by signal, the program's own or, as a shell reports it, of what it started."""
    number = -code if code < 0 else code - 128
    if number <= 0:
        return
    try:
        called = signal.Signals(number).name
    except ValueError:
        return
    remedy = ""
    if number in (signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGBUS):
        remedy = f"{name} needs Node 22 or newer: see `node --version`"
    words = stderr.strip().splitlines()
    raise BackendError(f"{name} died by {called}{': ' + words[-1][:200] if words else ''}", remedy=remedy)
