"""The log: written where the state belongs, bounded, and never in the way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.logbook import FILE_BYTES, log_file, start_log


@pytest.fixture(autouse=True)
def _quiet_afterwards() -> Iterator[None]:
    yield
    root = logging.getLogger("core")
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = True
    root.setLevel(logging.NOTSET)


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
