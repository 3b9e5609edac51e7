"""Opening a file in the user's editor at a line."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported

_COLON = {"hx", "helix", "subl", "zed"}
_GOTO = {"code", "codium", "code-insiders", "cursor", "windsurf"}


class NoEditor(Exception):
    """There is no editor to open; `str()` says why and what to do."""


def editor_command(environ: Mapping[str, str], path: Path, line: int) -> list[str]:
    """The argument list that opens `path` at `line` in $VISUAL or $EDITOR. Raises NoEditor when neither is usable."""
    text = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NoEditor(f"$EDITOR cannot be read: {error}") from error
    if not words:
        raise NoEditor("no editor: set $VISUAL or $EDITOR, for example EDITOR=nano")
    name = Path(words[0]).name.removesuffix(".exe")
    if name in _GOTO:
        return [*words, "--wait", "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", str(path)]


def run_editor(command: list[str], environ: Mapping[str, str]) -> None:
    """Run the editor on the terminal until it ends. Raises NoEditor when it cannot be started or fails.

    An interrupt typed meanwhile is the editor's, not ours. Call it on the main thread.
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


def edit_at(
    path: Path, line: int, *, environ: Mapping[str, str], suspend: Callable[[], AbstractContextManager[None]]
) -> str:
    """Open a file in the editor while the app is off the terminal; "", or what went wrong."""
    problem = ""
    try:
        command = editor_command(environ, path, line)
        with suspend():
            # Inside, because an error that leaves the block keeps the terminal from the app.
            try:
                run_editor(command, environ)
            except NoEditor as error:
                problem = str(error)
    except NoEditor as error:
        problem = str(error)
    except SuspendNotSupported:
        problem = "this terminal does not let the app step aside"
    return problem
