"""A golden for each dialect and version: the normal form and the rendered text of a sample, as `golden/*.txt`."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.settings.model import Sessions
from core.sources.redaction import Redactor
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.model import ROLES, Session
from core.sources.transcripts.reading import SessionSource, session_of
from core.sources.transcripts.render import render

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
AGENTS = ("openclaw", "claude-code", "codex", "pi", "gemini", "opencode")


def sessions_in(home: Path, *paths: str) -> list[tuple[str, Session]]:
    """Every session that is found, with its document path."""
    finder = Finder(Sessions(agents=AGENTS, paths=paths), home=home, environ={}, agent_id="main")
    found, _ = finder.look()
    source = SessionSource()
    return [(one.path, session_of(source.read(one, ROLES))) for one in found]


def moment(ms: int | None) -> str:
    return "-" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6]


def told(path: str, session: Session, home: Path) -> str:
    """A session as text."""
    rendered = render(session.messages, Redactor())
    lines = [
        f"document {path}",
        f"session {session.id} ({session.kind})",
        f"title {session.title} (by {session.title_source})",
        f"cwd {session.cwd.replace(str(home), '')} model {session.model} parent {session.parent}",
        f"from {moment(session.started)} to {moment(session.ended)}, {session.lines} lines",
        f"unknown {dict(session.unknown)} bad {[(bad.line, bad.why) for bad in session.bad_lines]}",
        "messages",
    ]
    for message in session.messages:
        where = f"{message.line_start}-{message.line_end}"
        left = "" if message.active else " (left)"
        lines.append(f"  {message.role} {where} {moment(message.ts)}{left}: {message.text!r}")
    lines.append("rendered")
    lines.extend(f"  {number}: {line}" for number, line in zip(rendered.line_map, rendered.lines, strict=True))
    return "\n".join(lines) + "\n"


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "sample",
    [
        "claude-code",
        "codex",
        "gemini",
        "openclaw-jsonl",
        "openclaw-sqlite",
        "opencode",
        "opencode-legacy",
        "pi",
        "aider",
    ],
)
def test_sample_reads_as_its_golden_says(sample: str, tmp_path: Path, in_utc: None) -> None:
    home = tmp_path / "home"
    shutil.copytree(SAMPLES / sample, home)
    paths = (str(home / "src"),) if sample == "aider" else ()

    read = "\n".join(told(path, session, tmp_path) for path, session in sessions_in(home, *paths))

    # An Aider chat is named after the folder it lies in.
    assert (
        re.sub(r"\S*-home-src-kiln", "TMP-home-src-kiln", read.replace("sessions/aider/", "sessions/aider/ "))
        == (SAMPLES / "golden" / f"{sample}.txt").read_text()
    )
