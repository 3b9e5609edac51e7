"""Opening a memory: where it lies, with which settings; the same one is opened once in a process."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core.backends.choice import with_qmd_paths
from core.errors import WorkspaceError
from core.memory import Memory
from core.settings import LoadedSettings, load_settings, resolve_workspace, store_path, user_cache_dir, user_state_dir

if TYPE_CHECKING:
    from core.bus import Event
    from core.event_log import EventLog

_open: dict[str, Memory] = {}
_open_lock = threading.Lock()


def open_memory(
    *,
    workspace: Path | None = None,
    agent: str = "main",
    store: Path | None = None,
    settings: LoadedSettings | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    resident: bool = False,
    keep_log: bool = False,
) -> Memory:
    """Open the memory of `agent` in `workspace`; the same agent, workspace and settings give the same object.

    `flags` are settings given on the command line, by dotted key. `resident` keeps vectors in memory, for processes
    that live long. `keep_log` writes what happens to the log, which is loaded when there is something to log.
    Raises WorkspaceError, SettingsError.
    """
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    configured = None
    if workspace is None:
        base = load_settings(workspace=None, agent=agent, environ=environ, home=home, flags=flags, strict=False)
        configured = base.settings.workspace
    found = resolve_workspace(workspace, environ=environ, home=home, cwd=cwd or Path.cwd(), configured=configured)
    if found is None:
        raise WorkspaceError(
            "no workspace: neither ~/.openclaw/workspace nor a MEMORY.md or memory/ in the current folder",
            remedy="name one with --workspace DIR",
        )
    if not found.is_dir():
        raise WorkspaceError(f"the workspace {found} is not a folder", remedy="name another with --workspace DIR")
    loaded = settings or load_settings(workspace=found, agent=agent, environ=environ, home=home, flags=flags)
    loaded = with_qmd_paths(loaded)
    index = store or store_path(loaded.settings, agent=agent, workspace=found, environ=environ, home=home)
    key = _memory_key(agent, found, index, loaded, resident)
    with _open_lock:
        memory = _open.get(key)
        if memory is None:
            memory = Memory(
                agent=agent,
                workspace=found,
                store=index,
                settings=loaded,
                home=home,
                cache_dir=user_cache_dir(environ, home),
                state_dir=user_state_dir(environ, home),
                environ=environ,
                resident=resident,
            )
            memory.on_close(lambda: _forget(key))
            memory.events.subscribe(_Logged(environ, home, keep_log=keep_log))
            if keep_log and "logging" in sys.modules:
                _start_log(environ, home)
            _open[key] = memory
        return memory


def _start_log(environ: Mapping[str, str], home: Path) -> None:
    from core.logbook import start_log

    start_log(environ, home)


class _Logged:
    """Logs events; what that takes is loaded with the first of them."""

    def __init__(self, environ: Mapping[str, str], home: Path, *, keep_log: bool) -> None:
        self._place = (environ, home)
        self._keep_log = keep_log
        self._log: EventLog | None = None

    def __call__(self, event: Event) -> None:
        if self._log is None:
            if self._keep_log:
                _start_log(*self._place)
            from core.event_log import EventLog

            self._log = EventLog()
        self._log(event)


def _forget(key: str) -> None:
    _open.pop(key, None)


def _memory_key(agent: str, workspace: Path, store: Path, loaded: LoadedSettings, resident: bool) -> str:
    parts = (agent, os.path.realpath(workspace), os.path.realpath(store), loaded.settings.fingerprint(), str(resident))
    return hashlib.sha256("\x1f".join(parts).encode(errors="surrogateescape")).hexdigest()


def close_all() -> None:
    """Close every memory that this process has open."""
    with _open_lock:
        memories = list(_open.values())
    for memory in memories:
        memory.close()
