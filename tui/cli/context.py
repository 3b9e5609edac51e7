"""`memdeck context`: what an agent loads when it starts, and what it should know of its memory tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import GetResult


@click.command("context")
@click.option("--guide", "wants_guide", is_flag=True, help="Print how to use memory_search and memory_get instead.")
@json_option
@scope_options
def command(*, scope: Scope, wants_guide: bool, as_json: bool) -> int:
    """Print MEMORY.md, today's and yesterday's notes, each bounded and with its citation.

    With --guide print what a model should know before it uses the memory: when to search and how, what to do on weak
    results, where to write. It needs no index.
    """
    with opened(scope) as memory:
        if wants_guide:
            return _print_guide(enabled=memory.settings.settings.enabled, as_json=as_json)
        parts = memory.context()
    return _print_context(parts, as_json=as_json)


def _print_guide(*, enabled: bool, as_json: bool) -> int:
    from core import guide, guide_json

    if as_json:
        output.print_json(guide_json(enabled=enabled))
    else:
        output.write(guide(enabled=enabled, commands=True))
    return output.OK


def _print_context(parts: tuple[GetResult, ...], *, as_json: bool) -> int:
    from core import Citation, get_json

    if as_json:
        output.print_json([get_json(part) for part in parts])
        return output.OK if parts else output.NOTHING
    for number, part in enumerate(parts):
        citation = Citation(part.path, part.from_line, part.from_line + part.lines - 1)
        text = output.visible(part.text.rstrip(), keep_newlines=True, keep_tabs=True)
        more = f"\n… memdeck get {part.path} --from {part.next_from}" if part.next_from else ""
        output.line(f"{chr(10) if number else ''}{text}{more}\n\nSource: {output.visible(str(citation))}")
    if not parts:
        output.note("there is no MEMORY.md and no note of today or yesterday")
    return output.OK if parts else output.NOTHING
