"""Where things lie: the user's folders, the workspace, the index, the settings files."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from core.errors import SettingsError, WorkspaceError
from core.regexes import late_regex
from core.settings.model import Settings

_FOLDERS = {"config": ".config", "data": ".local/share", "state": ".local/state", "cache": ".cache"}
_MAC_FOLDERS = {**dict.fromkeys(_FOLDERS, "Library/Application Support"), "cache": "Library/Caches"}
_AGENT = late_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _folder(kind: str, environ: Mapping[str, str], home: Path) -> Path:
    given = Path(environ.get(f"XDG_{kind.upper()}_HOME", ""))
    if given.is_absolute():
        return given / "memdeck"
    return home / (_MAC_FOLDERS if sys.platform == "darwin" else _FOLDERS)[kind] / "memdeck"


def user_config_dir(environ: Mapping[str, str], home: Path) -> Path:
    """The folder of config.toml: XDG_CONFIG_HOME where it is absolute, else the system's usual place under `home`."""
    return _folder("config", environ, home)


def user_data_dir(environ: Mapping[str, str], home: Path) -> Path:
    """The folder of indexes and of what is trusted."""
    return _folder("data", environ, home)


def user_state_dir(environ: Mapping[str, str], home: Path) -> Path:
    """The folder of logs and histories."""
    return _folder("state", environ, home)


def user_cache_dir(environ: Mapping[str, str], home: Path) -> Path:
    """The folder of what can be made or fetched again."""
    return _folder("cache", environ, home)


def config_file(environ: Mapping[str, str], home: Path, config_dir: Path | None = None) -> Path:
    """The user's config.toml."""
    return (config_dir or user_config_dir(environ, home)) / "config.toml"


def workspace_file(workspace: Path) -> Path:
    """A workspace's own settings."""
    return workspace / ".memdeck.toml"


def openclaw_file(environ: Mapping[str, str], home: Path) -> Path:
    """OpenClaw's openclaw.json, where OpenClaw's own variables or its usual place put it."""
    given = environ.get("OPENCLAW_CONFIG_PATH", "")
    if given:
        return expand_user(given, home)
    state = environ.get("OPENCLAW_STATE_DIR", "")
    return (expand_user(state, home) if state else home / ".openclaw") / "openclaw.json"


def expand_user(path: str, home: Path) -> Path:
    """`~` and `~/…` below `home`; other paths as they are."""
    if path == "~" or path.startswith("~/"):
        return home / path[2:]
    return Path(path)


def resolve_workspace(
    given: Path | None, *, environ: Mapping[str, str], home: Path, cwd: Path, configured: str | None = None
) -> Path | None:
    """The workspace: given, MEMDECK_WORKSPACE, `configured` (settings.workspace), ~/.openclaw/workspace, or `cwd`.

    Relative paths begin in `cwd`, a configured one in `home`. What is named is returned, absolute, if missing too
    (its disk may be away); ~/.openclaw/workspace counts if it is a folder, `cwd` if it holds MEMORY.md, memory.md or a
    folder memory. None: nothing of these, ask. Raises WorkspaceError for a named one that is not a folder.
    """
    named = str(given) if given is not None else environ.get("MEMDECK_WORKSPACE")
    if named or configured:
        workspace = _absolute(named, cwd, home) if named else _absolute(configured or "", home, home)
        if workspace.exists() and not workspace.is_dir():
            raise WorkspaceError(
                f"{workspace} is not a folder", remedy="give the folder that holds MEMORY.md or memory/"
            )
        return workspace
    usual = home / ".openclaw" / "workspace"
    if usual.is_dir():
        return usual
    has_memory = any(_is_own(cwd / name, "file") for name in ("MEMORY.md", "memory.md")) or _is_own(
        cwd / "memory", "folder"
    )
    return cwd if has_memory else None


def _is_own(path: Path, kind: str) -> bool:
    """Symlinks are not followed, as in the scan."""
    return not path.is_symlink() and (path.is_file() if kind == "file" else path.is_dir())


def check_agent(agent: str) -> str:
    """The agent's id, if it can be part of a file name. Raises SettingsError."""
    if _AGENT.fullmatch(agent) is None:
        raise SettingsError([f"agent = {agent!r}: must be up to 64 letters, digits, '.', '_' or '-', no sign first"])
    return agent


def store_path(settings: Settings, agent: str, workspace: Path, environ: Mapping[str, str], home: Path) -> Path:
    """The index file of one agent and workspace.

    `store.path` with `{agentId}` replaced (`~` is home, a relative path lies in the workspace), else
    `<user data>/<agentId>-<first 8 of sha256 of the workspace's real path>.sqlite`.
    Raises SettingsError for an agent that is no file name and for a path among OpenClaw's own files.
    """
    check_agent(agent)
    if settings.store.path is None:
        real = os.path.realpath(workspace)
        digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
        return user_data_dir(environ, home) / f"{agent}-{digest}.sqlite"
    if is_openclaws(settings.store.path, workspace, home):
        raise SettingsError([f"store.path = {settings.store.path!r}: must not lie among OpenClaw's own files"])
    return _absolute(settings.store.path.replace("{agentId}", agent), workspace, home)


def is_openclaws(path: str, workspace: Path, home: Path) -> bool:
    """Whether a store path lies where OpenClaw keeps its own indexes, agents and state."""
    place = _absolute(path, workspace, home)
    return any(place.is_relative_to(home / ".openclaw" / name) for name in ("memory", "agents", "state"))


def _absolute(path: str, folder: Path, home: Path) -> Path:
    return Path(os.path.normpath(folder.absolute() / expand_user(path, home)))
