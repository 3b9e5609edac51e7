"""`memdeck get`: lines of one document, as the agents' tool `memory_get` reads them."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import GetResult, Memory

_REMEDIES = {
    "missing": "memdeck search QUERY shows the paths there are.",
    "not_allowed": "Readable are MEMORY.md, memory/**/*.md and what the setting extra_paths names.",
}
_CODES = {"ok": output.OK, "empty": output.OK, "missing": output.NOTHING}


@click.command("get")
@click.argument("place", metavar="PATH[#Lx-Ly]")
@click.option("--from", "from_line", type=int, metavar="N", help="The first line, counted from 1.")
@click.option("--lines", type=int, metavar="N", help="How many lines (default: 120, or 12,000 characters).")
@click.option("--raw", is_flag=True, help="Print control characters as they are, not as marks.")
@json_option
@scope_options
def command(place: str, *, scope: Scope, from_line: int | None, lines: int | None, raw: bool, as_json: bool) -> int:
    """Print lines of a document of the memory.

    PATH is what a search shows: memory/notes.md, memory/notes.md#L12-L20 or memory/notes.md:12.
    """
    with opened(scope) as memory:
        result = _read(memory, place, from_line, lines)
    code = _CODES.get(result.status, output.FAILURE)
    if as_json:
        from core import get_json

        output.print_json(get_json(result))
        return code
    if result.status == "ok":
        text = result.text if raw else output.visible(result.text, keep_newlines=True, keep_tabs=True)
        output.write(text if text.endswith("\n") or not text else text + "\n")
    if result.source_gone and sys.stderr.isatty():
        output.note("the transcript is gone; this is what the index kept of it")
    if result.truncated and result.next_from is not None and sys.stderr.isatty():
        output.note(f"continues: memdeck get {shlex.quote(result.path)} --from {result.next_from}")
    if code != output.OK:
        _report(result)
    return code


def _report(result: GetResult) -> None:
    reason = result.error or result.status.replace("_", " ")
    message = reason if reason.startswith(result.path) else f"{result.path}: {reason}"
    output.report(message, _REMEDIES.get(result.status, ""))


def _read(memory: Memory, place: str, from_line: int | None, lines: int | None) -> GetResult:
    """Read a path, or the lines that a citation names; a file whose name looks like a citation is read as a file."""
    from core import Citation

    cited = Citation.parse(place)
    if cited is None:
        read = memory.get(place, from_line, lines)
        path, mark, _ = place.rpartition("#")
        if read.status == "not_allowed" and mark and path.endswith(".md"):
            return replace(read, error=f"{place}: what follows # must name lines from 1 on, as in {path}#L12-L20")
        return read
    whole = memory.get(place, from_line, lines)
    if whole.status in ("ok", "empty", "denied"):
        return whole
    if from_line is not None or lines is not None:
        return memory.get(cited.path, from_line if from_line is not None else cited.start_line, lines)
    single = cited.start_line == cited.end_line and "#" not in place[len(cited.path) :]
    return memory.get(cited.path, cited.start_line, None if single else cited.end_line - cited.start_line + 1)
