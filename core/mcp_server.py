"""The two tools as an MCP server over standard input and output, by the official SDK (the extra `mcp`)."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from core.agent_tools import Json, memory_get, memory_search
from core.errors import MemdeckError
from core.memory import Memory
from core.text.lines import scrub
from core.tool_guide import GET_DESCRIPTION, OFF, SEARCH_DESCRIPTION, guide

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
    from pydantic import BaseModel, ValidationError

    from core.tool_schemas import GetArguments, SearchArguments

CLOSE_SECONDS = 5.0

# JSON allows these bare, but a terminal that shows the answer acts on some of them.
_UNSAFE = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")

log = logging.getLogger(__name__)


class _Tool(NamedTuple):
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Memory, Any, threading.Event], Json]


def _search(memory: Memory, asked: SearchArguments, cancel: threading.Event) -> Json:
    return memory_search(
        memory,
        asked.query,
        max_results=asked.max_results,
        min_score=asked.min_score,
        session_key=asked.session_key,
        cancel=cancel,
    )


def _get(memory: Memory, asked: GetArguments, cancel: threading.Event) -> Json:
    return memory_get(memory, asked.path, asked.from_, asked.lines)


@functools.cache
def _tools() -> dict[str, _Tool]:
    from core.tool_schemas import GetAnswer, GetArguments, SearchAnswer, SearchArguments

    return {
        "memory_search": _Tool(SEARCH_DESCRIPTION, SearchArguments, SearchAnswer, _search),
        "memory_get": _Tool(GET_DESCRIPTION, GetArguments, GetAnswer, _get),
    }


def make_server(memory: Memory) -> Server[Any]:
    """An MCP server with memory's two tools, or with none where the settings say `enabled = false`.

    Raises MemdeckError without the package `mcp`.
    """
    try:
        from mcp.server.lowlevel import Server
    except ImportError as error:
        raise MemdeckError(
            f"the MCP server needs the package mcp ({error})", remedy="install it with: pip install 'memdeck[mcp]'"
        ) from error
    from importlib.metadata import version

    enabled = memory.settings.settings.enabled

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return _tool_list(enabled=enabled)

    async def call_tool(_: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        if not enabled:
            return _refusal(OFF)
        return await _call(memory, asked.name, asked.arguments)

    return Server(
        "memdeck",
        version=version("memdeck"),
        instructions=guide(enabled=enabled),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_mcp(memory: Memory) -> int:
    """Serve until the client closes standard input, or SIGTERM or Ctrl-C ends it; the caller closes the memory.

    Keeps the index in step meanwhile. Nothing but the protocol reaches standard output: while serving, what anything
    else prints goes to standard error, as the log does. Returns the exit code. Raises MemdeckError without `mcp`.
    """
    server = make_server(memory)
    import anyio

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("memdeck: %(levelname)s %(message)s"))
    loggers = [logging.getLogger(name) for name in ("core", "mcp")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        anyio.run(_serve, server, memory)
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    return 0


async def _serve(server: Server[Any], memory: Memory) -> None:
    import anyio
    import anyio.to_thread
    from mcp.server.stdio import stdio_server

    async with anyio.create_task_group() as tasks:
        await tasks.start(functools.partial(_end_on_signal, memory, tasks.cancel_scope))
        async with stdio_server() as (incoming, outgoing):
            if memory.settings.settings.enabled:
                await anyio.to_thread.run_sync(memory.start)
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(memory: Memory, scope: CancelScope, *, task_status: Any) -> None:
    import anyio
    import anyio.to_thread

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        task_status.started()
        async for number in received:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await anyio.to_thread.run_sync(memory.close, abandon_on_cancel=True)
            # A thread of the SDK still waits for a line of standard input and would hold up an ordinary exit.
            os._exit(0 if number == signal.SIGTERM else 128 + number)


async def _call(memory: Memory, name: str, arguments: dict[str, Any] | None) -> CallToolResult:
    import anyio.to_thread
    from anyio import get_cancelled_exc_class
    from pydantic import ValidationError

    tool = _tools().get(name)
    if tool is None:
        return _refusal(f"there is no tool {name}; there are {' and '.join(_tools())}")
    try:
        asked = tool.arguments.model_validate(arguments or {})
    except ValidationError as error:
        return _refusal("\n".join(f"{name}: {line}" for line in _complaints(error)))
    cancel = threading.Event()
    try:
        run = functools.partial(tool.run, memory, asked, cancel)
        answer = await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
    except get_cancelled_exc_class():
        cancel.set()
        raise
    except Exception as error:
        log.exception("%s failed", name)
        return _refusal(f"{name} failed: {type(error).__name__}: {error}")
    return _answer(answer)


def _tool_list(*, enabled: bool) -> ListToolsResult:
    from mcp_types import ListToolsResult, Tool, ToolAnnotations

    from core.tool_schemas import schema

    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = [
        Tool(
            name=name,
            description=tool.description,
            input_schema=schema(tool.arguments),
            output_schema=schema(tool.answer),
            annotations=reads,
        )
        for name, tool in _tools().items()
    ]
    return ListToolsResult(tools=tools if enabled else [])


def _answer(answer: Json) -> CallToolResult:
    """An answer as text, in which no character acts on a terminal, and as it is."""
    from mcp_types import CallToolResult, TextContent

    text = scrub(json.dumps(answer, ensure_ascii=False))
    shown = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return CallToolResult(content=[TextContent(text=shown)], structured_content=json.loads(text))


def _refusal(words: str) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(text=scrub(words))], is_error=True)


def _complaints(error: ValidationError) -> list[str]:
    """One line for each wrong argument: its name, what was given, what is allowed."""
    lines = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"]) or "arguments"
        if problem["type"] == "missing":
            lines.append(f"{name} is missing")
        elif problem["type"] == "extra_forbidden":
            lines.append(f"{name} is no argument of this tool")
        else:
            message = problem["msg"].replace("Input should", "should")
            lines.append(f"{name} = {str(problem['input'])[:60]!r} {message}")
    return lines
