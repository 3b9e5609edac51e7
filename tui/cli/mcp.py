"""`memdeck mcp`: the two tools for agents, over standard input and output."""

from __future__ import annotations

import sys

import click

from tui.cli import output
from tui.cli.common import Scope, opened, scope_options


@click.command("mcp")
@scope_options
def command(*, scope: Scope) -> int:
    """Serve memory_search and memory_get over MCP, until the agent closes the connection.

    An agent's host starts this command; set it up there as: memdeck mcp --workspace DIR.
    """
    from core import serve_mcp

    if sys.stdin.isatty():
        output.note("memdeck mcp waits for an MCP client on standard input; Ctrl-C ends it")
    with opened(scope, resident=True) as memory:
        return serve_mcp(memory)
