"""`memdeck config`: every setting, its value in force, and where that came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Failed, Scope, found_workspace, json_option, loaded_settings, scope_options

if TYPE_CHECKING:
    from core import LoadedSettings

_VALUE_CELLS = 48


@click.command("config")
@click.argument("key", required=False, default="")
@click.option("--changed", is_flag=True, help="Only what is not a default.")
@click.option("--markdown", is_flag=True, help="Print all settings with their documentation as a Markdown table.")
@json_option
@scope_options
def command(*, scope: Scope, key: str, changed: bool, markdown: bool, as_json: bool) -> int:
    """Show the merged settings and where each came from.

    KEY narrows the list to one setting or group: query, sync.watch. Later layers win: openclaw.json, preset,
    config.toml, the workspace's .memdeck.toml, MEMDECK_* variables, options.
    """
    if markdown:
        output.line(markdown_table())
        return output.OK
    from core import agent_problems, key_of

    loaded = loaded_settings(scope, strict=False)
    name = key_of(key) if key else ""
    if name is None:
        raise _unknown(key, loaded)
    rows = [row for row in loaded.as_rows() if _named(row[0], name) and not (changed and row[2].layer == "default")]
    warnings = [*loaded.warnings, *agent_problems(loaded.settings.sessions.agents)]
    if as_json:
        workspace = found_workspace(scope)
        output.print_json(
            {
                "workspace": str(workspace) if workspace is not None else None,
                "files": [str(path) for path in loaded.files],
                "settings": {
                    name: {
                        "value": None if text == "unset" else json.loads(text),
                        "origin": {"layer": origin.layer, "where": origin.where},
                    }
                    for name, text, origin in rows
                },
                "warnings": warnings,
                "problems": list(loaded.problems),
            }
        )
    else:
        shown = [(name, text, "" if origin.layer == "default" else str(origin)) for name, text, origin in rows]
        for text in output.table([(name, _cut(value), origin) for name, value, origin in shown]):
            output.line(text)
        if not rows:
            output.note("nothing is changed: every setting has its default")
    for warning in warnings:
        output.note(f"warning: {warning}")
    if loaded.problems:
        output.report("\n".join(loaded.problems))
        return output.FAILURE
    return output.OK


def markdown_table() -> str:
    """All settings as README has them."""
    from core import field_docs

    rows = ["| setting | allowed | default | what it does |", "|---|---|---|---|"]
    for field in field_docs():
        default = "–" if field.default == "unset" else f"`{field.default}`"
        cells = (f"`{field.key}`", field.type, default, field.doc)
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows)


def _named(name: str, key: str) -> bool:
    return not key or name == key or name.startswith(f"{key}.")


def _cut(value: str) -> str:
    shown = output.visible(value)
    return shown if output.cells(shown) <= _VALUE_CELLS else f"{shown[: _VALUE_CELLS - 1]}…"


def _unknown(key: str, loaded: LoadedSettings) -> Failed:
    from difflib import get_close_matches

    names = [row[0] for row in loaded.as_rows()]
    groups = {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}
    near = get_close_matches(key, sorted(groups), 1)
    return Failed(
        f"no setting is called '{key}'", remedy=f"Did you mean '{near[0]}'?" if near else "memdeck config lists all."
    )
