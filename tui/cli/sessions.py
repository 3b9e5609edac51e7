"""`memdeck sessions`: the transcripts that are indexed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Failed, Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import SessionInfo


@click.command("sessions")
@click.argument("words", nargs=-1, metavar="[WORD…]")
@json_option
@scope_options
def command(words: tuple[str, ...], *, scope: Scope, as_json: bool) -> int:
    """List the indexed sessions, the latest first: start, agent, messages, size, title and path.

    WORDs narrow by title, folder, agent or path.
    """
    with opened(scope) as memory:
        if "sessions" not in memory.settings.settings.sources:
            raise Failed(
                "transcripts are not read",
                remedy='Name whose may be read: sessions.agents = ["claude-code", "codex", "openclaw", "pi"]',
            )
        found = [one for one in memory.sessions() if _has(one, words)]
    if as_json:
        output.print_json([_json(one) for one in found])
    else:
        for row in output.table([_row(one) for one in found]):
            output.line(row)
        if not found:
            output.note("no session is indexed; memdeck index reads those that are there")
    return output.OK if found else output.NOTHING


def _has(one: SessionInfo, words: tuple[str, ...]) -> bool:
    text = f"{one.title}\n{one.cwd}\n{one.dialect}\n{one.path}".casefold()
    return all(word.casefold() in text for word in words)


def _row(one: SessionInfo) -> tuple[str, ...]:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.started / 1000)) if one.started else "-"
    gone = " (source gone)" if one.is_gone else ""
    return (
        started,
        output.visible(one.dialect),
        output.count(one.messages, "message"),
        output.size(one.size),
        output.visible(f"{one.title or '(no title)'}{gone}"),
        output.visible(one.path),
    )


def _json(one: SessionInfo) -> dict[str, object]:
    return {
        "path": one.path,
        "dialect": one.dialect,
        "session": one.session,
        "title": one.title,
        "cwd": one.cwd,
        "model": one.model,
        "startedMs": one.started,
        "endedMs": one.ended,
        "messages": one.messages,
        "bytes": one.size,
        "chunks": one.chunks,
        "kind": one.kind,
        "parent": one.parent,
        "source": one.source,
        "sourceGone": one.is_gone,
        "unknownRecords": dict(one.unknown),
        "badLines": one.bad_lines,
        "resume": one.resume_command,
    }
