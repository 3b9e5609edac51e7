"""README's pictures: the demo workspace and some transcripts in the running app, as anyone sees them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from core import Memory, SearchRequest, SearchResult, open_memory
from tests.pictures import NOON, picture
from tests.snapshot_files import SvgSnapshots
from tests.transcript_home import copy_samples, write_pi

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "tui/cli/demo/workspace"
SIZE = (132, 34)
SHOWN = "memory/incidents/2026-02-17-uplink-outage.md"
TOOK = {"embed": 7.0, "keyword": 2.0, "vector": 1.0, "rank": 2.0, "total": 12.0}
TALK = [
    ("user", "The gateways on the east quay have been silent since this morning. What changed?"),
    ("toolResult", "systemctl status uplink\nuplink.service: active (running), 0 messages sent in 6 h"),
    ("assistant", "Nothing was deployed. All of them refuse the TLS handshake: the certificate of "
                  "`ingest.lanternfish.example` expired at 05:41.\n\nThis happened before: "
                  "memory/incidents/2026-02-17-uplink-outage.md"),
    ("user", "Then renew it as the howto says, and check that nothing was lost."),
    ("toolResult", "certbot renew --cert-name ingest.lanternfish.example\nCongratulations, all renewals succeeded"),
    ("assistant", "Renewed until June. The gateways have connected again and send what they stored: 14,212 readings, "
                  "none lost.\n\nTwo things would have told us earlier:\n  1. an alarm on days left, not on failure\n"
                  "  2. a test that speaks TLS to the ingest host, as a gateway does"),
    ("user", "Do both, and remember the decision."),
    ("assistant", "Done: the alarm fires at 21 days. Saved to memory/decisions."),
]  # fmt: skip
OTHERS = {
    "tides": ("Tide tables for the new harbour", [("user", "Which gauge is nearest?"), ("assistant", "Bréhat.")]),
    "buffer": ("Store and forward: how large a buffer", [("user", "How long can an outage be?")]),
    "gauge": ("水位計の校正", [("user", "校正の手順は？"), ("assistant", "零点を合わせてから三回測ります。")]),
}
_SCORE = re.compile(r"(?<=[>\s;])(?:\.\d{3}|1\.00)(?=(?:&#160;| ))")


class _Words(SvgSnapshots):
    """Compares what is said: scores, and with them the order of hits, may differ from processor to processor."""

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        return _said(serialized_data) == _said(snapshot_data)


def _said(svg: str) -> list[str]:
    return sorted(re.findall(r">([^<]+)</text>", _SCORE.sub(".999", svg)))


@pytest.fixture
def words(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares the words of a picture."""
    return snapshot.use_extension(_Words)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    root = Path(tempfile.mkdtemp(prefix="deck-", dir="/tmp"))
    shutil.copytree(DEMO, root / "ws")
    for path in (root / "ws").rglob("*.md"):
        os.utime(path, (NOON, NOON))
    home = root / "home"
    copy_samples(home, "claude-code", "codex")
    for name, (title, talk) in OTHERS.items():
        write_pi(home, talk, name=name, title=title, cwd="/home/ana/src/lanternfish")
    write_pi(home, TALK, name="quay", title="Silent gateways on the east quay", cwd="/home/ana/src/lanternfish")
    flags = {"provider": "local", "sessions.agents": ["claude-code", "codex", "pi"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        memory = open_memory(
            workspace=root / "ws", store=root / "i.sqlite", environ={}, home=home, flags=flags, resident=True
        )
        memory.sync()
        search = memory.search

        def timeless(request: SearchRequest, **options: Any) -> SearchResult:
            return replace(search(request, **options), milliseconds=TOOK)

        patch.setattr(memory, "search", timeless)
        yield memory
        memory.close()
    time.tzset()
    shutil.rmtree(root)


async def live(running: Any) -> None:
    await running.until(lambda: "● live" in running.lines()[0] and not running.app.state.waiting)


async def test_search(deck: Any, memory: Memory, words: SnapshotAssertion) -> None:
    async with deck(memory, size=SIZE, start=True, query="the certificate ran out") as running:
        await live(running)
        await running.press("tab")
        await running.until(lambda: running.app.screen.preview.page is not None)
        await running.until(lambda: not running.app.screen.result.partial)
        await running.rest(0.5)
        assert picture(running.app) == words


async def test_sessions(deck: Any, memory: Memory, svg_snapshot: SnapshotAssertion) -> None:
    environ = {"HOME": "/home/ana"}
    async with deck(memory, size=SIZE, start=True, environ=environ) as running:
        await live(running)
        await running.press("f3")
        screen = running.app.screen
        await running.until(lambda: screen.rows.items)
        screen.fill(keep="sessions/pi/quay.jsonl")
        await running.until(lambda: screen.view is not None and screen.view.path == "sessions/pi/quay.jsonl")
        await running.press("enter", "J", "J")
        await running.rest(0.5)
        assert picture(running.app) == svg_snapshot


async def test_files(deck: Any, memory: Memory, svg_snapshot: SnapshotAssertion) -> None:
    async with deck(memory, size=SIZE, start=True) as running:
        await live(running)
        await running.press("f5")
        screen = running.app.screen
        await running.until(lambda: len(screen.rows.items) > 5)
        screen.rows.highlighted = [row.key for row in screen.rows.items].index(SHOWN)
        await running.until(lambda: screen.preview.page is not None)
        await running.rest(0.5)
        assert picture(running.app) == svg_snapshot


def test_readme_shows_the_pictures_of_today() -> None:
    shown = re.findall(r"!\[[^\]]+\]\((snapshots/[^)]+)\)", (ROOT / "README.md").read_text())
    assert shown == [f"snapshots/{Path(__file__).stem}/test_{name}.svg" for name in ("search", "sessions", "files")]
    assert all((ROOT / path).is_file() for path in shown)
