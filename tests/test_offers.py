"""What could be read on this machine: found by asking whether it exists, read after a yes, and not asked twice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core import Offer, SettingsError, SourceOffers, load_settings

FIXTURES = Path(__file__).parent / "fixtures" / "transcripts"
ROOT = Path(__file__).resolve().parents[1]
CALLS = "open,openat,openat2,stat,newfstatat,statx,access"
OTHERS = (".claude", ".codex", ".pi", ".gemini", ".local/share/opencode")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which six agents and a project with memory live."""
    home = tmp_path / "home"
    for agent, folder in (
        ("claude-code", ".claude"),
        ("codex", ".codex"),
        ("pi", ".pi"),
        ("gemini", ".gemini"),
        ("opencode", ".local"),
        ("openclaw-jsonl", ".openclaw"),
    ):
        shutil.copytree(FIXTURES / agent / folder, home / folder, dirs_exist_ok=True)
    (home / ".openclaw/agents/ops").mkdir()
    (home / "proj/memory").mkdir(parents=True)
    (home / "proj/memory/a.md").write_text("# A\n\nneedle\n")
    (home / "proj/.aider.chat.history.md").write_text("# aider chat started at 2026-11-03 09:00:00\n\n#### hi\n")
    return home


def desk(home: Path, cwd: str = "proj", environ: dict[str, str] | None = None) -> SourceOffers:
    return SourceOffers(environ=environ or {}, home=home, cwd=home / cwd)


def settings_of(home: Path) -> Any:
    return load_settings(workspace=None, agent="main", environ={}, home=home).settings


def named(offers: Iterable[Offer], *names: str) -> list[Offer]:
    found = [offer for offer in offers if offer.name in names or offer.label in names]
    assert len(found) == len(names)
    return found


def test_agents_and_memory_are_found_where_they_usually_are(home: Path) -> None:
    offers = desk(home).find()
    assert [(one.kind, one.label) for one in offers] == [
        ("workspace", "this folder"),
        ("agent", "OpenClaw"),
        ("agent", "Claude Code"),
        ("agent", "Codex"),
        ("agent", "pi"),
        ("agent", "Gemini CLI"),
        ("agent", "OpenCode"),
        ("path", "Aider"),
    ]
    assert named(offers, "openclaw")[0].holds == "agent main; --agent reads ops"
    assert not any(one.chosen for one in offers)


def test_openclaws_workspaces_come_first_then_folders_from_here_up(home: Path) -> None:
    for folder in (".openclaw/workspace", ".openclaw/workspace-ops", "proj/sub/deep"):
        (home / folder).mkdir(parents=True)
    (home / ".openclaw/workspace-ops/MEMORY.md").write_text("# Ops\n")
    (home / "MEMORY.md").write_text("# Home\n")
    found = [
        (one.label, one.path.removeprefix(str(home)), one.holds)
        for one in desk(home, "proj/sub/deep").find()
        if one.kind == "workspace"
    ]
    assert found == [
        ("OpenClaw's workspace", "/.openclaw/workspace", "no memory in it yet"),
        ("OpenClaw's, for ops", "/.openclaw/workspace-ops", "MEMORY.md"),
        ("a folder above this one", "/proj", "memory/"),
        ("the home folder", "", "MEMORY.md"),
    ]


def test_symlinks_and_files_in_the_place_of_folders_are_not_offered(home: Path) -> None:
    (home / "other").mkdir()
    (home / "other/memory").symlink_to(home / "proj/memory")
    (home / "other/MEMORY.md").mkdir()
    assert not [one for one in desk(home, "other").find() if one.kind == "workspace"]


def test_a_yes_is_written_and_read_back(home: Path) -> None:
    asks = desk(home)
    offers = asks.find()
    chosen = named(offers, "this folder", "claude-code", "Aider")
    assert asks.accept(chosen, offers, workspace=home / "proj") == ()
    settings = settings_of(home)
    assert settings.workspace == str(home / "proj")
    assert list(settings.sessions.agents) == ["claude-code"]
    assert list(settings.sessions.paths) == [str(home / "proj/.aider.chat.history.md")]
    assert "sessions" in settings.sources


def test_transcript_files_alone_switch_sessions_on_though_sources_say_memory(home: Path) -> None:
    asks = desk(home)
    asks.config.parent.mkdir(parents=True)
    asks.config.write_text('# mine\nsources = ["memory"]\n')
    offers = asks.find()
    asks.accept(named(offers, "Aider"), offers, workspace=home / "proj")
    assert settings_of(home).sources == ("memory", "sessions")
    assert asks.config.read_text().startswith("# mine\n")


def test_nothing_chosen_writes_the_workspace_alone(home: Path) -> None:
    asks = desk(home)
    offers = asks.find()
    asks.accept(named(offers, "this folder"), offers, workspace=home / "proj")
    assert asks.config.read_text() == f'workspace = "{home / "proj"}"\n'


def test_what_is_chosen_already_is_shown_and_can_be_taken_back(home: Path) -> None:
    asks = desk(home)
    asks.config.parent.mkdir(parents=True)
    asks.config.write_text('[sessions]\nagents = ["Claude", "codex", "something-else"]\n')
    offers = asks.find(home / "proj")
    assert [one.name for one in offers if one.chosen] == [str(home / "proj"), "claude-code", "codex"]
    asks.accept(named(offers, str(home / "proj"), "codex"), offers, workspace=home / "proj")
    assert list(settings_of(home).sessions.agents) == ["codex", "something-else"]
    assert "workspace" not in asks.config.read_text()


