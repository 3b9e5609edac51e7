"""What is told of wrong settings: one line each, all at once, and never a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import load_settings
from tests.config_text import Load, loader, problems


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".config" / "memdeck" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def load(tmp_path: Path, config: Path) -> Load:
    return loader(tmp_path, config)


# Wrong values


def test_all_problems_at_once(load: Load, config: Path) -> None:
    text = """
provder = "openai"
citations = "maybe"
[query]
max_results = "many"
max_result = 3
[query.mmr]
lambda = 1.5
[sync]
watch = 1
[qurey]
max_results = 3
"""
    assert sorted(problems(load, text)) == [
        f'citations = "maybe": must be "on", "off" or "auto" ({config}:3)',
        f'provder = "openai": no such setting ({config}:2); did you mean provider?',
        f"query.max_result = 3: no such setting ({config}:6); did you mean query.max_results?",
        f'query.max_results = "many": must be a whole number from 1 to 200 ({config}:5)',
        f"query.mmr.lambda = 1.5: must be a number from 0 to 1 ({config}:8)",
        f"qurey: no such setting ({config}:11); did you mean query?",
        f"sync.watch = 1: must be true or false ({config}:10)",
    ]


def test_without_strict_the_right_values_count_and_the_wrong_are_listed(load: Load) -> None:
    loaded = load("query.max_results = 3\nquery.deadline_ms = -1\nchunking.tokens = true", strict=False)
    assert loaded.settings.query.max_results == 3
    assert loaded.settings.query.deadline_ms == 3000
    assert len(loaded.problems) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('provider = "opnai"', 'did you mean "openai"?'),
        ('sources = ["memory", "session"]', 'sources[1] = "session": must be "memory" or "sessions"'),
        ('sources = "memory"', 'sources = "memory": must be a list of "memory" and/or "sessions"'),
        ("query = 3", "query = 3: must be a table"),
        ("query.min_score = true", "must be a number from 0 to 1"),
        ("chunking.tokens = 300.0", "must be a whole number from 1 to 8192"),
        ('[[agents.list]]\nname = "x"', "agents.list[0].id: must name an agent"),
        ("query.min_score = nan", "must be a number from 0 to 1"),
        ("chunking.tokens = 2026-01-01", "must be a whole number from 1 to 8192"),
        ("chunking = { tokens = 100, overlap = 100 }", "must be less than chunking.tokens, which is 100"),
        ('remote.base_url = "ftp://x"', "must be an http:// or https:// address"),
        ('sessions.redact_patterns = ["("]', "must be a regular expression"),
        ('qmd.update.interval = "often"', 'must be a duration like "30s"'),
        ('local.model_path = "~/m.gguf"', "must be an ONNX model, a GGUF file cannot be used"),
        ("memory.query.maxResult = 3", "did you mean query.maxResults?"),
        ("tokens = 300", "did you mean chunking.tokens?"),
        ('store.path = "~/.openclaw/memory/{agentId}.sqlite"', "must not lie among OpenClaw's own files"),
        ('qmd.paths = [{ name = "x" }]', "qmd.paths[0].path: is missing"),
    ],
)
def test_what_a_wrong_value_is_told(load: Load, text: str, line: str) -> None:
    assert line in problems(load, text)[0]


def test_many_unknown_keys_are_told_quickly(load: Load) -> None:
    assert len(problems(load, "".join(f"unknown_{number} = 1\n" for number in range(30_000)))) == 30_000


def test_every_problem_is_one_line_without_control_characters(load: Load) -> None:
    for line in problems(load, '"a\\nb\\u001b[2J" = 1\ncitations = "x\\n\\u001b]0;t\\u202e"'):
        assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('remote.apikye = "sk-live-0123456789abcdef"', "0123456789"),
        ('provider = "sk-live-0123456789abcdef"', "0123456789"),
        ('remote.headers = "Bearer abcdef"', "abcdef"),
        ("remote.api_key = 8675309", "8675309"),
        ('remote.base_url = "https://user:hunter2@host"', "hunter2"),
        ('remote.base_url = "https://host/?code=hunter2"', "hunter2"),
        ('remote = { headers = { "Bad Name" = "hunter2" } }', "hunter2"),
        ('citations = "${TOKEN}"', "hunter2"),
    ],
)
def test_a_problem_never_shows_a_secret(load: Load, text: str, secret: str) -> None:
    assert all(secret not in line for line in problems(load, text, environ={"TOKEN": "hunter2"}))


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"a = 1\nb = = 2\n", 2, "is not TOML"),
        (b"a = 1\na = 2\n", 2, "is not TOML"),
        (b"x = '\xff'\n", 1, "is not UTF-8 text"),
        (b"a = " + b"[" * 5000, None, "is nested too deeply"),
        (b"a = " + b"9" * 5000, None, "is not TOML"),
        (b'a = """\nnever ends\n', None, "is not TOML"),
    ],
)
def test_a_config_that_cannot_be_parsed(load: Load, config: Path, data: bytes, line: int | None, reason: str) -> None:
    config.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])
    (problem,) = caught.value.problems
    assert problem.startswith(f"{config}:{line} " if line else str(config))
    assert reason in problem


def test_a_config_that_is_no_file(config: Path) -> None:
    config.mkdir()
    with pytest.raises(SettingsError, match="is not a regular file"):
        load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])


def test_a_config_with_a_byte_order_mark_and_crlf(load: Load, config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbf[query]\r\nmax_results = 3\r\n")
    loaded = load_settings(workspace=None, agent="main", environ={}, home=config.parents[2])
    assert loaded.settings.query.max_results == 3
    assert loaded.origins["query.max_results"].where == f"{config}:2"


@pytest.mark.parametrize("agent", ["", "../x", "a/b", "-x", "a" * 65, "a\0"])
def test_an_agent_that_is_no_name(load: Load, agent: str) -> None:
    assert problems(load, agent=agent)[0].startswith("agent = ")
