"""Transcripts as they are read, for tests of the dialects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from core.settings.model import Sessions
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.model import ROLES, Role, Session
from core.sources.transcripts.reading import SessionSource, read_file, session_of

Json = dict[str, object]


def read(dialect: str, path: Path, *records: Json) -> Session:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_file(dialect, str(path), ROLES)


def said(session: Session, *roles: Role) -> list[tuple[str, str]]:
    wanted = roles or ("user", "assistant")
    return [(message.role, message.text) for message in session.messages if message.active and message.role in wanted]


def all_sessions(home: Path, *agents: str, paths: tuple[str, ...] = ()) -> dict[str, Session]:
    found, _ = Finder(Sessions(agents=agents, paths=paths), home=home, environ={}, agent_id="main").look()
    source = SessionSource()
    return {one.path: session_of(source.read(one, ROLES)) for one in found}


SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"


def openclaw_store(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "openclaw-sqlite", tmp_path, dirs_exist_ok=True)
    return tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
