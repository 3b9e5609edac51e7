"""The groups of settings as values: immutable, comparable, masked, made by hand, and checked at no great cost."""

from __future__ import annotations

import contextlib
import copy
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingsError
from core.settings import PRESETS, Settings, settings_of
from core.settings.checks import checked
from core.settings.description import Odd
from core.settings.keys import Leaf, leaves
from core.settings.model import Query, Remote
from core.settings.qmd_model import QmdPath, ScopeMatch, ScopeRule
from core.settings.secret import Secret
from core.settings.values import leaf_kind

ROOT = Path(__file__).resolve().parents[1]

# Groups


def test_settings_cannot_be_changed() -> None:
    query = Settings().query
    with pytest.raises(FrozenInstanceError):
        query.max_results = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del query.max_results
    assert query.max_results == 6


def test_a_changed_copy_leaves_the_rest_as_it_was() -> None:
    changed = replace(Settings(), query=replace(Query(), max_results=3))
    assert changed.query.max_results == 3
    assert replace(changed, query=Query()) == Settings()


def test_groups_are_equal_by_their_values_and_their_class() -> None:
    assert Query(max_results=3) == Query(max_results=3) != Query(max_results=4)
    assert hash(Query(max_results=3)) == hash(Query(max_results=3))
    assert ScopeMatch() != QmdPath(path="a")
    assert len({Query(), Query(), Query(rule="classic")}) == 2


def test_a_group_tells_its_values() -> None:
    assert repr(ScopeMatch(channel="x")) == "ScopeMatch(channel='x', chat_type=None, key_prefix=None)"


def test_a_group_takes_no_other_names_and_needs_what_has_no_default() -> None:
    with pytest.raises(TypeError, match="no max_result"):
        Query(max_result=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="path is missing"):
        QmdPath()  # type: ignore[call-arg]


def test_a_copy_is_equal() -> None:
    settings = settings_of({"remote": {"api_key": "k", "headers": {"A": "b"}}})
    assert copy.deepcopy(settings) == settings


# Secrets


def test_a_secret_is_never_shown() -> None:
    remote = Remote(api_key=Secret("hunter2"))
    for text in (repr(remote), str(remote.api_key), f"{remote.api_key}", json.dumps(remote.api_key, default=str)):
        assert "hunter" not in text
        assert "***" in text


def test_secrets_are_equal_by_their_text() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a") != "a"


# Made by hand


@pytest.mark.parametrize(
    "values",
    [
        {"query": {"mmr": {"lambda": 0.2}, "maxResults": 3}},
        {"query": {"mmr": {"lambda_": 0.2}, "max_results": 3}},
        {"query.mmr.lambda": 0.2, "maxResults": 3},
    ],
)
def test_settings_made_by_hand_take_any_spelling(values: Mapping[str, object]) -> None:
    query = settings_of(values).query
    assert (query.mmr.lambda_, query.max_results) == (0.2, 3)


def test_settings_made_by_hand_tell_all_that_is_wrong() -> None:
    with pytest.raises(SettingsError) as caught:
        settings_of({"query": {"max_result": 3, "rule": "old"}, "chunking": {"tokens": 10, "overlap": 10}})
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "query.max_result = 3",
        'query.rule = "old"',
        "chunking.overlap = 10",
    ]


def test_settings_made_by_hand_get_an_overlap_that_fits() -> None:
    assert settings_of({"chunking": {"tokens": 24}}).chunking.overlap == 4


@pytest.mark.parametrize("names", [("chatType", "keyPrefix"), ("chat_type", "key_prefix")])
def test_tables_in_lists_take_both_spellings(names: tuple[str, str]) -> None:
    match = dict(zip(names, ("direct", "k"), strict=True))
    scope = settings_of({"qmd": {"scope": {"rules": [{"action": "deny", "match": match}]}}}).qmd.scope
    assert scope.rules == (ScopeRule(action="deny", match=ScopeMatch(chat_type="direct", key_prefix="k")),)


def test_tables_in_lists_may_be_made_already() -> None:
    paths = (QmdPath(path="a", name="b"),)
    assert settings_of({"qmd": {"paths": paths}}).qmd.paths == paths


# The short way and pydantic's

TEXTS = st.text(max_size=8) | st.sampled_from(["5m", "2MiB", "http://localhost:1/v1", "a\0b", "\ud800", "(", "memory"])
CHOICES = sorted({choice for leaf in leaves().values() for choice in leaf_kind(leaf).choices})
PLAIN = (
    st.booleans()
    | st.integers(-5, 10**13)
    | st.integers(0, 300)
    | st.floats()
    | st.floats(0, 1)
    | TEXTS
    | st.sampled_from(CHOICES)
)
VALUES = (
    PLAIN
    | st.lists(PLAIN, max_size=3)
    | st.lists(TEXTS, max_size=3).map(tuple)
    | st.dictionaries(TEXTS, PLAIN, max_size=3)
    | st.dictionaries(st.sampled_from(["X-A", "app.quit"]), TEXTS | st.dictionaries(TEXTS, TEXTS), max_size=2)
)


@given(st.sampled_from(list(leaves().values())), VALUES)
def test_what_plainly_fits_is_what_pydantic_makes_of_it(leaf: Leaf, value: object) -> None:
    kind = leaf_kind(leaf)
    with contextlib.suppress(Odd):
        fitting = kind.fit(value)
        expected, details = checked(kind, value)
        assert not details
        assert (type(fitting), fitting) == (type(expected), expected)


@pytest.mark.parametrize("key", leaves())
def test_every_default_fits(key: str) -> None:
    leaf = leaves()[key]
    kind = leaf_kind(leaf)
    if leaf.default is not None and kind.item is None and kind.inner is None:
        assert kind.fit(leaf.default) == leaf.default
    assert checked(kind, leaf.default) == (leaf.default, [])


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for values in PRESETS.values() for key, value in values.items()]
)
def test_every_value_of_a_preset_fits(key: str, value: object) -> None:
    assert leaf_kind(leaves()[key]).fit(value) == value


def test_every_group_has_a_default_for_everything() -> None:
    groups = {leaf.group for leaf in leaves().values()}
    assert all(group() == group() for group in groups)
    assert all(not hasattr(group(), "model_fields") and fields(group) for group in groups)


CONFIG = """
provider = "openai"
sources = ["memory", "sessions"]
extra_paths = ["~/notes"]
keymap.app.quit = "q"
[remote]
api_key = "${KEY}"
base_url = "https://proxy.example/v1"
headers = { "X-Team" = "memory" }
[query]
max_results = 9
min_score = 0
[qmd.update]
interval = "90s"
[multimodal]
max_file_bytes = "2MiB"
[sessions]
redact_patterns = ["(?i)acme_[a-z]{8}"]
"""


@pytest.mark.parametrize("config", ["", CONFIG])
def test_ordinary_settings_are_read_without_pydantic(tmp_path: Path, config: str) -> None:
    place = tmp_path / ".config" / "memdeck" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(config)
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text('{"memorySearch": {"query": {"minScore": 0.5}}}')
    code = (
        "import sys; from pathlib import Path; from core import load_settings\n"
        f"load_settings(workspace=None, agent='main', home=Path({str(tmp_path)!r}),\n"
        "    environ={'KEY': 'k', 'MEMDECK_SYNC_WATCH': 'off'}, flags={'citations': 'on', 'query.max_results': '3'})\n"
        "print([m for m in ('pydantic', 'pydantic_core', 'json5', 'tomlkit') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
