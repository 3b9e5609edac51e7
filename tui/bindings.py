"""The one table of key bindings: the app, the hint line, help, the palette, README and `memdeck keys` are made from it.

Nothing here imports Textual, so that a plain command can print the table.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Literal

from core import late_regex, record

Scope = Literal["app", "deck", "browse", "preview", "search", "sessions", "files", "status", "first_run", "note"]

SCREENS: Mapping[str, tuple[Scope, ...]] = {
    "search": ("search", "browse", "preview", "deck", "app"),
    "sessions": ("sessions", "browse", "deck", "app"),
    "status": ("status", "deck", "app"),
    "files": ("files", "browse", "preview", "deck", "app"),
    "first_run": ("first_run", "deck", "app"),
}
"""Each screen with the scopes that are reachable on it, innermost first."""

_ROWS = ("list.down", "list.up", "list.page_down", "list.page_up", "list.first", "list.last")
_CLOSING = ("app.back", "app.quit", "app.interrupt")
WINDOWS: Mapping[str, tuple[str, ...]] = {
    "note": (
        *("note.save", "note.cite", "app.note", "pane.next", "pane.previous"),
        *_CLOSING,
    ),
    "palette": ("app.palette", *_ROWS, *_CLOSING),
    "help": ("app.help", "app.leave", "hit.open", *_ROWS, *_CLOSING),
    "details": ("hit.open", "app.leave", *_ROWS, *_CLOSING),
    "why": ("search.explain", "app.leave", "hit.open", *_ROWS, *_CLOSING),
    "saved": ("hit.open", "open.editor", "copy.citation", "app.leave", *_CLOSING),
}
"""The windows over the screens, with the ids whose keys act there, some of them in a sense of the window's own."""


@record(frozen=True, slots=True)
class KeyBinding:
    """One thing that keys can do.

    `keys` are the default keys in Textual's names, comma separated; `action` is the Textual action; `label` is what the
    hint line says (at most 10 cells, "" for never) and `hint` its place there; `says` is the line in help and palette.
    """

    id: str
    keys: str
    action: str
    says: str
    scope: Scope
    label: str = ""
    hint: int = 0
    palette: bool = True
    priority: bool = False

    @property
    def needs_row(self) -> bool:
        """Whether it does something only where the list has a row."""
        return self.id.startswith(_ABOUT_ROWS) and self.id not in ("files.state", "files.fold")


_ABOUT_SHOWN = (
    "hit.open", "hit.transcript", "copy.citation", "copy.text", "open.editor", "open.pager", "search.explain",
    "preview.goto", "preview.find", "preview.find_next", "preview.find_previous", "preview.select",
    "session.turn_next", "session.turn_previous", "session.raw", "session.whole", "session.resume", "memory.save",
    "files.reindex", "files.path", "app.note",
)  # fmt: skip
_ABOUT_ROWS = (
    "hit.", "copy.", "open.", "preview.", "session.", "memory.", "files.", "search.explain",
    "offer.choose", "offer.start", "offer.later", "status.details", "status.file",
)  # fmt: skip

