"""Whose folders are looked into: only those of the agents that the settings name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.settings.model import Sessions
from core.sources.transcripts.detect import dialect_of, may_be_transcript
from core.sources.transcripts.finder import Finder
from core.sources.transcripts.places import AGENTS, agent_name, offered_places, places_of

SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
DEFAULTS = {
    "openclaw": ".openclaw/agents/main",
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "pi": ".pi/agent/sessions",
    "gemini": ".gemini/tmp",
    "opencode": ".local/share/opencode",
}

LOOK = """
import json, sys
from pathlib import Path
from core.settings import settings_of
from core.sources.transcripts.places import offered_places
from core.sync.session_intake import SessionIntake
from core.text.tokens import TokenCounter

home, agents = Path(sys.argv[1]), tuple(sys.argv[2:])
touched = set()

def watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "sqlite3.connect", "apsw.Connection") and arguments:
        path = str(arguments[0])
        if path.startswith(str(home)):
            touched.add(path[len(str(home)) + 1 :])

sys.addaudithook(watch)
offered = [place.agent for place in offered_places(home, {})]
settings = settings_of({"sessions": {"agents": agents}})
intake = SessionIntake(settings, home=home, environ={}, counter=TokenCounter())
for file in intake.scan().files:
    intake.read(file)
intake.watch_roots()
print(json.dumps({"touched": sorted(touched), "offered": offered}))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the samples of all agents."""
    for sample in SAMPLES.iterdir():
        if sample.name not in ("golden", "aider"):
            shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    return tmp_path


def look(home: Path, *agents: str) -> dict[str, list[str]]:
    """What a process opens and lists that scans and reads for these agents, and what it would offer."""
    ran = subprocess.run(
        [sys.executable, "-c", LOOK, str(home), *agents],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    result: dict[str, list[str]] = json.loads(ran.stdout)
    return result


def test_nothing_is_opened_or_listed_before_an_agent_is_named(home: Path) -> None:
    seen = look(home)

    assert seen["touched"] == []
    assert seen["offered"] == list(DEFAULTS)


@pytest.mark.parametrize("agent", list(DEFAULTS))
def test_only_the_folder_of_the_named_agent_is_opened(home: Path, agent: str) -> None:
    touched = look(home, agent)["touched"]

    top = DEFAULTS[agent].partition("/")[0]
    assert touched
    assert {path.partition("/")[0] for path in touched} == {top}


@pytest.mark.parametrize(("agent", "folder"), DEFAULTS.items())
def test_default_places_are_found(agent: str, folder: str, tmp_path: Path) -> None:
    first = places_of(agent, home=tmp_path, environ={})[0]

    assert first.path == str(tmp_path / folder)


@pytest.mark.parametrize(
    ("agent", "variable", "folder"),
    [
        ("openclaw", "OPENCLAW_STATE_DIR", "x/agents/main"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "x/projects"),
        ("codex", "CODEX_HOME", "x/sessions"),
        ("pi", "PI_CODING_AGENT_DIR", "x/sessions"),
        ("pi", "PI_CODING_AGENT_SESSION_DIR", "x"),
        ("opencode", "XDG_DATA_HOME", "x/opencode"),
        ("aider", "AIDER_CHAT_HISTORY_FILE", "x"),
    ],
)
def test_variables_of_the_agents_move_their_places(agent: str, variable: str, folder: str, tmp_path: Path) -> None:
    first = places_of(agent, home=tmp_path, environ={variable: "~/x"})[0]

    assert first.path == str(tmp_path / folder)


def test_pi_settings_move_its_place(tmp_path: Path) -> None:
    (tmp_path / ".pi/agent").mkdir(parents=True)
    (tmp_path / ".pi/agent/settings.json").write_text('{"sessionDir": "~/talks"}')

    assert places_of("pi", home=tmp_path, environ={})[0].path == str(tmp_path / "talks")


def test_openclaw_place_goes_by_the_agent(tmp_path: Path) -> None:
    first = places_of("openclaw", home=tmp_path, environ={}, agent_id="kiln")[0]

    assert first.path == str(tmp_path / ".openclaw/agents/kiln")


def test_offer_names_agents_and_where_they_keep_their_transcripts(home: Path) -> None:
    (claude,) = [place for place in offered_places(home, {}) if place.agent == "claude-code"]

    assert (claude.label, claude.path) == ("Claude Code", str(home / ".claude/projects"))


@pytest.mark.parametrize(("written", "name"), [("Claude", "claude-code"), ("claude_code", "claude-code"), ("PI", "pi")])
def test_names_of_agents_are_forgiving(written: str, name: str) -> None:
    assert agent_name(written) == name in AGENTS


def test_unknown_agent_is_a_problem_in_words(tmp_path: Path) -> None:
    _, listing = Finder(Sessions(agents=("clippy",)), home=tmp_path, environ={}, agent_id="main").look()

    assert listing.problems == [f"sessions.agents: 'clippy' is not known; known are {', '.join(AGENTS)}"]


@pytest.mark.parametrize(
    ("sample", "file", "dialect"),
    [
        ("claude-code", "3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl", "claude-code"),
        ("codex", "rollout-2026-11-03T10-10-00-019a4c01-2222-7333-8444-555566667777.jsonl", "codex"),
        ("codex", "rollout-2026-09-01T10-00-00-019a0001-2222-7333-8444-555566667777.jsonl.zst", "codex"),
        ("gemini", "session-2026-11-03T09-10-5d2f7c1a.jsonl", "gemini"),
        ("gemini", "session-2025-11-20T08-00-77aa88bb.json", "gemini"),
        ("openclaw-jsonl", "7b0f6d52-0f5c-4f0e-9a57-2d4c1e6f8a10.jsonl", "openclaw"),
        ("openclaw-sqlite", "openclaw-agent.sqlite", "openclaw"),
        ("opencode", "opencode.db", "opencode"),
        ("pi", "2026-11-03T09-10-00-000Z_019a4c00-1111-7222-8333-444455556666.jsonl", "pi"),
        ("aider", ".aider.chat.history.md", "aider"),
    ],
)
def test_dialect_is_told_by_the_content(sample: str, file: str, dialect: str, tmp_path: Path) -> None:
    (found,) = [path for path in (SAMPLES / sample).rglob("*") if path.name == file]
    moved = shutil.copy(found, tmp_path / file)

    assert may_be_transcript(file)
    assert dialect_of(str(moved)) == dialect


def test_named_folder_gives_transcripts_of_all_dialects_and_names_the_rest(home: Path) -> None:
    (home / "other.jsonl").write_text('{"role": "user"}\n')
    shutil.copytree(SAMPLES / "aider", home, dirs_exist_ok=True)

    found, listing = Finder(Sessions(paths=(str(home),)), home=home, environ={}, agent_id="main").look()

    assert {one.dialect for one in found} == {*DEFAULTS, "aider"}
    assert [skip.path for skip in listing.skipped if skip.kind == "unknown"] == [
        str(home / ".claude/history.jsonl"),
        str(home / "other.jsonl"),
    ]


def test_agent_and_named_folder_together_count_a_file_once(home: Path) -> None:
    sessions = Sessions(agents=("claude-code",), paths=(str(home / ".claude"),))
    found, _ = Finder(sessions, home=home, environ={}, agent_id="main").look()

    assert [one.path for one in found] == [
        "sessions/claude-code/3f0d9a61-7c1e-4a53-9d7a-5b8c2e1f0a77.jsonl",
        "sessions/claude-code/agent-a1b2c3.jsonl",
    ]
