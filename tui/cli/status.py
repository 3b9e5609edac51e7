"""`memdeck status`: what the index holds, how well it is, and what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import SourceCount, Status

_NAMED_AT_MOST = 10
_HEALTH_STYLES = {"healthy": "good", "degraded": "warn", "down": "bad"}


@click.command("status")
@click.option("--deep", is_flag=True, help="Try the vector table, the embedder and the writer with real work.")
@json_option
@scope_options
def command(*, scope: Scope, deep: bool, as_json: bool) -> int:
    """Show what the index holds and how well it is."""
    with opened(scope) as memory:
        status = memory.status(deep=deep)
    if as_json:
        from core import status_json

        output.print_json(status_json(status))
    else:
        _print_status(status, scope.agent)
    return output.FAILURE if status.health == "down" else output.OK


def _print_status(status: Status, agent: str) -> None:
    from core import skip_words

    health = output.styled(status.health, _HEALTH_STYLES[status.health])
    rows = [
        ("health", "; ".join((health, *map(output.visible, status.reasons)))),
        ("agent", output.visible(agent)),
        ("workspace", output.visible(status.workspace_dir)),
        ("extra paths", output.visible(", ".join(status.extra_paths))),
        ("store", f"{output.visible(status.db_path)} ({output.size(status.db_bytes)})"),
        ("indexed", f"{_counts(status.files, status.chunks)}{_waiting(status)}"),
        *((f"  {row.source}", f"{_counts(row.files, row.chunks)}{_gone(row)}") for row in status.source_counts),
        ("changed", _changed(status)),
        ("provider", _provider(status)),
        ("text goes to", output.visible(str(status.custom.get("textGoesTo") or ""))),
        ("identity", _identity(status.custom.get("indexIdentity"))),
        ("keywords", _part(status.fts)),
        ("vectors", _part(status.vector)),
        ("cache", _part(status.cache)),
        ("batches", _batches(status.batch)),
        ("backend", _backend(status)),
        ("fallback", _words(status.fallback or {})),
        ("watcher", output.visible(" ".join(str(value) for value in status.watcher.values() if value))),
        ("writer", _writer(status)),
        ("ignored", output.visible(", ".join(f"{name} ({number:,})" for name, number in status.ignored.items()))),
        *(
            (f"probe {name}", output.visible(str(answer)))
            for name, answer in _mapping(status.custom.get("probes")).items()
        ),
    ]
    for text in output.table([row for row in rows if row[1]]):
        output.line(text)
    _name("failed", [(file.path, file.error) for file in status.failed])
    warnings = status.custom.get("warnings")
    if isinstance(warnings, list | tuple):
        _name("read in part", [(str(one["path"]), str(one["warning"])) for one in map(_mapping, warnings)])
    _name("skipped", [(file.path, skip_words(file)) for file in status.skipped])


def _backend(status: Status) -> str:
    """Who answers, where that may be another program; nothing for the built-in index alone."""
    qmd = _mapping(status.custom.get("qmd"))
    if not qmd:
        return ""
    documents = qmd.get("documents")
    parts = [
        "builtin, in place of qmd" if status.backend != "qmd" else f"qmd {qmd.get('version', '')}".strip(),
        str(qmd.get("searchMode") or ""),
        output.count(documents, "document") if isinstance(documents, int) else "not indexed yet",
    ]
    return output.visible(", ".join(part for part in parts if part))


def _batches(batch: Mapping[str, object]) -> str:
    """The provider's batches, where they are wanted or have failed."""
    failures, error = batch.get("failures"), batch.get("lastError")
    if batch.get("enabled") is not True and not failures:
        return ""
    state = "on" if batch.get("enabled") is True else "off for a day"
    failed = f"{failures} of {batch.get('limit')} failures: {error}" if failures else ""
    under_way = f"{batch['underWay']} under way" if batch.get("underWay") else ""
    return output.visible(", ".join(part for part in (state, under_way, failed) if part))


def _counts(files: int, chunks: int) -> str:
    return f"{output.count(files, 'file')}, {output.count(chunks, 'chunk')}"


def _gone(row: SourceCount) -> str:
    return f", {row.sources_gone:,} of them kept though the source is gone" if row.sources_gone else ""


def _changed(status: Status) -> str:
    if not status.dirty:
        return "no file since the last sync"
    number = status.custom.get("changedFiles")
    files = output.count(number, "file") if isinstance(number, int) and number else "yes"
    return f"{files}: memdeck index brings the index in step"


def _identity(value: object) -> str:
    parts = _mapping(value)
    return output.visible(": ".join(str(part) for part in (parts.get("status"), parts.get("reason")) if part))


def _writer(status: Status) -> str:
    pid = status.writer.get("pid")
    return "none" if pid is None else f"process {pid}{' (this one)' if status.writer.get('own') else ''}"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _waiting(status: Status) -> str:
    return f", {status.pending:,} waiting for a vector" if status.pending else ""


def _provider(status: Status) -> str:
    model = f" {status.model}" if status.model else ""
    return output.visible(f"{status.provider or 'none'}{model} (requested: {status.requested_provider})")


def _part(values: Mapping[str, object]) -> str:
    """A part of the store: `off`, or `ok`/`unavailable` with what else is known of it."""
    if values.get("enabled") is False:
        return "off"
    known = {name: value for name, value in values.items() if name not in ("enabled", "available")}
    state = "unavailable" if values.get("available") is False else "ok"
    return "; ".join(part for part in (state, _words(known)) if part)


def _words(values: Mapping[str, object]) -> str:
    """`name value, name value` of what is set; nested values are left to --json."""
    parts = []
    for name, value in values.items():
        if value is None or value == "" or isinstance(value, Mapping | list | tuple):
            continue
        if isinstance(value, bool):
            shown = "yes" if value else "no"
        else:
            shown = f"{value:,}" if isinstance(value, int) else str(value)
        parts.append(f"{_spaced(name)} {shown}")
    return output.visible(", ".join(parts))


def _spaced(name: str) -> str:
    """`loadError` as `load error`."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)


def _name(what: str, files: list[tuple[str, str]]) -> None:
    if not files:
        return
    output.line(f"{what}:")
    for path, reason in files[:_NAMED_AT_MOST]:
        output.line(f"  {output.visible(path)}: {output.visible(reason)}")
    if len(files) > _NAMED_AT_MOST:
        output.line(f"  {len(files) - _NAMED_AT_MOST:,} more; memdeck status --json names all")
