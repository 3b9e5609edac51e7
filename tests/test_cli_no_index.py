"""Commands on a file that is no index: damaged, or somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.cli_calls import Deck, caller, stand_in, write_notes


@pytest.fixture
def deck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Deck:
    """Runs `memdeck` in a workspace with two notes."""
    write_notes(tmp_path / "workspace")
    stand_in(tmp_path, monkeypatch)
    return caller(capsys)


def another_database(file: Path) -> None:
    with apsw.Connection(str(file)) as connection:
        connection.execute("CREATE TABLE theirs (x)").fetchall()


def damage(file: Path) -> None:
    for side in file.parent.glob(f"{file.name}-*"):
        side.unlink()
    file.write_bytes(file.read_bytes()[:100] + b"\xff" * 50_000)


@pytest.mark.parametrize("spoil", [
    lambda file: file.write_text("dear diary\n" * 100), another_database, damage,
], ids=["text", "foreign", "damaged"])  # fmt: skip
def test_of_an_index_that_is_none_a_search_says_what_to_do_and_status_its_size(
    deck: Deck, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    store = tmp_path / "index.sqlite"
    if spoil is damage:
        deck("index", "--store", str(store))
    spoil(store)
    size = store.stat().st_size
    ended = deck("search", "lease", "--store", str(store))
    assert (ended.code, "memdeck index" in ended.err) == (2, True)
    assert "memdeck index" in deck("search", "lease", "--json", "--store", str(store)).json["action"]
    status = deck("status", "--json", "--store", str(store)).json
    assert (status["dbBytes"], status["health"]["state"]) == (size, "down")
    assert "memdeck index" in status["health"]["remedies"][0]
    assert deck("index", "--store", str(store)).code == 0
    assert deck("search", "lease", "--store", str(store)).code == 0