def test_memory_elsewhere_is_offered_beside_an_open_workspace(home: Path) -> None:
    workspace = home / ".openclaw/workspace"
    workspace.mkdir()
    asks = desk(home)
    offers = asks.find(workspace)
    folder = str(home / "proj/memory")
    assert [(one.kind, one.path, one.chosen) for one in offers[:2]] == [
        ("workspace", str(workspace), True),
        ("folder", folder, False),
    ]
    asks.accept([*named(offers, folder), offers[0]], offers, workspace=workspace)
    assert list(settings_of(home).extra_paths) == [folder]
    offers = asks.find(workspace)
    assert named(offers, folder)[0].chosen
    asks.accept(offers[:1], offers, workspace=workspace)
    assert list(settings_of(home).extra_paths) == []


def test_an_extra_path_that_is_written_otherwise_is_known_again(home: Path) -> None:
    workspace = home / ".openclaw/workspace"
    workspace.mkdir()
    asks = desk(home)
    asks.config.parent.mkdir(parents=True)
    asks.config.write_text('extra_paths = ["~/proj/memory"]\n')
    offers = asks.find(workspace)
    assert named(offers, str(home / "proj/memory"))[0].chosen
    asks.accept(offers[:1], offers, workspace=workspace)
    assert list(settings_of(home).extra_paths) == []


def test_what_an_environment_variable_decides_is_said(home: Path) -> None:
    asks = desk(home, environ={"MEMDECK_SESSIONS_AGENTS": "codex"})
    offers = asks.find()
    words = asks.accept(named(offers, "this folder", "claude-code"), offers, workspace=home / "proj")
    assert "other settings than config.toml decide" in words[0]


def test_a_settings_file_that_cannot_be_written_is_an_error_and_nothing_is_remembered(home: Path) -> None:
    asks = desk(home)
    asks.config.parent.mkdir(parents=True)
    asks.config.write_text("not = = toml")
    offers = asks.find()
    with pytest.raises(SettingsError, match="left as it is"):
        asks.accept(offers, offers, workspace=home / "proj")
    assert asks.news(offers) == offers


def test_not_now_is_remembered_until_there_is_something_new(home: Path) -> None:
    asks = desk(home)
    shutil.rmtree(home / ".codex")
    asks.decline(asks.find())
    assert desk(home).news(desk(home).find()) == ()
    (home / ".codex/sessions").mkdir(parents=True)
    assert [one.name for one in desk(home).news(desk(home).find())] == ["codex"]
    assert not asks.config.exists()


def test_a_memo_that_cannot_be_read_asks_again(home: Path) -> None:
    asks = desk(home)
    asks.decline(asks.find())
    memo = home / ".local/state/memdeck/offers.json"
    memo.write_text('{"asked": 3}')
    assert asks.news(asks.find()) == asks.find()


def test_of_new_agents_it_is_told_once(home: Path) -> None:
    asks = desk(home)
    assert asks.tell_once(home / "proj")
    assert not asks.tell_once(home / "proj")


def test_what_is_promised_is_what_the_settings_make_true(home: Path) -> None:
    asks = desk(home)
    promises = asks.promises(home / "proj")
    assert promises.index.startswith(str(home / ".local/share/memdeck/main-"))
    assert promises.stays_here
    asks.config.parent.mkdir(parents=True)
    asks.config.write_text('provider = "openai"\n[remote]\napi_key = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"\n')
    promises = asks.promises(home / "proj")
    assert (promises.stays_here, promises.text_goes_to) == (False, "api.openai.com")


def child(home: Path, *before: str) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "tests.first_run_child", str(home.parent)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)


def test_nothing_of_another_agent_is_opened_or_listed_before_the_yes(home: Path) -> None:
    told = json.loads(child(home).stdout.splitlines()[-1])
    openclaw = str(home / ".openclaw")
    allowed = {f"{openclaw}/openclaw.json", openclaw, f"{openclaw}/agents"}
    assert not [path for path in told["before"] for other in OTHERS if path.startswith(f"{home}/{other}/")]
    assert {path for path in told["before"] if path.startswith(openclaw)} <= allowed
    assert told["agents"] == ["claude-code"]
    assert any(path.startswith(f"{home}/.claude/projects") for path in told["after"])
    assert not [path for path in told["after"] for other in OTHERS[1:] if path.startswith(f"{home}/{other}/")]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_system_call_opens_anything_of_another_agent_before_the_yes(home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    try:
        child(home, "strace", "-f", "-o", str(trace), "-e", f"trace={CALLS}")
    except subprocess.CalledProcessError as error:
        if "ptrace" in error.stderr or "PTRACE" in error.stderr:
            pytest.skip("strace may not trace here")
        raise
    calls = trace.read_text(errors="replace").splitlines()
    yes = next(number for number, call in enumerate(calls) if f'"{tmp_path}/yes"' in call)
    before, after = calls[:yes], calls[yes:]
    assert not [call for call in before if _opens(call) and any(f'"{home}/{other}' in call for other in OTHERS)]
    assert [call for call in after if _opens(call) and f'"{home}/.claude' in call]


def _opens(call: str) -> bool:
    return re.search(r"\bopen(at2?)?\(", call) is not None
