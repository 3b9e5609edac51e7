"""Writing one setting: it counts afterwards, and all else in the file stays as people wrote it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import load_settings
from core.settings.files import toml_lines
from core.settings.keys import leaves
from core.settings.presets import PRESETS
from core.settings.write import write_setting

BEFORE = """\
# My settings.
provider = "local"  # no keys here

[memory.search.query]
# few
maxResults = 4

[keymap]
app.quit = "q"

[[agents.list]]
id = "main"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "cfg" / "config.toml"
    path.parent.mkdir()
    path.write_text(BEFORE)
    return path


def loaded(config: Path, key: str) -> object:
    home = config.parents[1]
    settings = load_settings(workspace=None, agent="main", environ={}, home=home, config_dir=config.parent).settings
    return leaves()[key].value(settings)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("provider", "none", 'provider = "none"  # no keys here'),
        ("query.max_results", 9, "maxResults = 9"),
        ("query.min_score", 0.2, "min_score = 0.2"),
        ("sessions.agents", ["codex", "pi"], 'agents = ["codex", "pi"]'),
        ("query.temporalDecay.halfLifeDays", 12, "half_life_days = 12"),
        ("keymap.app.quit", "ctrl+q", 'app.quit = "ctrl+q"'),
    ],
)
def test_only_that_line_changes(config: Path, key: str, value: object, line: str) -> None:
    write_setting(config, key, value)
    after = config.read_text()
    assert line in after.splitlines()
    assert [kept for kept in BEFORE.splitlines() if kept not in after.splitlines() and "=" not in kept] == []
    assert after.count("#") == BEFORE.count("#")


@pytest.mark.parametrize(
    ("key", "value", "held"),
    [
        ("workspace", "/notes", "/notes"),
        ("sync.watch", False, False),
        ("sync.watch", "off", False),
        ("sync.sessions.delta_bytes", 5, 5),
        ("extra_paths", ("a", "b"), ("a", "b")),
        ("keymap.app.quit", "x", {"app.quit": "x"}),
        ("keymap.app.help", "h", {"app.quit": "q", "app.help": "h"}),
        ("keymap.list.down", "j", {"app.quit": "q", "list.down": "j"}),
    ],
)
def test_it_counts_afterwards(config: Path, key: str, value: object, held: object) -> None:
    write_setting(config, key, value)
    assert loaded(config, ".".join(key.split(".")[:1]) if key.startswith("keymap") else key) == held


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_written_one_by_one_all_count(tmp_path: Path, preset: str) -> None:
    config = tmp_path / "new" / "config.toml"
    for key, value in PRESETS[preset].items():
        write_setting(config, key, value)
    for key, value in PRESETS[preset].items():
        assert loaded(config, key) == value


def test_inside_an_inline_table(config: Path) -> None:
    config.write_text("query = { max_results = 1 }\nremote.batch.wait = true\n[sync.sessions]\ndelta_bytes = 1\n")
    for key, value in (("query.mmr.lambda", 0.4), ("remote.batch.enabled", True), ("sync.watch", False)):
        write_setting(config, key, value)
        assert loaded(config, key) == value


def test_none_takes_a_setting_away(config: Path) -> None:
    write_setting(config, "query.max_results", None)
    write_setting(config, "keymap.app.quit", None)
    assert (loaded(config, "query.max_results"), loaded(config, "keymap")) == (6, {})
    assert "# few" in config.read_text()


def test_a_new_file_is_private(tmp_path: Path) -> None:
    config = tmp_path / "a" / "b" / "config.toml"
    write_setting(config, "remote.api_key", "sk-x")
    assert config.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(config.read_text()) == {"remote": {"api_key": "sk-x"}}


def test_a_symlinked_file_stays_one_and_keeps_its_mode(config: Path, tmp_path: Path) -> None:
    config.chmod(0o644)
    (tmp_path / "link.toml").symlink_to(config)
    write_setting(tmp_path / "link.toml", "provider", "none")
    assert (tmp_path / "link.toml").is_symlink()
    assert config.stat().st_mode & 0o777 == 0o644
    assert loaded(config, "provider") == "none"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("provder", "local", "did you mean provider?"),
        ("query.max_results", "many", "must be a whole number from 1 to 200"),
        ("query", 3, "no such setting"),
        ("keymap.app.quit", 3, "must be text"),
    ],
)
def test_a_wrong_value_is_not_written(config: Path, key: str, value: object, line: str) -> None:
    with pytest.raises(SettingsError, match=line.replace("?", r"\?")):
        write_setting(config, key, value)
    assert config.read_text() == BEFORE


def test_a_file_that_is_not_toml_is_left_as_it_is(config: Path) -> None:
    config.write_text("a = = 1\n")
    with pytest.raises(SettingsError, match="it is left as it is"):
        write_setting(config, "provider", "local")
    assert config.read_text() == "a = = 1\n"


def test_the_lines_of_keys_in_toml() -> None:
    lines = toml_lines(
        'a = 1\n"b.c".d = """\nx = 1\n[no]\n"""\n[t]\n# k = 1\nk = [\n  "x = 1",\n]\n'
        "[[l]]\n[[l]]\nm.n = 1\n[l.o]\np = 1\nq = [\n  [\"no\"],\n  {z = 1}\n]\nr = '''['''\ns = 1\n"
    )
    assert lines[("a",)] == 1
    assert lines["b.c", "d"] == 2
    assert lines["t", "k"] == 8
    assert lines["l", 1, "m", "n"] == 13
    assert lines["l", 1, "o", "p"] == 15
    assert lines["l", 1, "o", "s"] == 21
    assert ("no",) not in lines
    assert ("x",) not in lines
