"""`memdeck demo`: the app, opened on a small sample workspace that is the user's to play with."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import click

from tui.cli import output
from tui.cli.app import open_app
from tui.cli.common import Failed, Scope, json_option, scope_options

SAMPLE = Path(__file__).parent / "workspace"
_MARKER = ".memdeck-demo"


@click.command("demo")
@json_option
@scope_options
def command(*, scope: Scope, as_json: bool) -> int:
    """Open the app on a sample workspace.

    The sample is copied to --workspace DIR, or to the user's data folder; what is changed there stays changed. Without
    a terminal the copy is made and its place printed.
    """
    folder = scope.workspace or _default_folder()
    copied = lay_out(folder)
    if as_json:
        output.print_json({"workspace": str(folder.absolute()), "files": copied})
        return output.OK
    if sys.stdin.isatty() and sys.stdout.isatty():
        return open_app(replace(scope, workspace=folder))
    output.line(output.visible(str(folder.absolute())))
    output.note(
        "the app needs a terminal; here, try: memdeck index --workspace DIR, then memdeck search --workspace DIR QUERY"
    )
    return output.OK


def lay_out(folder: Path) -> int:
    """Put the sample's files that are missing into `folder`; returns how many. Raises Failed where other files lie."""
    if folder.exists() and not folder.is_dir():
        raise Failed(f"{folder} is not a folder", remedy="Name another with --workspace DIR.")
    marker = folder / _MARKER
    if folder.is_dir() and any(folder.iterdir()) and not marker.exists():
        raise Failed(
            f"{folder} holds something else, and the sample does not go into it",
            remedy="Name a new or empty folder with --workspace DIR.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    marker.touch()
    copied = 0
    for source in sorted(SAMPLE.rglob("*.md")):
        target = folder / source.relative_to(SAMPLE)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            copied += 1
    return copied


def _default_folder() -> Path:
    from core import user_data_dir

    return user_data_dir(os.environ, Path.home()) / "demo"
