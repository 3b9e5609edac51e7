"""`memdeck keys`: the table of key bindings, with the user's own keys laid over it."""

from __future__ import annotations

import click

from tui.bindings import TABLE, KeyBinding, Keymap, load_keymap
from tui.cli import output
from tui.cli.common import Scope, json_option, loaded_settings, scope_options

_SCOPES = {
    "app": "everywhere",
    "deck": "on every screen",
    "browse": "search, sessions, files",
    "preview": "search and files",
    "search": "search",
    "sessions": "sessions",
    "files": "files",
    "status": "status",
    "first_run": "first run",
    "note": "in the note",
}


@click.command("keys")
@click.option("--markdown", is_flag=True, help="Print the default keys as a Markdown table.")
@json_option
@scope_options
def command(*, scope: Scope, markdown: bool, as_json: bool) -> int:
    """Show the keys of the app, and the ids to change them by under [keymap] in config.toml."""
    if markdown:
        output.line(markdown_table())
        return output.OK
    keymap = load_keymap(loaded_settings(scope).settings.keymap)
    if as_json:
        output.print_json([_binding_json(binding, keymap) for binding in TABLE])
    else:
        rows = [(keymap.all_shown(binding), binding.says, where(binding), _id(binding, keymap)) for binding in TABLE]
        for text in output.table([("keys", "what they do", "where", "id"), *rows]):
            output.line(output.visible(text))
    for problem in keymap.problems:
        output.note(f"warning: {problem}")
    return output.OK


def where(binding: KeyBinding) -> str:
    """On which screens a binding acts, in words."""
    return _SCOPES[binding.scope]


def markdown_table() -> str:
    """The default keys as README has them."""
    keymap = load_keymap({})
    rows = ["| keys | what they do | where | id |", "|---|---|---|---|"]
    for binding in TABLE:
        keys = " ".join(f"`{key}`" for key in keymap.all_shown(binding).replace("|", r"\|").split())
        rows.append(f"| {keys} | {binding.says} | {where(binding)} | `{binding.id}` |")
    return "\n".join(rows)


def _id(binding: KeyBinding, keymap: Keymap) -> str:
    return f"{binding.id} (yours)" if binding.id in keymap.changed else binding.id


def _binding_json(binding: KeyBinding, keymap: Keymap) -> dict[str, object]:
    return {
        "id": binding.id,
        "keys": list(keymap.keys[binding.id]),
        "defaultKeys": binding.keys.split(","),
        "says": binding.says,
        "where": where(binding),
        "changed": binding.id in keymap.changed,
    }
