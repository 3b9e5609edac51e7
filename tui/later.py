"""Screens and windows that the first one can do without: loaded when they are asked for, or in a quiet moment before.

A third of what importing the app costs is theirs, and a start should not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.screens.files import FilesScreen
    from tui.screens.first_run import FirstRunScreen
    from tui.screens.sessions import SessionsScreen
    from tui.screens.status import StatusScreen

_ALL = ("palette", "explain", "sessions", "status", "files", "help", "note", "first_run")


def load() -> None:
    """Load all of them. Meant for a thread, while nothing else is to be done."""
    for name in _ALL:
        import_module(f"tui.screens.{name}")


def sessions() -> SessionsScreen:
    from tui.screens.sessions import SessionsScreen

    return SessionsScreen()


def status() -> StatusScreen:
    from tui.screens.status import StatusScreen

    return StatusScreen()


def files() -> FilesScreen:
    from tui.screens.files import FilesScreen

    return FilesScreen()


def first_run() -> FirstRunScreen:
    from tui.screens.first_run import FirstRunScreen

    return FirstRunScreen()
