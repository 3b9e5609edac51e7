"""Copying: OSC 52, and the tmux buffer of a real tmux server."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from tui.clipboard import OSC_52_LIMIT, copy_text


async def test_text_goes_out_by_osc52_and_the_answer_says_so() -> None:
    sent: list[str] = []
    assert await copy_text("a.md#L3", osc52=sent.append, environ={}) == "clipboard (OSC 52)"
    assert sent == ["a.md#L3"]


async def test_text_beyond_what_terminals_take_is_not_sent() -> None:
    sent: list[str] = []
    assert await copy_text("x" * (OSC_52_LIMIT + 1), osc52=sent.append, environ={}) == ""
    assert sent == []


async def test_a_missing_tmux_is_no_error() -> None:
    place = await copy_text("a", osc52=lambda text: None, environ={"TMUX": "/x,1,0", "PATH": "/nonexistent"})
    assert place == "clipboard (OSC 52)"


@pytest.fixture
def tmux_server() -> Iterator[dict[str, str]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    name = f"memdeck-{uuid.uuid4().hex[:8]}"
    base = ["tmux", "-L", name, "-f", "/dev/null"]
    subprocess.run([*base, "new-session", "-d"], check=True)
    socket = subprocess.run(
        [*base, "display-message", "-p", "#{socket_path}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    yield {**os.environ, "TMUX": f"{socket},1,0"}
    subprocess.run([*base, "kill-server"], check=False)


async def test_inside_tmux_the_text_lands_in_its_buffer_unchanged(tmux_server: dict[str, str]) -> None:
    text = "memory/日本.md#L3\nsecond [line] \x1b[2J"
    place = await copy_text(text, osc52=lambda text: None, environ=tmux_server)
    socket = tmux_server["TMUX"].split(",")[0]
    shown = subprocess.run(["tmux", "-S", socket, "show-buffer"], check=True, capture_output=True).stdout
    assert (shown.decode(), place) == (text, "clipboard (OSC 52) and tmux buffer")
