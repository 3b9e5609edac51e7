"""Bare `memdeck`: the app, when there is a terminal to show it on."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.common import Failed, Scope, found_workspace

if TYPE_CHECKING:
    from core import Memory


def open_app(scope: Scope) -> int:
    """Open the app on the memory that `scope` names; returns its exit code."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Failed(
            "the app needs a terminal: standard input, output or error is none",
            remedy="Without one: memdeck search QUERY, memdeck get PATH, memdeck status; memdeck --help lists all.",
        )
    if os.environ.get("TERM") == "dumb":
        raise Failed(
            "the app needs a terminal that can move its cursor, and TERM is 'dumb'",
            remedy="Set TERM to what the terminal is (xterm-256color, tmux-256color), or use memdeck search QUERY.",
        )

    from core import SourceOffers, open_memory, start_log, user_state_dir
    from tui.app import run_app
    from tui.options import AppOptions

    environ, home = os.environ, Path.home()
    start_log(environ, home)
    history = user_state_dir(environ, home) / "queries"

    def open_workspace(folder: Path) -> Memory:
        return open_memory(workspace=folder, agent=scope.agent, store=scope.store, resident=True)

    offers = SourceOffers(environ=environ, home=home, cwd=Path.cwd(), agent=scope.agent, store=scope.store)
    options = AppOptions(environ=environ, offers=offers, open_workspace=open_workspace, history=history)
    workspace = found_workspace(scope)
    if workspace is None:
        looked_in = (home / ".openclaw" / "workspace", Path.cwd())
        return run_app(None, options=replace(options, looked_in=looked_in))
    memory = open_workspace(workspace)
    notices = (*memory.settings.problems, *memory.settings.warnings)
    return run_app(memory, options=replace(options, notices=notices))
