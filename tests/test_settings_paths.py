"""Where settings, index and workspace lie."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.errors import SettingsError, WorkspaceError
from core.settings import (
    Settings,
    resolve_workspace,
    settings_of,
    store_path,
    user_cache_dir,
    user_config_dir,
    user_data_dir,
    user_state_dir,
)

HOME = Path("/home/ada")
FOLDERS = {
    user_config_dir: ("XDG_CONFIG_HOME", ".config", "Library/Application Support"),
    user_data_dir: ("XDG_DATA_HOME", ".local/share", "Library/Application Support"),
    user_state_dir: ("XDG_STATE_HOME", ".local/state", "Library/Application Support"),
    user_cache_dir: ("XDG_CACHE_HOME", ".cache", "Library/Caches"),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_follows_xdg(folder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, linux, mac = FOLDERS[folder]  # type: ignore[index]
    assert callable(folder)
    monkeypatch.setattr("sys.platform", "linux")
    assert folder({}, HOME) == HOME / linux / "memdeck"
    assert folder({variable: "/x"}, HOME) == Path("/x/memdeck")
    assert folder({variable: "relative"}, HOME) == HOME / linux / "memdeck"
    monkeypatch.setattr("sys.platform", "darwin")
    assert folder({}, HOME) == HOME / mac / "memdeck"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "cwd").mkdir()
    return tmp_path / "cwd"


def resolve(tmp_path: Path, cwd: Path, given: Path | None = None, **more: object) -> Path | None:
    environ = more.pop("environ", {})
    return resolve_workspace(given, environ=environ, home=tmp_path, cwd=cwd, **more)  # type: ignore[arg-type]


def test_the_given_workspace_wins(tmp_path: Path, cwd: Path) -> None:
    (tmp_path / ".openclaw" / "workspace").mkdir(parents=True)
    environ = {"MEMDECK_WORKSPACE": "/variable"}
    assert resolve(tmp_path, cwd, cwd, environ=environ) == cwd
    assert resolve(tmp_path, cwd, Path("notes/../n"), environ=environ) == cwd / "n"
    assert resolve(tmp_path, cwd, Path("~/n")) == tmp_path / "n"
    assert resolve(tmp_path, cwd, environ=environ, configured="/configured") == Path("/variable")
    assert resolve(tmp_path, cwd, configured="~/configured") == tmp_path / "configured"
    assert resolve(tmp_path, cwd, configured="configured") == tmp_path / "configured"


def test_then_openclaws_then_the_current_folder_if_it_has_memory(tmp_path: Path, cwd: Path) -> None:
    assert resolve(tmp_path, cwd) is None
    (cwd / "MEMORY.md").write_text("x")
    assert resolve(tmp_path, cwd) == cwd
    (tmp_path / ".openclaw" / "workspace").mkdir(parents=True)
    assert resolve(tmp_path, cwd) == tmp_path / ".openclaw" / "workspace"


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md", "memory"])
def test_what_counts_as_memory(tmp_path: Path, cwd: Path, name: str) -> None:
    target = cwd / name
    target.mkdir() if name == "memory" else target.write_text("")
    assert resolve(tmp_path, cwd) == cwd


def test_a_symlink_is_no_memory(tmp_path: Path, cwd: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (cwd / "memory").symlink_to(tmp_path / "elsewhere")
    assert resolve(tmp_path, cwd) is None


def test_a_given_file_is_no_workspace(tmp_path: Path, cwd: Path) -> None:
    (cwd / "MEMORY.md").write_text("")
    with pytest.raises(WorkspaceError, match="is not a folder"):
        resolve(tmp_path, cwd, cwd / "MEMORY.md")


def test_the_index_lies_in_the_data_folder_named_by_agent_and_workspace(tmp_path: Path) -> None:
    digest = hashlib.sha256(str(tmp_path.resolve()).encode()).hexdigest()[:8]
    assert store_path(Settings(), "main", tmp_path, {"XDG_DATA_HOME": "/d"}, HOME) == Path(
        f"/d/memdeck/main-{digest}.sqlite"
    )


def test_one_workspace_has_one_index_however_it_is_reached(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ws")
    assert store_path(Settings(), "main", tmp_path / "ws", {}, HOME) == store_path(
        Settings(), "main", tmp_path / "link", {}, HOME
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~/idx/{agentId}.sqlite", "/home/ada/idx/main.sqlite"),
        ("/var/x.sqlite", "/var/x.sqlite"),
        (".memdeck/index.sqlite", "/ws/.memdeck/index.sqlite"),
        ("~/.openclaw/workspace/x.sqlite", "/home/ada/.openclaw/workspace/x.sqlite"),
    ],
)
def test_a_store_path_of_ones_own(path: str, expected: str) -> None:
    settings = settings_of({"store": {"path": path}})
    assert store_path(settings, "main", Path("/ws"), {}, HOME) == Path(expected)


@pytest.mark.parametrize("path", ["~/.openclaw/memory/{agentId}.sqlite", "~/.openclaw/x/../agents/a/agent/a.sqlite"])
def test_openclaws_own_index_is_never_the_store(path: str) -> None:
    with pytest.raises(SettingsError, match="OpenClaw's own files"):
        store_path(settings_of({"store": {"path": path}}), "main", Path("/ws"), {}, HOME)


def test_an_agent_that_is_a_path_has_no_index() -> None:
    with pytest.raises(SettingsError):
        store_path(Settings(), "../main", Path("/ws"), {}, HOME)
