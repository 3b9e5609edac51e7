"""`memdeck note`: append to today's note."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Failed, Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import Written


@click.command("note")
@click.argument("words", nargs=-1, metavar="TEXT")
@json_option
@scope_options
def command(words: tuple[str, ...], *, scope: Scope, as_json: bool) -> int:
    """Append TEXT to memory/YYYY-MM-DD.md, today by the local clock, and index it at once.

    Without TEXT, or with "-", the note is read from standard input.
    """
    text = text_from(words)
    with opened(scope) as memory:
        written = memory.note(text)
    tell(written, as_json=as_json)
    return output.OK


def text_from(words: tuple[str, ...]) -> str:
    """The text given, or what stands on standard input."""
    if words and words != ("-",):
        return " ".join(words)
    if sys.stdin.isatty() and not words:
        raise Failed("there is no text", remedy='Give it as words, or pipe it in: echo "…" | memdeck note -')
    return sys.stdin.read()


def tell(written: Written, *, as_json: bool) -> None:
    """Where the text stands now."""
    citation = written.citation
    if as_json:
        output.print_json(
            {
                "path": written.path,
                "absolute": str(written.absolute),
                "startLine": citation.start_line,
                "endLine": citation.end_line,
                "citation": str(citation),
                **({"warning": written.warning} if written.warning else {}),
            }
        )
    else:
        output.line(output.visible(f"{written.path}:{citation.start_line}"))
        if written.warning:
            output.note(f"warning: {output.visible(written.warning)}")