TABLE: tuple[KeyBinding, ...] = (
    KeyBinding("app.palette", "ctrl+p,colon", "app.palette", "Find a command", "app", "palette", 92, palette=False),
    KeyBinding("app.help", "question_mark,f1", "app.help", "Show the keys of this screen", "app", "help", 91),
    KeyBinding("app.screen_next", "ctrl+t", "app.screen_next", "Go to the next screen", "app", "screen", 90),
    KeyBinding("app.search", "1,f2", "app.show('search')", "Go to search", "app"),
    KeyBinding("app.sessions", "2,f3", "app.show('sessions')", "Go to sessions", "app"),
    KeyBinding("app.status", "3,f4", "app.show('status')", "Go to status", "app"),
    KeyBinding("app.files", "4,f5", "app.show('files')", "Go to files", "app"),
    KeyBinding("app.note", "ctrl+n", "app.note", "Write a note, or go on with its draft", "app", "note", 58),
    KeyBinding("app.offer", "A", "app.offer", "Choose what is read: folders, agents' sessions", "app"),
    KeyBinding("app.theme", "f9", "app.theme_next", "Change the theme", "app"),
    KeyBinding("app.suspend", "ctrl+z", "app.suspend_process", "Go to the shell; fg comes back", "app"),
    KeyBinding("app.quit", "ctrl+q", "app.quit", "Quit, from anywhere", "app", priority=True),
    KeyBinding("app.leave", "q", "app.quit", "Quit, when browsing", "app", palette=False),
    KeyBinding(
        "app.interrupt",
        "ctrl+c",
        "app.interrupt",
        "Copy the selection; twice: quit",
        "app",
        palette=False,
        priority=True,
    ),
    KeyBinding(
        "app.back", "escape", "back", "Back one level, never out of the app", "deck", palette=False, priority=True
    ),
    KeyBinding(
        "pane.next", "tab", "app.focus_next", "Go to the next pane", "deck", "pane", 20, palette=False, priority=True
    ),
    KeyBinding(
        "pane.previous",
        "shift+tab",
        "app.focus_previous",
        "Go to the previous pane",
        "deck",
        palette=False,
        priority=True,
    ),
    KeyBinding("list.down", "down,j", "move('down')", "Down", "deck", palette=False),
    KeyBinding("list.up", "up,k", "move('up')", "Up", "deck", palette=False),
    KeyBinding("list.page_down", "pagedown,ctrl+d", "move('page_down')", "A page down", "deck", palette=False),
    KeyBinding("list.page_up", "pageup,ctrl+u", "move('page_up')", "A page up", "deck", palette=False),
    KeyBinding("list.first", "home,g", "move('first')", "To the first line", "deck", palette=False),
    KeyBinding("list.last", "end,G", "move('last')", "To the last line", "deck", palette=False),
    KeyBinding("hit.open", "enter", "open", "Go into the preview", "browse", "open", 10, palette=False),
    KeyBinding("hit.next", "right_square_bracket", "step(1)", "Next row, also from the preview", "browse"),
    KeyBinding("hit.previous", "left_square_bracket", "step(-1)", "Previous row, also from the preview", "browse"),
    KeyBinding("hit.mark", "space", "mark", "Mark the row; cite copies all marked", "preview", "mark", 52),
    KeyBinding("query.focus", "slash", "query", "Go to the text field", "browse", "type", 15),
    KeyBinding("copy.citation", "ctrl+y,y", "copy_citation", "Copy the citation", "browse", "cite", 30),
    KeyBinding("copy.text", "Y", "copy_cited", "Copy the cited text", "browse", "text", 35),
    KeyBinding("open.editor", "e,f6", "edit", "Open in $EDITOR at the line", "browse", "editor", 60),
    KeyBinding("open.pager", "vertical_line", "page", "Show in $PAGER from the line on", "browse"),
    KeyBinding("preview.size", "ctrl+o", "preview_size", "Preview: split, full, off", "browse", "size", 40),
    KeyBinding("preview.wrap", "w", "preview_wrap", "Wrap long lines, or not", "preview", "wrap", 70),
    KeyBinding("preview.goto", "number_sign,ctrl+g", "goto", "Go to a line: 123 or 120-140", "browse", "line", 75),
    KeyBinding("preview.find", "f", "find", "Find in this file", "browse", "find", 45),
    KeyBinding("preview.find_next", "n", "find_step(1)", "Next match in this file", "browse"),
    KeyBinding("preview.find_previous", "N", "find_step(-1)", "Previous match in this file", "browse"),
    KeyBinding("preview.select", "v", "select", "Select lines: move, then cite or text", "browse", "select", 48),
    KeyBinding("preview.left", "left,h", "move('left')", "Scroll lines left; fold", "preview", palette=False),
    KeyBinding("preview.right", "right,l", "move('right')", "Scroll lines right; unfold", "preview", palette=False),
    KeyBinding("search.mode", "ctrl+r", "mode_next", "Mode: hybrid, keyword, semantic", "search", "mode", 50),
    KeyBinding("search.source", "ctrl+f", "source_next", "Source: all, or one of them", "search", "source", 55),
    KeyBinding("search.dates", "t,f8", "dates_next", "Dates: any time, the last days, or typed", "search", "dates", 56),
    KeyBinding("search.group", "d", "group", "Hits by document, or by score", "search", "group", 62),
    KeyBinding("search.history", "f7", "history", "Earlier queries; also up at an empty query", "search"),
    KeyBinding("search.explain", "x", "explain", "Say why the hit stands where it stands", "search", "why", 65),
    KeyBinding("hit.transcript", "m", "transcript", "Open the transcript at the hit", "search", "transcript", 46),
    KeyBinding("session.turn_next", "J", "turn(1)", "Next message", "sessions", "message", 22),
    KeyBinding("session.turn_previous", "K", "turn(-1)", "Previous message", "sessions"),
    KeyBinding("session.raw", "r", "raw", "Show the message's raw record, or not", "sessions", "raw", 12),
    KeyBinding("session.whole", "a", "whole", "Show all of a long message, or its beginning", "sessions", "all", 33),
    KeyBinding("session.role", "o", "role_next", "Show: all, said, user, assistant, tools", "sessions", "roles", 50),
    KeyBinding("session.unfold", "right,l", "fold(False)", "Show the subagents of a session", "sessions"),
    KeyBinding("session.fold", "left,h", "fold(True)", "Put the subagents under their session", "sessions"),
    KeyBinding("session.resume", "R", "copy_resume", "Copy the agent's resume command", "sessions", "resume", 56),
    KeyBinding("memory.save", "s", "save", "Save the selected or the last messages", "sessions", "save", 42),
    KeyBinding("files.state", "o", "state_next", "Show: all, indexed, waiting, failed, left out", "files", "show", 50),
    KeyBinding("files.reindex", "r", "reindex", "Read the file, or all below the folder, again", "files", "again", 22),
    KeyBinding("files.fold", "z", "fold_all", "Fold or unfold all folders", "files", "fold", 42),
    KeyBinding("files.path", "P", "copy_path", "Copy the path on disk", "files", "path", 32),
    KeyBinding("status.reindex", "r", "reindex", "Bring the index in step with the files", "status", "sync", 10),
    KeyBinding("status.details", "enter", "details", "All of the row, or its file", "status", "more", 12),
    KeyBinding("status.file", "f", "show_file", "Show the row's file in files", "status", "file", 40),
    KeyBinding("status.level", "o", "level_next", "Log: all, warnings and errors, errors", "status", "level", 25),
    KeyBinding("status.recover", "R", "recover", "Repair, redo or check the index", "status", "repair", 35),
    KeyBinding("status.pause", "p", "pause", "Hold the log still; work goes on", "status", "pause", 20),
    KeyBinding("offer.choose", "space", "choose", "Choose the row, or not", "first_run", "choose", 5),
    KeyBinding("offer.start", "enter", "start", "Go on with what is chosen", "first_run", "go on", 6),
    KeyBinding("offer.later", "n", "later", "Not now: nothing is read; remembered", "first_run", "not now", 7),
    KeyBinding("offer.folder", "slash", "folder", "Name another folder", "first_run", "folder", 15),
    KeyBinding("status.clear", "c", "clear", "Empty the log", "status", "clear", 30),
    KeyBinding("note.save", "ctrl+o,ctrl+s", "save", "Save the note", "note", palette=False, priority=True),
    KeyBinding("note.cite", "ctrl+y", "cite", "Put in the citation of the hit", "note", palette=False, priority=True),
)

