"""Copying over SSH: OSC 52 for the terminal, `tmux load-buffer -w` where tmux stands between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

OSC_52_LIMIT = 74_994
"""Bytes of text beyond which terminals drop an OSC 52 (100,000 bytes of sequence)."""
TMUX_LIMIT = 1 << 20
"""Bytes of text that are worth a buffer of tmux."""
_TMUX_SECONDS = 2.0


def copy_limit(environ: Mapping[str, str]) -> int:
    """How many bytes of a text some clipboard takes."""
    return TMUX_LIMIT if environ.get("TMUX") else OSC_52_LIMIT


async def copy_text(text: str, *, osc52: Callable[[str], None], environ: Mapping[str, str]) -> str:
    """Put `text` on the clipboard in every way there is and say, in a few words, where it went; "" for nowhere."""
    places = []
    if len(text.encode("utf-8", "replace")) <= OSC_52_LIMIT:
        osc52(text)
        places.append("clipboard (OSC 52)")
    if environ.get("TMUX") and await _load_tmux_buffer(text, environ):
        places.append("tmux buffer")
    return " and ".join(places)


async def _load_tmux_buffer(text: str, environ: Mapping[str, str]) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", "-w", "-",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environ),
        )  # fmt: skip
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), _TMUX_SECONDS)
    except TimeoutError:
        process.kill()
        return False
    return process.returncode == 0
