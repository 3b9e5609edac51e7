"""The table of keys: complete, without clashes, and within reach of every terminal."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tui import guidance
from tui.bindings import (
    ALWAYS,
    BY_ID,
    SCREENS,
    TABLE,
    WINDOWS,
    hints,
    key_works_typing,
    load_keymap,
    on_screen,
    shown_key,
)
from tui.state import DeckState

FORBIDDEN_ALONE = {
    *(f"ctrl+{letter}" for letter in "absijmhkl"),
    "ctrl+backslash", "ctrl+left_square_bracket", "ctrl+space", "ctrl+enter", "alt+enter", "f10", "f11",
    *(f"alt+{digit}" for digit in range(10)),
}  # fmt: skip


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(TABLE)


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things_on_a_screen(screen: str) -> None:
    keys = [key for binding in on_screen(screen) for key in binding.keys.split(",")]
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("window", WINDOWS)
def test_no_key_means_two_things_in_a_window(window: str) -> None:
    keys = [key for name in WINDOWS[window] for key in BY_ID[name].keys.split(",")]
    assert sorted(keys) == sorted(set(keys))


def test_two_lines_with_one_key_are_both_looked_at_and_one_is_refused() -> None:
    keymap = load_keymap({"search.mode": "f12", "search.source": "f12"})
    assert len(keymap.problems) == 1
    assert "f12 already means search.source" in keymap.problems[0]
    assert keymap.changed == ("search.source",)


def test_a_key_of_the_note_may_have_another_meaning_on_the_screens() -> None:
    assert load_keymap({"note.save": "ctrl+r"}).problems == ()


@pytest.mark.parametrize("binding", TABLE, ids=lambda binding: binding.id)
def test_every_action_has_a_key_that_terminals_tmux_and_screen_leave_alone(binding) -> None:
    assert set(binding.keys.split(",")) - FORBIDDEN_ALONE


@pytest.mark.parametrize("name", ALWAYS)
def test_quitting_and_the_palette_are_in_reach_while_typing(name: str) -> None:
    assert any(key_works_typing(key) for key in BY_ID[name].keys.split(","))


def test_letters_and_editing_keys_belong_to_the_text_field() -> None:
    assert not any(key_works_typing(key) for key in ("q", "1", "question_mark", "home", "ctrl+u", "left"))


@pytest.mark.parametrize(
    ("key", "shown"), [("ctrl+p", "^p"), ("question_mark", "?"), ("enter", "↵"), ("G", "G"), ("f1", "f1")]
)
def test_keys_are_shown_as_people_write_them(key: str, shown: str) -> None:
    assert shown_key(key) == shown


def test_hints_say_only_what_works_while_typing() -> None:
    shown = hints("search", load_keymap({}), typing=True)
    assert all(len(key) > 1 or not key.isascii() for key, _ in shown)


def test_a_moved_key_is_shown_and_handed_to_the_app() -> None:
    keymap = load_keymap({"preview.size": "f12", "query.focus": "?, /", "app.help": "f1"})
    assert keymap.problems == ()
    assert keymap.shown(BY_ID["preview.size"]) == "f12"
    assert keymap.overrides()["query.focus"] == "question_mark,slash"


def test_a_key_is_named_that_works_where_it_is_needed() -> None:
    keymap = load_keymap({"query.focus": "?, f12", "app.help": "f1", "app.leave": "Q"})
    assert keymap.key("query.focus") == "?"
    assert keymap.key("query.focus", typing=True) == "f12"
    assert keymap.key("app.leave", typing=True) == "Q"


def test_empty_screens_name_the_keys_in_force() -> None:
    moved = {
        "app.status": "f12", "status.reindex": "u", "app.search": "8", "app.offer": "B", "app.quit": "f10",
        "app.back": "ctrl+b",
    }  # fmt: skip
    keys = load_keymap(moved)
    assert keys.problems == ()
    said = {
        guidance.no_sessions(["pi"], DeckState(), keys).plain: ["f12 shows it, u there looks again"],
        guidance.no_session_matches("x", keys).plain: ["search screen (8)"],
        guidance.not_in_step(keys): ["f12, then u "],
        guidance.first_run((), keys, asks=True).plain: ["f10 quits", "^b, then B shows"],
    }
    assert all(words in text for text, all_words in said.items() for words in all_words)


NAMES_A_KEY = re.compile(
    r"(?:^|[ ;(])(?:[a-zA-Z0-9]|\^[a-z]|ctrl\+[a-z]|esc|tab|f\d+|[←→↑↓])"
    r"(?: shows| opens| there| closes| keeps| goes| selects| quits| folds?\b| saves| scroll| again|, then )"
)


def test_no_text_names_a_key_that_the_table_may_move() -> None:
    assert NAMES_A_KEY.search("hits by document; h and l fold")
    tui = Path(__file__).parent.parent / "tui"
    for path in (path for path in tui.rglob("*.py") if "cli" not in path.parts):
        tree = ast.parse(path.read_text())
        docstrings = {
            id(body[0].value)
            for node in ast.walk(tree)
            if (body := getattr(node, "body", None)) and isinstance(body, list) and isinstance(body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not NAMES_A_KEY.search(node.value), (path, node.value)


def test_two_actions_can_trade_their_keys() -> None:
    keymap = load_keymap({"search.mode": "ctrl+f", "search.source": "ctrl+r"})
    assert keymap.problems == ()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"serch.mode": "ctrl+r"}, ["no action is called 'serch.mode'", "did you mean 'search.mode'"]),
        ({"search.mode": "hyper+boing"}, ["search.mode = 'hyper+boing'", "is not a key"]),
        ({"search.mode": ""}, ["nothing is not a key"]),
        ({"search.mode": "ctrl+t"}, ["^t already means app.screen_next"]),
        ({"app.quit": "x"}, ["needs a key that works while typing"]),
        ({"app.quit": "x,ctrl+q"}, ["x could not be typed any more"]),
        ({"app.back": "space"}, ["app.back = 'space'", "could not be typed any more"]),
        ({"note.sav": "ctrl+g"}, ["did you mean 'note.save'"]),
        ({"note.save": "s"}, ["s could not be typed any more"]),
        ({"note.save": "ctrl+y"}, ["^y already means note.cite"]),
        ({"note.cite": "ctrl+n"}, ["^n already means app.note"]),
        ({"open.editor": "q"}, ["q already means app.leave"]),
    ],
)
def test_a_wrong_line_of_the_keymap_is_named_and_left_out(overrides: dict[str, str], words: list[str]) -> None:
    keymap = load_keymap(overrides)
    assert len(keymap.problems) == 1
    assert all(word in keymap.problems[0] for word in words)
    assert keymap.keys == load_keymap({}).keys


def test_the_table_loads_without_textual() -> None:
    code = "import sys, tui.bindings; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_app_imports_of_core_only_its_public_face() -> None:
    tui = Path(__file__).parent.parent / "tui"
    for path in (path for path in tui.rglob("*.py") if "cli" not in path.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.startswith("core.") for name in names), path