BY_ID: Mapping[str, KeyBinding] = {binding.id: binding for binding in TABLE}
NEED_SHOWN = frozenset(BY_ID[name].action for name in _ABOUT_SHOWN)
"""Actions that take something from the row in force, or from what is shown of it."""
MOVES = frozenset(binding.action for binding in TABLE if binding.action.startswith(("move(", "app.focus_")))
_NEED_MEMORY = ("app.screen_next", "app.note")
ALWAYS = ("app.quit", "app.palette")
"""Actions that must stay in reach while a text field has the focus."""

_NAMES = {
    "question_mark": "?", "colon": ":", "slash": "/", "left_square_bracket": "[", "right_square_bracket": "]",
    "number_sign": "#", "full_stop": ".", "comma": ",", "minus": "-", "plus": "+", "asterisk": "*",
    "vertical_line": "|",
    "space": "space", "enter": "↵", "escape": "esc", "down": "↓", "up": "↑", "left": "←", "right": "→",
    "pagedown": "pgdn", "pageup": "pgup", "delete": "del", "backspace": "bksp",
}  # fmt: skip
_SYMBOL_OF = {name: shown for name, shown in _NAMES.items() if len(shown) == 1 and shown.isascii()}
_SYMBOLS = {shown: name for name, shown in _NAMES.items() if len(shown) == 1 and shown.isascii()}
_FUNCTION = {f"f{number}" for number in range(1, 25)}
_BARE = {*_NAMES, *_FUNCTION, "tab", "home", "end", "insert"}
_CONTROL = {*_FUNCTION, "tab", "escape", "enter", "pageup", "pagedown", "up", "down"}
_TEXT_FIELD = {
    "home", "end", "left", "right", "delete", "backspace", "space",
    *(f"ctrl+{letter}" for letter in "acdekuvwx"),
}  # fmt: skip
_KEY = late_regex(r"^(?:(?:ctrl|alt|shift|super)\+)*(?P<name>.+)$", re.S)


