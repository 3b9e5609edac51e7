"""The log: written where the state belongs, bounded, and never in the way."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from core.logbook import FILE_BYTES, log_file, start_log
from core.opening import open_memory
from tests.logs import stop_log
from tests.provider_server import KEY, Answer, provider_server


def test_warnings_of_every_room_are_kept(tmp_path: Path) -> None:
    file = start_log({}, tmp_path)
    logging.getLogger("core.sync.worker").warning("the disk sighs")
    logging.getLogger("core.sync.worker").info("all is well")
    assert file is not None
    assert [line.rpartition(": ")[2] for line in file.read_text().splitlines()] == ["the disk sighs"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_environment_names_the_level(tmp_path: Path) -> None:
    start_log({"MEMDECK_LOG": "debug"}, tmp_path)
    logging.getLogger("core.store").debug("a detail")
    assert "a detail" in log_file({}, tmp_path).read_text()


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    assert start_log({"MEMDECK_LOG": "off"}, tmp_path) is None
    assert not log_file({}, tmp_path).exists()


def test_starting_twice_logs_once(tmp_path: Path) -> None:
    start_log({}, tmp_path)
    start_log({}, tmp_path)
    logging.getLogger("core").warning("once")
    assert log_file({}, tmp_path).read_text().count("once") == 1


def test_the_log_is_bounded(tmp_path: Path) -> None:
    start_log({}, tmp_path)
    log = logging.getLogger("core.noise")
    for _ in range(60):
        log.warning("x" * 100_000)
    files = sorted(log_file({}, tmp_path).parent.glob("memdeck.log*"))
    assert len(files) == 3
    assert all(file.stat().st_size <= FILE_BYTES for file in files)


def test_a_state_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    assert start_log({"XDG_STATE_HOME": str(tmp_path / "state")}, tmp_path) is None


def test_no_character_of_a_name_or_an_error_acts_on_a_terminal(tmp_path: Path) -> None:
    file = start_log({}, tmp_path)
    hostile = "a\x1b[2Jb\nWARNING forged\u202e"
    try:
        raise ValueError(hostile)
    except ValueError:
        logging.getLogger("core.sync").exception("%s failed", hostile)
    assert file is not None
    text = file.read_text()
    assert not set("\x1b\u202e") & set(text)
    assert "a␛[2Jb␊WARNING forged⟦U+202E⟧ failed" in text.splitlines()[0]


def test_a_level_that_there_is_not_is_named(tmp_path: Path) -> None:
    start_log({"MEMDECK_LOG": "loud"}, tmp_path)
    assert "MEMDECK_LOG=loud is none of debug, info, warning, error, off" in log_file({}, tmp_path).read_text()


def test_no_command_prints_its_log(tmp_path: Path) -> None:
    (tmp_path / "ws" / "memory").mkdir(parents=True)
    (tmp_path / "ws" / "memory" / "a\x1b[2Jb.md").write_text("the cat sits on the mat\n")
    with provider_server() as server:
        server.rule = lambda _: Answer({"error": {"message": "not for\x1b[2J you"}}, 403)
        environ = {
            "HOME": str(tmp_path),
            "OPENAI_API_KEY": KEY,
            "MEMDECK_PROVIDER": "openai",
            "MEMDECK_REMOTE_BASE_URL": server.url + "/v1",
            "MEMDECK_BACKEND": "qmd",
            "MEMDECK_QMD_COMMAND": "/no\x1b[2J/where",
        }
        for command in (["index"], ["search", "cat"]):
            call = [sys.executable, "-m", "tui", "--workspace", str(tmp_path / "ws"), *command]
            ended = subprocess.run(call, env=environ, capture_output=True, text=True, timeout=120, check=False)
            assert "\x1b" not in ended.stdout + ended.stderr
            assert "embedding failed" not in ended.stderr
            assert not [line for line in ended.stderr.splitlines() if line.startswith("qmd: ")]
    logged = log_file({}, tmp_path).read_text()
    assert "embedding failed: error openai refuses access (403): not for" in logged
    assert "the builtin index answers" in logged


def test_what_happens_is_logged_by_its_level(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("# Notes\n\nthe cat sits on the mat\n")
    for level, told in (("warning", []), ("info", ["sync finished"]), ("debug", ["sync started", "file indexed"])):
        file = start_log({"MEMDECK_LOG": level}, tmp_path)
        assert file is not None
        store = tmp_path / f"{level}.sqlite"
        memory = open_memory(
            workspace=workspace, store=store, environ={}, home=tmp_path / "home", flags={"provider": "none"}
        )
        memory.sync()
        memory.close()
        text = file.read_text()
        assert [words for words in told if words not in text] == []
        assert told or not text
        stop_log()


def test_a_provider_that_fails_is_logged_once_and_without_its_key(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("# Notes\n\nthe cat sits on the mat\n")
    file = start_log({}, tmp_path)
    with provider_server() as server:
        server.rule = lambda _: Answer({"error": {"message": f"{KEY} may not"}}, 403)
        flags = {"provider": "openai", "remote.open_ai.base_url": server.url + "/v1"}
        memory = open_memory(
            workspace=workspace,
            store=tmp_path / "index.sqlite",
            environ={"OPENAI_API_KEY": KEY},
            home=tmp_path / "home",
            flags=flags,
        )
        memory.sync()
        memory.sync()
        memory.close()
    assert file is not None
    assert file.read_text().count("openai refuses access (403): *** may not") == 1
    assert KEY not in file.read_text()
