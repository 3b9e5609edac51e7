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

    PATH is what a search shows, with or without its lines. The file itself is left alone: delete it yourself if it is
    to go too.
    """
    if not undo and not yes and not as_json:
        _ask(paths)
    from core import NotIndexed

    with opened(scope) as memory:
        try:
            report = memory.remember(*paths) if undo else memory.forget(*paths)
        except NotIndexed as error:
            raise Failed(str(error), remedy=error.remedy, code=output.NOTHING) from error
    removed, chunks = report.removed, report.chunks_removed
    warnings = [report.warning] if report.warning else []
    if as_json:
        answer = {"paths": list(paths), "undone": undo, "documentsRemoved": removed, "chunksRemoved": chunks}
        output.print_json({**answer, "warnings": warnings})
    elif undo:
        output.line("they come back with the next sync")
    elif removed:
        output.line(f"{output.count(removed, 'document')} forgotten, {output.count(chunks, 'chunk')} taken out")
    else:
        output.line("forgotten before: nothing was left to take out")
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
