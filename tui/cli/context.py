"""`memdeck context`: what an agent loads when it starts."""

from __future__ import annotations

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options


@click.command("context")
@json_option
@scope_options
def command(*, scope: Scope, as_json: bool) -> int:
    """Print MEMORY.md, today's and yesterday's notes, each bounded and with its citation."""
    from core import Citation, get_json

    with opened(scope) as memory:
        parts = memory.context()
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
