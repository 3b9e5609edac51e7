"""`memdeck flush`: the write to memory before an agent's compaction, and whether it is due."""

from __future__ import annotations

from pathlib import Path

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options
from tui.cli.note import tell, text_from


@click.command("flush")
@click.argument("words", nargs=-1, metavar="TEXT")
@click.option("--due", is_flag=True, help="Only say whether a flush is due: exit code 0 if so, else 1.")
@click.option("--tokens", type=click.IntRange(min=0), metavar="N", help="Tokens in use in the agent's context.")
@click.option("--window", type=click.IntRange(min=1), metavar="N", help="The context window in tokens.")
@click.option("--transcript", type=click.Path(path_type=Path), metavar="FILE", help="The session's transcript.")
@click.option("--session-key", default="", metavar="KEY", help="Whose flush it is.")
@click.option("--cycle", type=click.IntRange(min=0), default=0, metavar="N", help="Compactions so far.")
@json_option
@scope_options
def command(
    words: tuple[str, ...],
    *,
    scope: Scope,
    due: bool,
    tokens: int | None,
    window: int | None,
    transcript: Path | None,
    session_key: str,
    cycle: int,
    as_json: bool,
) -> int:
    """Append TEXT (or standard input) to today's note before a compaction, and index it.

    It is due once in each compaction cycle of a session, at contextWindow - 20000 - 4000 tokens or a transcript of
    2 MiB (settings flush.*).
    """
    if not due:
        text = text_from(words)
        with opened(scope) as memory:
            tell(memory.flush(text, session_key=session_key, cycle=cycle), as_json=as_json)
        return output.OK
    with opened(scope) as memory:
        answer = memory.flush_due(
            tokens=tokens, context_window=window, transcript=transcript, session_key=session_key, cycle=cycle
        )
    if as_json:
        output.print_json({"due": answer.due, "reason": answer.reason})
    else:
        output.line(output.visible(f"{'due' if answer.due else 'not due'}: {answer.reason}"))
    return output.OK if answer.due else output.NOTHING
