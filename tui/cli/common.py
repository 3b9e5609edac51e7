"""What the commands share: the options that name a memory, opening it, and commands that load only when called."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from core import record
from tui.cli.output import FAILURE

if TYPE_CHECKING:
    from core import LoadedSettings, Memory

P = ParamSpec("P")
R = TypeVar("R")


class Failed(Exception):
    """A refusal or failure that the command line itself finds; `remedy` says what to do, `code` is the exit code."""

    def __init__(self, message: str, *, remedy: str = "", code: int = FAILURE) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.code = code


@record(frozen=True, slots=True)
class Scope:
    """Whose memory a command is about: the agent, and where workspace and index lie (None: by settings)."""

    agent: str = "main"
    workspace: Path | None = None
    store: Path | None = None


_SCOPE_OPTIONS = (
    click.option("--agent", metavar="ID", help="The agent whose index is used (default: main)."),
    click.option(
        "--workspace", metavar="DIR", type=click.Path(path_type=Path), help="The folder with MEMORY.md and memory/."
    ),
    click.option(
        "--store", metavar="FILE", type=click.Path(path_type=Path), help="The index file, in place of the usual one."
    ),
)


def scope_options(command: Callable[P, R]) -> Callable[..., R]:
    """Give a command `--agent`, `--workspace` and `--store`, received as one `scope: Scope`.

    What stands after the subcommand wins over what stands before it.
    """

    @functools.wraps(command)
    def with_scope(*args: Any, **values: Any) -> R:
        context = click.get_current_context()
        outer = context.parent.obj if context.parent is not None and isinstance(context.parent.obj, Scope) else Scope()
        scope = Scope(
            agent=values.pop("agent") or outer.agent,
            workspace=values.pop("workspace") or outer.workspace,
            store=values.pop("store") or outer.store,
        )
        context.obj = scope
        return command(*args, **{"scope": scope, **values})

    for option in reversed(_SCOPE_OPTIONS):
        with_scope = option(with_scope)
    return with_scope


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class LazyGroup(click.Group):
    """A group whose commands live in modules of this package and are imported when they are called or listed."""

    def __init__(self, *args: Any, modules: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(*args, **values)
        self._modules = dict(modules or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        command = import_module(self._modules[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._modules and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self._modules, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"To search for it: memdeck search {name}"
            raise click.UsageError(f"No such command '{name}'. {hint}", ctx)
        return super().resolve_command(ctx, args)


@contextmanager
def opened(scope: Scope, flags: Mapping[str, object] | None = None, *, resident: bool = False) -> Iterator[Memory]:
    """The memory that `scope` names, closed at the end, with a log; `resident` for commands that go on.

    Raises WorkspaceError, SettingsError and StoreError.
    """
    from core import open_memory

    if resident:
        from core import start_log

        start_log(os.environ, Path.home())
    memory = open_memory(
        workspace=scope.workspace,
        agent=scope.agent,
        store=scope.store,
        flags=flags,
        resident=resident,
        keep_log=True,
    )
    try:
        yield memory
    finally:
        memory.close()


def found_workspace(scope: Scope) -> Path | None:
    """The workspace that `scope` means, None if there is none. Raises WorkspaceError for one that is no folder."""
    from core import load_settings, resolve_workspace

    environ, home = os.environ, Path.home()
    general = load_settings(workspace=None, agent=scope.agent, environ=environ, home=home, strict=False)
    configured = general.settings.workspace
    return resolve_workspace(scope.workspace, environ=environ, home=home, cwd=Path.cwd(), configured=configured)


def no_workspace() -> Failed:
    """The refusal where nothing says which workspace is meant."""
    return Failed(
        "no workspace: neither ~/.openclaw/workspace nor a MEMORY.md or memory/ in the current folder",
        remedy="Name one with --workspace DIR, or try memdeck demo.",
    )


def loaded_settings(scope: Scope, *, strict: bool = True) -> LoadedSettings:
    """The merged settings for `scope`, without opening an index; a workspace need not exist.

    Raises SettingsError, unless not `strict`: then wrong values are in `problems`.
    """
    from core import load_settings

    workspace = found_workspace(scope)
    return load_settings(workspace=workspace, agent=scope.agent, environ=os.environ, home=Path.home(), strict=strict)
