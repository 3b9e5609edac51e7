"""What the palette offers: the bindings that are reachable on a screen, and the themes."""

from __future__ import annotations

from collections.abc import Iterable

from textual.fuzzy import Matcher

from core import record
from tui.bindings import KeyBinding, Keymap, on_screen


@record(frozen=True, slots=True)
class Command:
    """One entry: `title` reads "area: what it does", `keys` as people write them, `action` is run on the screen."""

    title: str
    keys: str
    action: str


def commands_of(screen: str, keymap: Keymap, themes: Iterable[str]) -> list[Command]:
    """All commands of a screen, its own first."""
    rows = [
        Command(_title(row), keymap.all_shown(row, typed_last=True), row.action)
        for row in on_screen(screen)
        if row.palette
    ]
    return rows + [Command(f"theme: {name}", "", f"app.use_theme({name!r})") for name in themes]


def _title(row: KeyBinding) -> str:
    """The group and what is done, without saying the group twice."""
    group = row.id.partition(".")[0]
    words = f"{row.says[0].lower()}{row.says[1:]}"
    if words.split(" ")[0].rstrip(":") == group:
        words = words.partition(" ")[2]
    return f"{group}: {words}"


def matching(commands: Iterable[Command], query: str) -> list[Command]:
    """The commands that a fuzzy query finds, best first; all for a blank one."""
    if not query.strip():
        return list(commands)
    matcher = Matcher(query.strip())
    scored = [(matcher.match(command.title), command) for command in commands]
    return [command for score, command in sorted(scored, key=lambda pair: -pair[0]) if score > 0]
