"""What the tests of qmd share: the real program, if it is there, and scripts that play its faults."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from core.backends.qmd import QmdBackend
from core.backends.qmd_sessions import MaskedSessions
from core.events import EventBus
from core.settings import load_settings
from core.settings.model import Settings
from core.types import SearchRequest, Source
from tests.waiting import is_dead, wait_for


@cache
def real_qmd() -> str | None:
    """The path of a qmd that runs: TEST_QMD, or the one on PATH."""
    found = os.environ.get("TEST_QMD") or shutil.which("qmd")
    if not found:
        return None
    try:
        told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found if told.stdout.startswith("qmd ") and told.returncode == 0 else None


needs_qmd = pytest.mark.skipif(
    real_qmd() is None,
    reason="needs the real qmd: put it on PATH or name it by TEST_QMD (.ci/install-qmd installs one)",
)


def write_files(workspace: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def settings_for(root: Path, command: str, **flags: object) -> Settings:
    """Settings with qmd as the backend; a search may take long enough for a busy machine."""
    workspace = root / "ws"
    workspace.mkdir(exist_ok=True)
    wanted = {"backend": "qmd", "provider": "none", "qmd.command": command, "qmd.limits.timeout_ms": 60_000, **flags}
    return load_settings(workspace=workspace, agent="main", environ={}, home=root / "home", flags=wanted).settings


def backend_for(
    root: Path,
    command: str,
    *,
    environ: dict[str, str] | None = None,
    sessions: MaskedSessions | None = None,
    forgotten: Callable[[], frozenset[tuple[Source, str]]] = frozenset,
    **flags: object,
) -> QmdBackend:
    """A qmd backend over `root/ws`, with its index beside `root/index.sqlite`."""
    (root / "home").mkdir(exist_ok=True)
    return QmdBackend(
        root / "index.sqlite",
        settings_for(root, command, **flags),
        EventBus(),
        agent="main",
        workspace=root / "ws",
        environ={"PATH": os.environ.get("PATH", os.defpath), **(environ or {})},
        home=root / "home",
        sessions=sessions,
        forgotten=forgotten,
    )


def answer(*hits: tuple[str, int, str], collection: str = "memory-dir-main") -> str:
    """qmd's JSON for (path, line, snippet text) of one collection."""
    rows = [
        {
            "docid": "#000000",
            "score": 0.5,
            "file": f"qmd://{collection}/{path}?index=memdeck",
            "line": line,
            "title": path,
            "snippet": f"@@ -{line},{text.count(chr(10)) + 1} @@ (0 before, 0 after)\n{text}",
        }
        for path, line, text in hits
    ]
    return json.dumps(rows, ensure_ascii=False, indent=2)


UPDATED = "echo 'Indexed: 2 new, 0 updated, 0 unchanged, 0 removed'"


def fake_qmd(root: Path, search: str, *, update: str = UPDATED) -> str:
    """A program that takes any collection and answers a search by the shell commands `search`.

    It is for what the real qmd cannot be made to show: noise, death by signal, hanging. `$ROOT` is its folder;
    `$ROOT/calls` gets one line for each call.
    """
    program = root / "qmd"
    program.write_text(
        f"""#!/bin/sh
ROOT='{root}'
shift 2
echo "$*" | head -n 1 >> "$ROOT/calls"
case "$1" in
    --version) echo 'qmd 2.8.3 (fake)' ;;
    collection) echo "removed $3" ;;
    update) mkdir -p cache/qmd; : > cache/qmd/memdeck.sqlite; {update} ;;
    search | vsearch | query)
{search}
    ;;
    *) echo "Unknown command: $1" >&2; exit 1 ;;
esac
""",
        "utf-8",
    )
    program.chmod(0o755)
    return str(program)


def calls(root: Path) -> list[str]:
    """How a fake qmd was called, one line for each call."""
    path = root / "calls"
    return path.read_text("utf-8").splitlines() if path.exists() else []


FOUND = answer(("a.md", 1, "alpha lemons"))
Make = Callable[..., QmdBackend]


def player(tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    """Makes backends over one note, whose qmd answers searches by the given shell commands."""

    def make(search: str, *, update: str | None = None, synced: bool = True, **flags: object) -> QmdBackend:
        write_files(tmp_path / "ws", {"memory/a.md": "alpha lemons\n", "memory/b.md": "beta\n\nlemons again\n"})
        program = fake_qmd(tmp_path, search, **({"update": update} if update else {}))
        backend = backend_for(tmp_path, program, **flags)
        request.addfinalizer(backend.close)
        if synced:
            backend.sync("manual")
        return backend

    return make


def show(text: str) -> str:
    """Shell commands that print a text as it is."""
    return f"cat <<'TEXT'\n{text}\nTEXT\n"


def ask(backend: QmdBackend, query: str = "lemons", **more: object) -> list[str]:
    return [str(hit.citation) for hit in backend.search(SearchRequest(query, **more)).hits]  # type: ignore[arg-type]


def ended(pid: int) -> bool:
    wait_for(lambda: is_dead(pid))
    return True
