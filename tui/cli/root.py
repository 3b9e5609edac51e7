"""The command `memdeck` itself: its subcommands, and how each kind of failure ends."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from tui.cli import output
from tui.cli.common import Failed, LazyGroup, Scope, scope_options

_MODULES = {
    "search": "tui.cli.search",
    "get": "tui.cli.get",
    "index": "tui.cli.index",
    "status": "tui.cli.status",
    "watch": "tui.cli.watch",
    "note": "tui.cli.note",
    "flush": "tui.cli.flush",
    "context": "tui.cli.context",
    "forget": "tui.cli.forget",
    "sessions": "tui.cli.sessions",
    "mcp": "tui.cli.mcp",
    "config": "tui.cli.config",
    "keys": "tui.cli.keys",
    "trust": "tui.cli.trust",
    "doctor": "tui.cli.doctor",
    "demo": "tui.cli.demo",
}


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 usage, refusal or failure.",
)
@click.version_option(package_name="memdeck", message="%(prog)s %(version)s")
@scope_options
@click.pass_context
def memdeck(context: click.Context, /, scope: Scope) -> None:
    """See and search what your agents remember.

    Without a command, memdeck opens the app. The options below may stand before or after the command.
    """
    if context.invoked_subcommand is None:
        from tui.cli.app import open_app

        context.exit(open_app(scope))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and turn every expected failure into one line, a remedy and an exit code."""
    try:
        code = memdeck.main(list(arguments), prog_name="memdeck", standalone_mode=False)
        output.flush()
    except KeyboardInterrupt:
        return output.INTERRUPTED
    except Exception as error:
        return _failure(error)
    return code if isinstance(code, int) else output.OK


def _failure(error: Exception) -> int:
    if isinstance(error, click.Abort):
        return output.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        output.discard_output()
        return output.BROKEN_PIPE
    if isinstance(error, output.OutputLost):
        output.report(f"standard output cannot be written: {error}")
        return output.FAILURE
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "memdeck"
        output.report(error.format_message(), getattr(error, "remedy", "") or f"Usage: {path} --help")
        return output.FAILURE
    if isinstance(error, Failed):
        output.report(str(error), error.remedy)
        return error.code
    if isinstance(error, click.ClickException):
        output.report(error.format_message())
        return output.FAILURE

    from core import MemdeckError

    if isinstance(error, MemdeckError):
        output.report(str(error), error.remedy)
    elif isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        output.report(f"{where}{error.strerror or error}")
    else:
        output.report(
            f"unexpected {type(error).__name__}: {error}",
            "This is a defect of memdeck; MEMDECK_TRACEBACK=1 shows where it happened.",
        )
        if os.environ.get("MEMDECK_TRACEBACK"):
            import traceback

            output.note("".join(traceback.format_exception(error)))
    return output.FAILURE
