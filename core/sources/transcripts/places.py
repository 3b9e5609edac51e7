"""Where each agent keeps its transcripts. Nothing there is opened or listed before the settings name the agent."""

# ruff: noqa: PTH110
# A folder that may not be looked into counts as absent.

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from core.records import record
from core.settings.keys import nearest
from core.settings.paths import expand_user
from core.sources.transcripts import values
from core.sources.transcripts.records import read_json

AGENTS = ("openclaw", "claude-code", "codex", "pi", "omp", "gemini", "opencode", "aider")
"""The names that `sessions.agents` knows."""

LABELS = {
    "openclaw": "OpenClaw",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "pi": "pi",
    "omp": "oh-my-pi",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "aider": "Aider",
}


@record(frozen=True, slots=True)
class Place:
    """A folder (or file) with transcripts of one agent. `optional` ones are absent on many machines."""

    agent: str
    path: str
    optional: bool = False


@record(frozen=True, slots=True)
class OfferedPlace:
    """An agent whose transcripts seem to be on this machine: its name in the settings, for people, and where."""

    agent: str
    label: str
    path: str


def agent_name(written: str) -> str:
    """The name of an agent as `sessions.agents` may write it: any case, `claude` and `claudecode` are Claude Code."""
    name = written.strip().lower().replace("_", "-").replace(" ", "-")
    return {"claude": "claude-code", "claudecode": "claude-code", "gemini-cli": "gemini", "codex-cli": "codex"}.get(
        name, name
    )


def agent_problems(written: Iterable[str]) -> list[str]:
    """A line for each name that `sessions.agents` does not know."""
    unknown = [agent for agent in dict.fromkeys(map(agent_name, written)) if agent not in AGENTS]
    lines = []
    for agent in unknown:
        hint = nearest(agent, AGENTS)
        known = f"did you mean {hint}?" if hint else f"known are {', '.join(AGENTS)}"
        lines.append(f"sessions.agents: {agent!r} is not known; {known}")
    return lines


def places_of(agent: str, *, home: Path, environ: Mapping[str, str], agent_id: str = "main") -> tuple[Place, ...]:
    """Where an agent's transcripts lie by its own rules; `agent_id` is the agent of OpenClaw that is meant."""
    if agent == "openclaw":
        return tuple(Place(agent, f"{root}/agents/{agent_id}", optional) for root, optional in _openclaw(home, environ))
    if agent == "claude-code":
        root = _given(environ, "CLAUDE_CONFIG_DIR", home) or home / ".claude"
        return (Place(agent, str(root / "projects")),)
    if agent == "codex":
        root = _given(environ, "CODEX_HOME", home) or home / ".codex"
        return (Place(agent, str(root / "sessions")), Place(agent, str(root / "archived_sessions"), True))
    if agent == "pi":
        return _pi(home, environ)
    if agent == "omp":  # pi's transcripts in a folder of its own
        return (Place("pi", str(home / ".omp" / "agent" / "sessions")),)
    if agent == "gemini":
        root = _given(environ, "GEMINI_CLI_HOME", home) or home
        return (Place(agent, str(root / ".gemini" / "tmp")),)
    if agent == "opencode":
        data = _given(environ, "XDG_DATA_HOME", home) or home / ".local" / "share"
        return (Place(agent, str(data / "opencode")),)
    if agent == "aider":
        history = _given(environ, "AIDER_CHAT_HISTORY_FILE", home)
        return (Place(agent, str(history), True),) if history is not None else ()
    return ()


def offered_places(home: Path, environ: Mapping[str, str], *, agent_id: str = "main") -> tuple[OfferedPlace, ...]:
    """Which agents seem to have transcripts here, for a question to the user: only asks whether folders exist."""
    found = []
    for agent in AGENTS:
        for place in _default_places(agent, home, environ, agent_id):
            if os.path.exists(place.path):
                found.append(OfferedPlace(agent, LABELS[agent], place.path))
                break
    return tuple(found)


def _default_places(agent: str, home: Path, environ: Mapping[str, str], agent_id: str) -> tuple[Place, ...]:
    if agent == "pi":  # the others need no file to be read
        return (_pi_default(home, environ),)
    return places_of(agent, home=home, environ=environ, agent_id=agent_id)


def _openclaw(home: Path, environ: Mapping[str, str]) -> list[tuple[Path, bool]]:
    given = _given(environ, "OPENCLAW_STATE_DIR", home)
    if given is not None:
        return [(given, False)]
    older = [(home / name, True) for name in (".clawdbot", ".moltbot", ".moldbot")]
    return [(home / ".openclaw", False), *older]


def _pi(home: Path, environ: Mapping[str, str]) -> tuple[Place, ...]:
    default = _pi_default(home, environ)
    if _given(environ, "PI_CODING_AGENT_SESSION_DIR", home) is not None:
        return (default,)
    settings = values.record(read_json(Path(default.path).parent / "settings.json"))
    chosen = expand_user(values.text(settings.get("sessionDir")), home)
    return (Place("pi", str(chosen)) if chosen.is_absolute() else default,)


def _pi_default(home: Path, environ: Mapping[str, str]) -> Place:
    sessions = _given(environ, "PI_CODING_AGENT_SESSION_DIR", home)
    root = _given(environ, "PI_CODING_AGENT_DIR", home) or home / ".pi" / "agent"
    return Place("pi", str(sessions or root / "sessions"))


def _given(environ: Mapping[str, str], name: str, home: Path) -> Path | None:
    """A folder that a variable names; relative ones mean nothing here."""
    path = expand_user(environ.get(name, ""), home)
    return path if path.is_absolute() else None