def shown_key(key: str) -> str:
    """`ctrl+p` as `^p`, `question_mark` as `?`."""
    if key.startswith("ctrl+") and len(key) == 6:
        return f"^{key[-1]}"
    return _NAMES.get(key, key)


def key_works_typing(key: str) -> bool:
    """Whether a focused text field leaves this key to the screen."""
    return key not in _TEXT_FIELD and ("+" in key or key in _CONTROL)


def _works_browsing_only(key: str) -> bool:
    return not key_works_typing(key)


@record(frozen=True, slots=True)
class Keymap:
    """The keys in force: `keys[id]`, the ids that the user moved, and what was wrong with the user's table."""

    keys: Mapping[str, tuple[str, ...]]
    changed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def shown(self, binding: KeyBinding, *, typing: bool = False) -> str:
        """The first key that works now, as people write it; "" if none does."""
        usable = [key for key in self.keys[binding.id] if not typing or key_works_typing(key)]
        return shown_key(usable[0]) if usable else ""

    def key(self, name: str, *, typing: bool = False) -> str:
        """The first key of an id as people write it; with `typing` the first that works in the middle of typing too."""
        binding = BY_ID[name]
        return (typing and self.shown(binding, typing=True)) or self.shown(binding)

    def all_shown(self, binding: KeyBinding, *, typed_last: bool = False) -> str:
        """Every key, in the order of the table, or first those that work while typing."""
        keys = self.keys[binding.id]
        return " ".join(shown_key(key) for key in (sorted(keys, key=_works_browsing_only) if typed_last else keys))

    @property
    def bound(self) -> set[str]:
        """All keys, in Textual's names."""
        return {key for keys in self.keys.values() for key in keys}

    def overrides(self) -> dict[str, str]:
        """What `App.set_keymap` takes: only the ids that were moved."""
        return {name: ",".join(self.keys[name]) for name in self.changed}


