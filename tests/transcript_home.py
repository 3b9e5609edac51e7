"""A home folder with transcripts in it, for tests of the sessions screen: the samples, or talks written by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
AGENTS = ["openclaw", "claude-code", "codex", "pi", "gemini", "opencode"]
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
HOSTILE = (
    "\x1b[2J \x1b]52;c;QUFB\x07 \x1b]0;title\x07 \u009b31m \u202eevil\u2066"
    " [@click=app.quit]x[/] [/x] [red]no[/red] \x00"
)
PI = "sessions/pi/kiln.jsonl"


def copy_samples(home: Path, *samples: str) -> None:
    """Copy what is in `fixtures/transcripts/<sample>` into a home folder."""
    for sample in samples:
        shutil.copytree(SAMPLES / sample, home, dirs_exist_ok=True)


def pi_file(home: Path, name: str = "kiln") -> Path:
    return home / f".pi/agent/sessions/--w--/2026-03-01T10-00-00-000Z_{name}.jsonl"


def write_pi(
    home: Path,
    messages: Iterable[tuple[str, str]],
    *,
    name: str = "kiln",
    title: str = "",
    cwd: str = "/src/kiln",
    first: int = 0,
) -> Path:
    """Write a session of pi with a message on each line from line 2 on, or append to it where `first` is above 0."""
    path = pi_file(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if first else "w", encoding="utf-8", errors="surrogatepass") as file:

        def write(record: dict[str, Any]) -> None:
            file.write(json.dumps(record) + "\n")

        if not first:
            write({"type": "session", "version": 3, "id": name, "timestamp": "2026-03-01T10:00:00Z", "cwd": cwd})
        for number, (role, text) in enumerate(messages, first):
            write(
                {
                    "type": "message",
                    "id": f"{number:08x}",
                    "parentId": f"{number - 1:08x}" if number else None,
                    "timestamp": f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}Z",
                    "message": {"role": role, "content": [{"type": "text", "text": text}], "toolCallId": "c"},
                }
            )
        if title:
            write({"type": "session_info", "id": "t", "name": title})
    return path
