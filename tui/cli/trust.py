"""`memdeck trust`: let all settings of a workspace's .memdeck.toml count, as its content is now."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import click

from tui.cli import output
from tui.cli.common import Failed, Scope, found_workspace, json_option, no_workspace, scope_options


@click.command("trust")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--revoke", is_flag=True, help="Take the trust back.")
@json_option
@scope_options
def command(*, scope: Scope, yes: bool, revoke: bool, as_json: bool) -> int:
    """Let a workspace's own settings count in full.

    Untrusted, .memdeck.toml may set search, chunking, citations and appearance; endpoints, headers, commands, extra
    paths, store and the rest wait for this command. Any later change of the file ends the trust.
    """
    from core import distrust_workspace_file, trust_workspace_file, workspace_file

    workspace = found_workspace(scope)
    if workspace is None:
        raise no_workspace()
    path = workspace_file(workspace)
    environ, home = os.environ, Path.home()
    if revoke:
        was_trusted = distrust_workspace_file(path, environ=environ, home=home)
        _say(path, as_json, trusted=False, text="is not trusted any more" if was_trusted else "was not trusted")
        return output.OK
    content = _content(path)
    if not yes:
        _ask(path, content)
    digest = trust_workspace_file(path, environ=environ, home=home, content=content)
    _say(path, as_json, trusted=True, text="is trusted as it is now", digest=digest)
    return output.OK


def _content(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Failed(f"{path} does not exist: there is nothing to trust", code=output.NOTHING) from None
    except OSError as error:
        if path.is_symlink():
            raise Failed(f"{path} is a symbolic link, and those are not followed") from error
        raise
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Failed(f"{path} is not a regular file")
        return stream.read()


def _ask(path: Path, content: bytes) -> None:
    """Show what is to be trusted and ask; raises Failed unless the answer is yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failed(
            f"{path} was not trusted: there is no terminal to ask on",
            remedy="Read the file, then run memdeck trust --yes.",
        )
    output.note(content.decode("utf-8", "replace").rstrip("\n"))
    if not click.confirm(f"\nLet these settings of {output.visible(str(path))} count?", err=True):
        raise Failed(f"{path} was not trusted", code=output.NOTHING)


def _say(path: Path, as_json: bool, *, trusted: bool, text: str, digest: str = "") -> None:
    if as_json:
        output.print_json({"path": str(path), "trusted": trusted, **({"sha256": digest} if digest else {})})
    else:
        output.line(f"{output.visible(str(path))} {text}")
