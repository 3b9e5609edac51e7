"""`memdeck search`: one query, or a file of them, answered as text for people and editors or as JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from tui.cli import output
from tui.cli.common import Scope, json_option, opened, scope_options

if TYPE_CHECKING:
    from core import Hit, Memory, SearchMode, SearchRequest, SearchResult

_MODES = ("hybrid", "keyword", "semantic")
_BATCH_DEADLINE_MS = 120_000


class _SearchCommand(click.Command):
    """Says how to search for a word that begins with a dash, where click only says that there is no such option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            error.remedy = (  # type: ignore[attr-defined]
                f"To search for it: memdeck search -- '{error.option_name}'; all options: memdeck search --help"
            )
            raise


@click.command("search", cls=_SearchCommand)
@click.argument("words", metavar="QUERY", nargs=-1)
@click.option(
    "--mode",
    type=click.Choice(_MODES),
    default="hybrid",
    show_default=True,
    help="What counts: words, meaning, or both.",
)
@click.option(
    "-n",
    "--max-results",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many hits at most (setting query.max_results).",
)
@click.option(
    "--min-score", type=click.FloatRange(0.0, 1.0), metavar="F", help="Leave out weaker hits (setting query.min_score)."
)
@click.option("--sync", "sync_first", is_flag=True, help="Bring the index in step with the files before searching.")
@click.option(
    "--batch", type=click.File("rb"), metavar="FILE", help="Answer the lines {id, query} of FILE ('-': standard input)."
)
@click.option("--explain", is_flag=True, help="Say why each hit stands where it stands.")
@click.option("--session-key", metavar="KEY", help="The conversation that asks; decides on citations.")
@json_option
@scope_options
def command(
    words: tuple[str, ...],
    *,
    scope: Scope,
    mode: str,
    max_results: int | None,
    min_score: float | None,
    sync_first: bool,
    batch: IO[bytes] | None,
    explain: bool,
    session_key: str | None,
    as_json: bool,
) -> int:
    """Search the memory for QUERY.

    Each hit begins with path:line, where editors can jump. "Quoted words" are an exact phrase; source:memory,
    path:TEXT, after:2026-01-01 and before:2026-02-01 narrow the search.
    """
    if (batch is None) == (not words):
        raise click.UsageError(
            "Give a QUERY, or --batch FILE." if batch is None else "Give a QUERY or --batch, not both."
        )
    from core import SearchRequest

    # One query multiplies no large matrices: threads for that cost more than the query.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    request = SearchRequest(
        " ".join(words),
        mode=cast("SearchMode", mode),
        max_results=max_results,
        min_score=min_score,
        session_key=session_key,
    )
    with refusals_as_json(as_json, request), opened(scope) as memory:
        if sync_first:
            memory.sync("manual", vectors=mode != "keyword")
        elif not memory.store_path.exists():
            output.note("first search here: the words are indexed now; memdeck index adds the meaning")
            memory.sync("search", vectors=False)
        if batch is not None:
            return _answer_batch(memory, request, batch)
        result = memory.search(request)
        if not sync_first:
            result = _told_of_changes(memory, result)
        if as_json:
            return _print_json(memory, result, session_key)
        return _print_text(memory, result, explain=explain)


def _told_of_changes(memory: Memory, result: SearchResult) -> SearchResult:
    """The result with a warning when files have changed since they were indexed; a search never waits for a sync."""
    changed = memory.changed_files()
    if not changed:
        return result
    warning = (
        f"{output.count(changed, 'file')} changed since the index was made; memdeck index or --sync brings it in step"
    )
    return replace(result, warning="; ".join(part for part in (result.warning, warning) if part), catching_up=True)


@contextmanager
def refusals_as_json(wanted: bool, request: SearchRequest) -> Iterator[None]:
    """A failure in the shape of `memory_search`, so that an agent can branch on `disabled`; it is raised on."""
    from core import MemdeckError

    try:
        yield
    except MemdeckError as error:
        if wanted:
            output.print_json(
                {
                    "results": [],
                    "provider": "",
                    "model": "",
                    "citations": "auto",
                    "mode": request.mode,
                    "disabled": True,
                    "error": str(error),
                    "warning": "memory search is not available at the moment",
                    "action": error.remedy or "run memdeck doctor and follow its remedies, then search again",
                }
            )
        raise


