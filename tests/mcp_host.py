"""A host of the MCP server, for tests: a real process and the official client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Tool

from core import open_memory

NOTES = {
    "MEMORY.md": "# Memory\n\nBilling runs on Postgres 16.\n",
    "memory/2026-01-02.md": "# Deploy\n\nblue\n\nRoll back with kubectl rollout undo.\ngreen\n",
    "memory/control.md": "escape \x1b[2J and \u009b and \u202e in zanzibar\n",
}


REPOSITORY = Path(__file__).parent.parent


class Talk:
    """The SDK's client in a thread of its own, for tests that wait for each answer."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    @property
    def instructions(self) -> str:
        return self._client.instructions or ""

    def tools(self) -> list[Tool]:
        return list(self._portal.call(self._client.list_tools).tools)

    def result(self, name: str, **arguments: object) -> CallToolResult:
        return self._portal.call(self._client.call_tool, name, arguments)

    def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """The structured answer of a tool; the client has checked it against the tool's schema."""
        result = self.result(name, **arguments)
        assert not result.is_error, result.content
        assert json.loads(text_of(result)) == result.structured_content
        return dict(result.structured_content or {})

    def refusal(self, name: str, **arguments: object) -> str:
        result = self.result(name, **arguments)
        assert result.is_error
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    return str(result.content[0].text)  # type: ignore[union-attr]


class Deck:
    """A workspace, and how a server over it is started."""

    def __init__(self, root: Path, config: str = "") -> None:
        self.root = root
        self.workspace = root / "ws"
        for name, text in NOTES.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        (root / "config/memdeck").mkdir(parents=True, exist_ok=True)
        (root / "config/memdeck/config.toml").write_text(f'provider = "none"\n{config}')
        self.environ = {
            "HOME": str(root / "home"),
            "PATH": os.environ.get("PATH", os.defpath),
            **{f"XDG_{kind.upper()}_HOME": str(root / kind) for kind in ("config", "data", "state", "cache")},
        }

    @property
    def arguments(self) -> list[str]:
        return ["-m", "tui", "mcp", "--workspace", str(self.workspace), "--store", str(self.root / "index.sqlite")]

    def index(self) -> None:
        memory = open_memory(
            workspace=self.workspace, store=self.root / "index.sqlite", environ=self.environ, home=self.root / "home"
        )
        memory.sync()
        memory.close()

    @contextmanager
    def server(self) -> Iterator[Talk]:
        """A server process, and the SDK's client that talks to it."""
        parameters = StdioServerParameters(
            command=sys.executable, args=self.arguments, env=self.environ, cwd=REPOSITORY
        )
        with (self.root / "stderr").open("a") as errors, start_blocking_portal() as portal:
            client = Client(stdio_client(parameters, errlog=errors))
            with portal.wrap_async_context_manager(client):
                yield Talk(portal, client)

    def process(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *self.arguments],
            env=self.environ,
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
