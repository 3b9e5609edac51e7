"""Opening a file in the user's editor or pager at a line, while the app is off the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported

_COLON = {"hx", "helix", "subl", "zed"}
_GOTO = {"code", "codium", "code-insiders", "cursor", "windsurf"}
_PAGERS = ("less", "more")
"""What is looked for without $PAGER; they take `+12`."""


class NoEditor(Exception):
    """There is no editor or pager to open; `str()` says why and what to do."""


def editor_command(environ: Mapping[str, str], path: Path, line: int) -> list[str]:
    """The argument list that opens `path` at `line` in $VISUAL or $EDITOR. Raises NoEditor when neither is usable."""
    words = _words("EDITOR", environ.get("VISUAL") or environ.get("EDITOR") or "")
    if not words:
        raise NoEditor("no editor: set $VISUAL or $EDITOR, for example EDITOR=nano")
    name = Path(words[0]).name.removesuffix(".exe")
    if name in _GOTO:
        return [*words, "--wait", "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", str(path)]


def pager_command(environ: Mapping[str, str], path: Path, line: int) -> list[str]:
    """The argument list that shows `path` from `line` on in $PAGER, or in less. Raises NoEditor without either."""
    words = _words("PAGER", environ.get("PAGER") or "")
    if not words:
        where = environ.get("PATH", os.defpath)
        words = next(([name] for name in _PAGERS if shutil.which(name, path=where)), [])
    if not words:
        raise NoEditor("no pager: set $PAGER, or install less")
    at = [f"+{line}"] if line > 1 and Path(words[0]).name in _PAGERS else []
    return [*words, *at, str(path)]


def _words(name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise NoEditor(f"${name} cannot be read: {error}") from error


def run_outside(command: list[str], environ: Mapping[str, str]) -> None:
    """Run a program on the terminal until it ends. Raises NoEditor when it cannot be started or fails.

    An interrupt typed meanwhile is the program's, not ours. Call it on the main thread.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run(command, env=dict(environ), check=False).returncode
    except OSError as error:
        raise NoEditor(f"{command[0]} cannot be started: {error.strerror or error}") from error
    finally:
        signal.signal(signal.SIGINT, before)
    if code != 0:
        raise NoEditor(f"{command[0]} ended with status {code}")


def open_outside(
    command: Callable[[Mapping[str, str], Path, int], list[str]],
    path: Path,
    line: int,
    *,
    environ: Mapping[str, str],
    suspend: Callable[[], AbstractContextManager[None]],
) -> str:
    """Open a file in what `command` names while the app is off the terminal; "", or what went wrong."""
    problem = ""
    try:
        words = command(environ, path, line)
        with suspend():
            # Inside, because an error that leaves the block keeps the terminal from the app.
            try:
                run_outside(words, environ)
            except NoEditor as error:
                problem = str(error)
    except NoEditor as error:
        problem = str(error)
    except SuspendNotSupported:
        problem = "this terminal does not let the app step aside"
    return problem