def _print_json(memory: Memory, result: SearchResult, session_key: str | None) -> int:
    from core import search_json

    output.print_json(search_json(memory, result, session_key=session_key, explain=True))
    return output.OK if result.hits else output.NOTHING


def _print_text(memory: Memory, result: SearchResult, *, explain: bool) -> int:
    for number, hit in enumerate(result.hits):
        if number:
            output.line()
        _print_hit(memory, hit, result.terms, explain=explain)
    for warning in _warnings(result):
        output.note(warning)
    if not result.hits:
        only_filters = result.filters and result.query.split() == " ".join(result.filters).split()
        if not only_filters:  # the warning has said then what is missing
            output.note("nothing found")
        return output.NOTHING
    if sys.stdout.isatty():
        took = result.milliseconds.get("total", 0.0)
        output.note(f"{output.count(len(result.hits), 'hit')}, {result.mode}, {took:.0f} ms")
    return output.OK


def _warnings(result: SearchResult) -> Iterator[str]:
    if result.warning:
        yield f"warning: {result.warning}"
    if result.pending and result.mode != "keyword":
        yield f"{output.count(result.pending, 'chunk')} without a vector yet: memdeck index completes them"


def _print_hit(memory: Memory, hit: Hit, terms: tuple[str, ...], *, explain: bool) -> None:
    place = output.styled(output.visible(f"{_openable(memory, hit)}:{hit.line}"), "path")
    lines = f"L{hit.start_line}" if hit.start_line == hit.end_line else f"L{hit.start_line}-L{hit.end_line}"
    heading = output.styled(output.visible(" > ".join(hit.heading)), "heading")
    gone = output.styled("source gone", "warn") if hit.source_gone else ""
    parts = (place, f"{hit.score:.3f}", output.styled(lines, "dim"), gone, heading)
    output.line("  ".join(part for part in parts if part))
    if explain:
        output.line(output.styled(f"    {output.visible(hit.parts.explain())}", "dim"))
    for text in hit.snippet.strip("\n").split("\n"):
        output.line(f"    {_marked(output.visible(text), terms)}".rstrip())


def _openable(memory: Memory, hit: Hit) -> str:
    """The hit's path as the current folder sees it: the document's path inside the workspace, else the absolute one.

    Of a transcript that is gone, or is not to be read any more, only the document's path is left.
    """
    from core import NotAllowed

    if Path(hit.path).is_absolute() or (hit.source == "memory" and Path.cwd() == memory.workspace.resolve()):
        return hit.path
    if hit.source == "memory":
        return str(memory.workspace.absolute() / hit.path)
    try:
        return str(memory.absolute(hit.path))
    except (FileNotFoundError, NotAllowed):
        return hit.path


def _marked(text: str, terms: tuple[str, ...]) -> str:
    if not terms or not output.has_colour(sys.stdout):
        return text
    words = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    return re.sub(words, lambda match: output.styled(match[0], "mark"), text, flags=re.IGNORECASE)


def _answer_batch(memory: Memory, request: SearchRequest, lines: IO[bytes]) -> int:
    """Answer each line {id, query} with a line {id, hits}; one that is no query gets an `error`."""
    found = failed = False
    warned: set[str] = set()
    patient = replace(request, deadline_ms=_BATCH_DEADLINE_MS)
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        name, query, problem = _read_query(raw)
        if query is None:
            failed = True
            output.note(f"memdeck: {lines.name}:{number}: {problem}")
            output.line(output.json_text({"id": name, "hits": [], "error": problem}))
            continue
        result = memory.search(replace(patient, query=query))
        found = found or bool(result.hits)
        if result.warning and result.warning not in warned:
            warned.add(result.warning)
            output.note(f"warning: {result.warning}")
        hits = [
            {"path": hit.path, "startLine": hit.start_line, "endLine": hit.end_line, "score": round(hit.score, 6)}
            for hit in result.hits
        ]
        output.line(output.json_text({"id": name, "hits": hits}))
        output.flush()
    return output.FAILURE if failed else output.OK if found else output.NOTHING


def _read_query(raw: bytes) -> tuple[object, str | None, str]:
    """(id, query, what is wrong) of a batch line; query None where something is."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return None, None, f"not JSON: {error}"
    if not isinstance(record, dict):
        return None, None, "not an object {id, query}"
    query = record.get("query")
    if not isinstance(query, str):
        return record.get("id"), None, "no text under the key 'query'"
    return record.get("id"), query, ""
