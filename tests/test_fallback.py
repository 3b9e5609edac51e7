"""When qmd fails the built-in index answers in time and says so; after a rest qmd is asked again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import Memory
from core.backends.fallback import FallbackBackend
from core.backends.qmd import QmdBackend
from core.errors import SearchCancelled
from core.types import SearchRequest, SearchResult
from tests.qmd_bench import answer, backend_for, calls, fake_qmd, needs_qmd, real_qmd
from tests.waiting import is_dead, wait_for

NOTES = {"MEMORY.md": "one\n", "memory/a.md": "alpha lemons\n", "memory/b.md": "beta\n\nlemons again\n"}
ANSWERS = f"cat <<'TEXT'\n{answer(('a.md', 1, 'alpha lemons'))}\nTEXT\n"
FAILS = "echo 'Error: out of order' >&2; exit 1"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


Pair = Callable[..., FallbackBackend]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair(tmp_path: Path, memory_of: Callable[..., Memory], clock: Clock) -> Iterator[Pair]:
    """qmd (played by shell commands, or a real one) over the built-in index of the same notes."""
    made: list[QmdBackend] = []

    def make(
        search: str = ANSWERS, *, command: str | None = None, limit: float = 30, **flags: object
    ) -> FallbackBackend:
        memory = memory_of(NOTES)
        primary = backend_for(tmp_path, command or fake_qmd(tmp_path, search), **flags)
        made.append(primary)
        return FallbackBackend(
            primary,
            memory.backend,
            limit_seconds=limit,
            cooldown_seconds=60,
            deadline_ms=3000,
            clock=clock,
        )

    yield make
    for primary in made:
        primary.close()


def ask(backend: FallbackBackend, query: str = "lemons", **more: object) -> SearchResult:
    return backend.search(SearchRequest(query, **more))  # type: ignore[arg-type]


def replay(root: Path, search: str) -> None:
    """Let the fake qmd behave differently from now on."""
    fake_qmd(root, search)


def test_while_qmd_answers_nothing_is_said(pair: Pair) -> None:
    backend = pair()
    backend.sync("manual")

    result = ask(backend)

    assert (result.provider, result.fallback) == ("qmd", None)
    assert (backend.name, backend.fallback) == ("qmd", None)


def test_a_failure_is_answered_by_the_built_in_index_and_named(pair: Pair) -> None:
    backend = pair(FAILS)
    backend.sync("manual")

    result = ask(backend)

    assert sorted(hit.path for hit in result.hits) == ["memory/a.md", "memory/b.md"]
    assert result.fallback == {"from": "qmd", "reason": "qmd search failed: out of order"}
    assert (backend.name, backend.fallback) == ("builtin", result.fallback)


def test_during_its_rest_qmd_is_not_started_and_afterwards_it_is(pair: Pair, clock: Clock, tmp_path: Path) -> None:
    backend = pair(FAILS)
    backend.sync("manual")
    ask(backend)
    replay(tmp_path, ANSWERS)
    before = calls(tmp_path)

    clock.now += 59
    resting = ask(backend)
    after_rest = calls(tmp_path)
    clock.now += 2
    again = ask(backend)

    assert after_rest == before
    assert resting.fallback is not None
    assert (again.provider, again.fallback) == ("qmd", None)
    assert backend.fallback is None


def test_a_failure_after_the_rest_begins_a_new_one(pair: Pair, clock: Clock) -> None:
    backend = pair(FAILS)
    backend.sync("manual")
    ask(backend)
    clock.now += 61

    ask(backend)

    assert backend.rest_seconds == 60


def test_a_missing_program_is_a_failure_too(pair: Pair) -> None:
    backend = pair(command="no-such-qmd")

    result = ask(backend)

    assert result.hits
    assert result.fallback == {"from": "qmd", "reason": "qmd has not indexed this memory yet: run `memdeck index`"}


def test_before_its_first_index_qmd_needs_no_rest(pair: Pair) -> None:
    backend = pair()
    first = ask(backend)

    backend.sync("manual")

    assert first.fallback == {"from": "qmd", "reason": "qmd has not indexed this memory yet: run `memdeck index`"}
    assert ask(backend).provider == "qmd"


def test_a_sync_that_qmd_fails_at_is_a_warning(pair: Pair) -> None:
    backend = pair(command="no-such-qmd")

    report = backend.sync("manual")

    assert report.scanned == 3
    assert "no-such-qmd is not there" in (report.warning or "")
    assert backend.name == "builtin"


def test_qmd_killed_in_the_middle_of_a_search_is_replaced_within_the_time_limit(pair: Pair, tmp_path: Path) -> None:
    backend = pair('echo $$ > "$ROOT/pid"; exec sleep 150', limit=60)
    backend.sync("manual")
    threading.Thread(target=kill_when_there, args=(tmp_path / "pid",)).start()
    started = time.monotonic()

    result = ask(backend)

    assert time.monotonic() - started < 60
    assert result.hits
    assert result.fallback == {"from": "qmd", "reason": "qmd died by SIGKILL"}


def test_qmd_that_hangs_is_replaced_within_the_time_limit_and_ended(pair: Pair, tmp_path: Path) -> None:
    backend = pair('echo $$ > "$ROOT/pid"; exec sleep 100', limit=4)
    backend.sync("manual")

    result = ask(backend)

    assert result.hits
    assert result.fallback == {"from": "qmd", "reason": "qmd did not answer within 4 s"}
    wait_for(lambda: is_dead(int((tmp_path / "pid").read_text())))


def test_qmd_may_still_answer_while_the_built_in_index_stands_by(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.backends.fallback.STANDBY_SHARE", 0.95)
    monkeypatch.setattr("core.backends.fallback.STANDBY_MOST_SECONDS", 20)
    backend = pair('until [ -e "$ROOT/go" ]; do sleep 0.05; done; ' + ANSWERS, limit=21)
    backend.sync("manual")
    search = backend.secondary.search

    def standing_by(*given: object, **named: object) -> SearchResult:
        (tmp_path / "go").touch()
        return search(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(backend.secondary, "search", standing_by)

    assert ask(backend).provider == "qmd"


def test_giving_up_is_no_failure(pair: Pair) -> None:
    backend = pair("exec sleep 100")
    backend.sync("manual")
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()

    with pytest.raises(SearchCancelled):
        backend.search(SearchRequest("lemons"), cancel=cancel)

    assert backend.fallback is None


def test_what_qmd_cannot_do_is_answered_without_a_rest(pair: Pair) -> None:
    backend = pair()
    backend.sync("manual")

    result = ask(backend, mode="semantic")

    assert result.fallback is not None
    assert "words alone" in result.fallback["reason"]
    assert backend.fallback is None


def test_a_session_that_may_not_search_gets_nothing_from_either(pair: Pair) -> None:
    for search in (ANSWERS, FAILS):
        backend = pair(search)
        backend.sync("manual")
        ask(backend)

        result = ask(backend, session_key="agent:main:telegram:group:1")

        assert result.hits == ()
        assert "qmd.scope" in (result.warning or "")


def test_a_blank_query_starts_nothing(pair: Pair, tmp_path: Path) -> None:
    backend = pair()
    backend.sync("manual")
    before = calls(tmp_path)

    assert ask(backend, "  ").hits == ()
    assert calls(tmp_path) == before


def test_a_note_is_handed_on_without_waiting_for_qmd(pair: Pair, tmp_path: Path) -> None:
    backend = pair()
    backend.sync("manual")
    before = calls(tmp_path)

    backend.sync("manual", paths=(str(tmp_path / "ws/memory/a.md"),))

    assert calls(tmp_path) == before


def test_an_unexpected_error_of_ours_is_a_failure_of_qmd_to_the_caller(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = pair()
    backend.sync("manual")

    def broken(*_: object, **__: object) -> SearchResult:
        raise RuntimeError("a defect")

    monkeypatch.setattr(backend.primary, "search", broken)

    result = ask(backend)

    assert result.fallback == {"from": "qmd", "reason": "RuntimeError: a defect"}
    assert result.hits


@needs_qmd
def test_the_real_qmd_killed_in_the_middle_of_a_search(pair: Pair, clock: Clock, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    telling = tmp_path / "telling-qmd"
    telling.write_text(f"#!/bin/sh\necho $$ > '{pid_file}'\nexec '{real_qmd()}' \"$@\"\n")
    telling.chmod(0o755)
    backend = pair(command=str(telling))
    backend.sync("manual")
    assert ask(backend).provider == "qmd"
    for _ in range(8):  # on a busy machine a search may be over before it is killed
        pid_file.unlink()
        killer = threading.Thread(target=kill_when_there, args=(pid_file,))
        killer.start()
        result = ask(backend)
        killer.join()
        if result.fallback is not None:
            break

    assert result.fallback is not None
    assert "SIGKILL" in result.fallback["reason"]
    assert sorted(hit.path for hit in result.hits) == ["memory/a.md", "memory/b.md"]
    clock.now += 61
    assert ask(backend).provider == "qmd"


def kill_when_there(pid_file: Path) -> None:
    wait_for(lambda: pid_file.exists() and pid_file.read_text().strip())
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