def load_keymap(overrides: Mapping[str, str]) -> Keymap:
    """The table with the user's `[keymap]` laid over it.

    A wrong line is left out and named in `problems`: an unknown id (with the nearest right one), a key that no terminal
    sends, a key that another action on the same screen or window has, a table without a way to quit, a letter for what
    keys do also in the middle of typing.
    """
    keys = {binding.id: tuple(binding.keys.split(",")) for binding in TABLE}
    defaults = dict(keys)
    changed: list[str] = []
    problems: list[str] = []
    for name, text in overrides.items():
        if name not in BY_ID:
            near = difflib.get_close_matches(name, BY_ID, n=1)
            problems.append(f"keymap: no action is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            continue
        wanted = tuple(_SYMBOLS.get(key, key) for key in re.split(r"[,\s]+", text.strip()) if key)
        wrong = ", ".join(repr(key) for key in wanted if not _is_key(key))
        if wrong or not wanted:
            problems.append(f"keymap: {name} = {text!r}: {wrong or 'nothing'} is not a key")
        elif name in ALWAYS and not any(map(key_works_typing, wanted)):
            problems.append(f"keymap: {name} = {text!r}: needs a key that works while typing, such as ctrl+q or f12")
        elif BY_ID[name].priority and (typed := [key for key in wanted if _is_typed(key)]):
            problems.append(f"keymap: {name} = {text!r}: {shown_key(typed[0])} could not be typed any more")
        else:
            keys[name] = wanted
            changed.append(name)
    while clashing := next((name for name in changed if _clash(name, keys)), None):
        problems.append(f"keymap: {clashing} = {overrides[clashing]!r}: {_clash(clashing, keys)}")
        keys[clashing] = defaults[clashing]
        changed.remove(clashing)
    return Keymap(keys, tuple(changed), tuple(problems))


def _is_key(key: str) -> bool:
    match = _KEY.match(key)
    name = match["name"] if match else ""
    return name in _BARE or (len(name) == 1 and name.isprintable() and not name.isspace())


def _is_typed(key: str) -> bool:
    """Whether a key puts something into a text."""
    return key in ("space", "enter", "backspace", "delete") or len(_SYMBOL_OF.get(key, key)) == 1


def _clash(name: str, keys: Mapping[str, tuple[str, ...]]) -> str:
    for other in TABLE:
        if other.id == name or not _meet(BY_ID[name], other):
            continue
        both = set(keys[name]) & set(keys[other.id])
        if both:
            return f"{shown_key(min(both))} already means {other.id}"
    return ""


def _meet(one: KeyBinding, two: KeyBinding) -> bool:
    """Whether both act on one screen, or in one window."""
    on_screens = any(one.scope in scopes and two.scope in scopes for scopes in SCREENS.values())
    return on_screens or any(one.id in ids and two.id in ids for ids in WINDOWS.values())


def in_note() -> tuple[KeyBinding, ...]:
    """The bindings that only the quick note has."""
    return tuple(binding for binding in TABLE if binding.scope == "note")


def on_screen(screen: str) -> tuple[KeyBinding, ...]:
    """The bindings that are reachable on a screen, its own first."""
    order = SCREENS[screen]
    return tuple(sorted((b for b in TABLE if b.scope in order), key=lambda b: order.index(b.scope)))


def hints(screen: str, keymap: Keymap, *, typing: bool, rows: bool = True) -> list[tuple[str, str]]:
    """(key, label) of what works now, most wanted first; without `rows` only what needs none."""
    reachable = (b for b in on_screen(screen) if screen != "first_run" or b.id not in _NEED_MEMORY)
    wanted = sorted((b for b in reachable if b.label and (rows or not b.needs_row)), key=lambda b: b.hint)
    shown = ((keymap.shown(binding, typing=typing), binding.label) for binding in wanted)
    return [(key, label) for key, label in shown if key]
