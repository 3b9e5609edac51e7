"""Updates of qmd: when they come, what waits for them, and how they end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import BackendError, SearchCancelled, SyncCancelled
from core.types import SearchRequest
from tests.qmd_bench import (
    FOUND,
    Make,
    ask,
    calls,
    ended,
    player,
    show,
)
from tests.waiting import wait_for


@pytest.fixture
def playing(tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    return player(tmp_path, request)


def test_a_search_waits_a_moment_for_a_running_update_then_goes_on(playing: Make) -> None:
    backend = playing(show(FOUND), update='[ -e "$ROOT/slow" ] && sleep 5; echo ok')
    (backend.root.parent / "slow").touch()
    updating = in_background(lambda: backend.sync("manual"))
    while not backend.facts()["updating"]:
        time.sleep(0.01)

    result = backend.search(SearchRequest("lemons"))

    assert [hit.path for hit in result.hits] == ["memory/a.md"]
    assert result.catching_up
    backend.close()
    updating.join()


def test_closing_ends_an_update(playing: Make, tmp_path: Path) -> None:
    backend = playing(show(FOUND), update='echo $$ > "$ROOT/child"; exec sleep 100', synced=False)
    updating = in_background(lambda: backend.sync("manual"))
    wait_for((tmp_path / "child").exists)

    backend.close()

    updating.join()
    assert ended(int((tmp_path / "child").read_text()))


def test_giving_up_ends_the_program(playing: Make, tmp_path: Path) -> None:
    backend = playing('echo $$ > "$ROOT/child"; exec sleep 100')
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()

    with pytest.raises(SearchCancelled):
        backend.search(SearchRequest("lemons"), cancel=cancel)

    assert ended(int((tmp_path / "child").read_text()))


def test_an_update_that_fails_is_tried_again_at_the_start(playing: Make, tmp_path: Path) -> None:
    flaky = 'n=$(grep -c ^update "$ROOT/calls"); [ "$n" -ge 3 ] || { echo busy >&2; exit 1; }; echo ok'
    backend = playing(show(FOUND), update=flaky, synced=False)

    backend.start()

    wait_for(lambda: calls(tmp_path).count("update") == 3)
    wait_for(lambda: not backend.facts()["updating"])
    assert "updateError" not in backend.facts()


def test_the_start_waits_for_its_update_if_told_to(playing: Make) -> None:
    backend = playing(show(FOUND), synced=False, **{"qmd.update.wait_for_boot_sync": True})

    backend.start()

    assert ask(backend) == ["memory/a.md#L1"]


def test_updates_come_by_the_clock(playing: Make, tmp_path: Path) -> None:
    backend = playing(show(FOUND), **{"qmd.update.interval": "50ms", "qmd.update.on_boot": False})

    backend.start()

    wait_for(lambda: calls(tmp_path).count("update") >= 3)


def test_changes_are_gathered_before_an_update(playing: Make, tmp_path: Path) -> None:
    backend = playing(show(FOUND), **{"qmd.update.debounce_ms": 60_000})
    backend.start()
    wait_for(lambda: calls(tmp_path).count("update") == 2)
    wait_for(lambda: not backend.facts()["updating"])

    for _ in range(20):
        backend.files_changed()
    time.sleep(0.3)

    assert calls(tmp_path).count("update") == 2


def test_vectors_are_made_where_they_are_searched_and_the_model_is_there(playing: Make, tmp_path: Path) -> None:
    models = tmp_path / "home/.cache/qmd/models"
    models.mkdir(parents=True)
    (models / "hf_ggml-org_embeddinggemma-300M-Q8_0.gguf").touch()
    backend = playing(show("[]"), synced=False, **{"qmd.search_mode": "vsearch"})

    with pytest.raises(BackendError, match="Unknown command: embed"):
        backend.sync("manual")

    assert (backend.root / "cache/qmd/models").readlink() == models


def test_a_model_is_only_let_loose_by_a_command_that_needs_it(playing: Make, tmp_path: Path) -> None:
    backend = playing('echo "CI=$CI NO_COLOR=$NO_COLOR" > "$ROOT/seen"; echo "[]"')

    ask(backend)

    assert (tmp_path / "seen").read_text() == "CI=1 NO_COLOR=1\n"


def in_background(work: Callable[[], object]) -> threading.Thread:
    """Run something that may be cancelled."""

    def run() -> None:
        with suppress(SyncCancelled):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
