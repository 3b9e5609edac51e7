"""`memdeck forget`: a document leaves the index for good."""

from __future__ import annotations

import click

from tui.cli import output
from tui.cli.common import Failed, Scope, json_option, opened, scope_options


@click.command("forget")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--undo", is_flag=True, help="Let forgotten documents come back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@scope_options
def command(paths: tuple[str, ...], *, scope: Scope, undo: bool, yes: bool, as_json: bool) -> int:
    """Take documents out of the index with every byte of their text, and keep them from coming back.

    PATH is what a search shows. The file itself is left alone: delete it yourself if it is to go too.
    """
    if not undo and not yes and not as_json:
        _ask(paths)
    with opened(scope) as memory:
        reports = [memory.remember(path) if undo else memory.forget(path) for path in paths]
    chunks = sum(report.chunks_removed for report in reports)
    warnings = sorted({report.warning for report in reports if report.warning})
    if as_json:
        output.print_json({"paths": list(paths), "undone": undo, "chunksRemoved": chunks, "warnings": warnings})
    elif undo:
        output.line("they come back with the next sync")
    else:
        output.line(f"{output.count(len(paths), 'document')} forgotten, {output.count(chunks, 'chunk')} taken out")
    for warning in warnings:
        output.note(f"warning: {warning}")
    return output.OK


def _ask(paths: tuple[str, ...]) -> None:
    names = ", ".join(output.visible(path) for path in paths)
    try:
        sure = click.confirm(f"Forget {names}?", err=True)
    except click.Abort:
        sure = False
    if not sure:
        raise Failed("nothing was forgotten", remedy="Say yes, or give --yes.")
