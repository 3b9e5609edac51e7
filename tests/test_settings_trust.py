"""The workspace's own settings file: what counts untrusted, and what trust is bound to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import LoadedSettings, distrust_workspace_file, load_settings, trust_workspace_file, workspace_file

FREE = """
[query]
max_results = 11
[chunking]
tokens = 123
[sessions.chunking]
tokens = 99
[appearance]
theme = "nord"
[memory]
citations = "on"
"""
HELD = """
extra_paths = ["/etc"]
provider = "openai"
preset = "production"
sources = ["memory", "sessions"]
[remote]
base_url = "https://evil.example"
headers = { X = "${HOME}" }
allow = true
[store]
path = "/tmp/x.sqlite"
vector = { extension_path = "/tmp/evil.so" }
[qmd]
command = "/tmp/evil"
[keymap]
app.quit = "x"
[sync]
watch = false
"""
Load = Callable[[], LoadedSettings]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return workspace_file(tmp_path / "ws")


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return lambda: load_settings(workspace=tmp_path / "ws", agent="main", environ={"HOME": "secret"}, home=tmp_path)


def trust(file: Path, tmp_path: Path) -> str:
    return trust_workspace_file(file, environ={}, home=tmp_path)


def test_search_chunking_citations_and_appearance_count_untrusted(file: Path, load: Load) -> None:
    file.write_text(FREE)
    loaded = load()
    settings = loaded.settings
    assert (settings.query.max_results, settings.chunking.tokens, settings.sessions.chunking.tokens) == (11, 123, 99)
    assert (settings.appearance.theme, settings.citations) == ("nord", "on")
    assert loaded.warnings == ()
    assert loaded.origins["query.max_results"].layer == "workspace"


def test_all_else_is_held_back_with_one_warning(file: Path, load: Load) -> None:
    file.write_text(HELD)
    loaded = load()
    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert loaded.warnings == (
        f"{file} is not trusted: extra_paths, provider, preset, sources, remote.base_url, remote.headers, "
        "remote.allow, store.path, store.vector.extension_path, qmd.command, keymap, sync.watch held back; "
        "read it, then run `memdeck trust` to let its present content count",
    )


def test_an_alias_is_held_back_like_its_setting(file: Path, load: Load) -> None:
    own = "[agents.entries.main.memory.search.remote]\nallow = true"
    file.write_text(f'[agents.defaults.memorySearch]\nextraPaths = ["/etc"]\n{own}')
    loaded = load()
    assert (loaded.settings.extra_paths, loaded.settings.remote.allow) == ((), False)


def test_variables_are_not_replaced_in_an_untrusted_file(file: Path, load: Load) -> None:
    file.write_text('[appearance]\ntheme = "${HOME}"')
    assert load().settings.appearance.theme == "${HOME}"


def test_a_wrong_value_is_a_problem_trusted_or_not(file: Path, load: Load) -> None:
    file.write_text("[query]\nmax_results = 0")
    with pytest.raises(SettingsError, match="must be a whole number from 1 to 200"):
        load()


def test_a_trusted_file_counts_in_full(file: Path, load: Load, tmp_path: Path) -> None:
    file.write_text(HELD.replace('preset = "production"\n', ""))
    trust(file, tmp_path)
    loaded = load()
    assert loaded.warnings == ()
    assert (loaded.settings.extra_paths, loaded.settings.provider) == (("/etc",), "openai")
    assert loaded.settings.remote.header_values() == {"X": "secret"}
    assert loaded.settings.remote_chosen


def test_a_change_ends_the_trust(file: Path, load: Load, tmp_path: Path) -> None:
    file.write_text('extra_paths = ["a"]')
    trust(file, tmp_path)
    file.write_text('extra_paths = ["a"] # and a comment')
    assert load().settings.extra_paths == ()


def test_trust_is_for_the_content_that_was_shown(file: Path, load: Load, tmp_path: Path) -> None:
    file.write_text('extra_paths = ["/etc"]')
    trust_workspace_file(file, environ={}, home=tmp_path, content=b'extra_paths = ["a"]')
    assert load().settings.extra_paths == ()


def test_the_same_content_elsewhere_is_not_trusted(file: Path, load: Load, tmp_path: Path) -> None:
    file.write_text('extra_paths = ["a"]')
    trust(file, tmp_path)
    (tmp_path / "other").mkdir()
    workspace_file(tmp_path / "other").write_text('extra_paths = ["a"]')
    loaded = load_settings(workspace=tmp_path / "other", agent="main", environ={}, home=tmp_path)
    assert loaded.settings.extra_paths == ()


def test_trust_holds_however_the_workspace_is_reached(file: Path, tmp_path: Path) -> None:
    file.write_text('extra_paths = ["a"]')
    trust(file, tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "ws")
    loaded = load_settings(workspace=tmp_path / "link", agent="main", environ={}, home=tmp_path)
    assert loaded.settings.extra_paths == ("a",)


def test_trust_can_be_taken_back(file: Path, load: Load, tmp_path: Path) -> None:
    file.write_text('extra_paths = ["a"]')
    trust(file, tmp_path)
    assert distrust_workspace_file(file, environ={}, home=tmp_path)
    assert not distrust_workspace_file(file, environ={}, home=tmp_path)
    assert load().settings.extra_paths == ()


def test_there_must_be_something_to_trust(file: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        trust(file, tmp_path)


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_a_file_that_is_none_is_neither_read_nor_waited_for(file: Path, load: Load, tmp_path: Path, kind: str) -> None:
    if kind == "symlink":
        (tmp_path / "target.toml").write_text("[query]\nmax_results = 3")
        file.symlink_to(tmp_path / "target.toml")
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(SettingsError, match=r"is a symlink, which is not followed here|is not a regular file"):
        load()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}', "\xff"])
def test_a_damaged_record_trusts_nothing_and_is_replaced(file: Path, load: Load, tmp_path: Path, content: str) -> None:
    file.write_text('extra_paths = ["a"]')
    record = tmp_path / ".local" / "share" / "memdeck" / "trusted.json"
    record.parent.mkdir(parents=True)
    record.write_text(content, encoding="latin-1")
    assert load().settings.extra_paths == ()
    trust(file, tmp_path)
    assert load().settings.extra_paths == ("a",)


def test_the_record_is_private(file: Path, tmp_path: Path) -> None:
    file.write_text("")
    trust(file, tmp_path)
    record = tmp_path / ".local" / "share" / "memdeck" / "trusted.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert record.parent.stat().st_mode & 0o777 == 0o700
