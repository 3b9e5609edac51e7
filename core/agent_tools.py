"""The two tools of agents: `memory_search` and `memory_get`, as plain JSON-ready dicts."""

from __future__ import annotations

import threading
from typing import Any

from core.errors import MemdeckError
from core.memory import Memory
from core.types import GetResult, Hit, SearchMode, SearchRequest, SearchResult

Json = dict[str, Any]
"""A JSON object."""

INJECTED_CHARS = 12_000
"""Characters of all snippets of an answer to an agent."""


def memory_search(
    memory: Memory,
    query: str,
    *,
    max_results: int | None = None,
    min_score: float | None = None,
    session_key: str | None = None,
    mode: SearchMode = "hybrid",
    explain: bool = False,
    cancel: threading.Event | None = None,
) -> Json:
    """Search and answer in the shape of SPEC §10; a failure has the same keys, `disabled` and what to do.

    The snippets of an answer are bounded in all: by `qmd.limits.max_injected_chars` where qmd answers, else by
    INJECTED_CHARS.
    """
    request = SearchRequest(query, mode=mode, max_results=max_results, min_score=min_score, session_key=session_key)
    try:
        result = memory.search(request, cancel=cancel)
    except MemdeckError as error:
        return unavailable(memory, error)
    answer = search_json(memory, result, session_key=session_key, explain=explain)
    most = memory.settings.settings.qmd.limits.max_injected_chars if result.provider == "qmd" else INJECTED_CHARS
    return bounded(answer, most)


def bounded(answer: Json, most: int) -> Json:
    """The answer with its snippets cut to `most` characters in all, which its warning says; places stay whole."""
    left, cut, results = most, False, []
    for hit in answer["results"]:
        text = hit["snippet"]
        if len(text) > left:
            text, cut = (f"{text[: left - 1]}…" if left > 1 else ""), True
        left -= len(text)
        results.append({**hit, "snippet": text})
    if not cut:
        return answer
    said = f"snippets are cut to {most} characters in all; read the lines with memory_get"
    warning = "; ".join(part for part in (answer.get("warning"), said) if part)
    return {**answer, "results": results, "warning": warning}


def search_json(memory: Memory, result: SearchResult, *, session_key: str | None = None, explain: bool = False) -> Json:
    """A search result in the shape of `memory_search`."""
    mode = memory.settings.settings.citations
    cite = shows_citations(mode, session_key)
    answer: Json = {
        "results": [hit_json(hit, cite=cite, explain=explain) for hit in result.hits],
        "provider": result.provider,
        "model": result.model,
        "citations": mode,
        "mode": result.mode,
    }
    if result.fallback is not None:
        answer["fallback"] = dict(result.fallback)
    warnings = [result.warning] if result.warning is not None else []
    if result.catching_up:
        warnings.append("the index is catching up with the files: a little later the same search may find more")
    if warnings:
        answer["warning"] = "; ".join(warnings)
    return answer


def hit_json(hit: Hit, *, cite: bool, explain: bool = False) -> Json:
    """One hit; lines are 1-based and inclusive, scores 0 to 1, null where there was nothing to score."""
    snippet = hit.snippet
    answer: Json = {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "line": hit.line,
        "score": round(hit.score, 6),
        "vectorScore": _rounded(hit.parts.vector),
        "textScore": _rounded(hit.parts.text),
        "snippet": snippet,
        "source": hit.source,
    }
    if hit.source_gone:
        answer["sourceGone"] = True
    if hit.heading:
        answer["heading"] = " > ".join(hit.heading)
    if cite:
        answer["citation"] = str(hit.citation)
        answer["snippet"] = f"{snippet.strip()}\n\nSource: {hit.citation}"
    if explain:
        answer["explain"] = {
            "words": hit.parts.explain(),
            "literal": hit.parts.literal,
            "matched": list(hit.parts.matched),
            "decay": hit.parts.decay,
            "diversity": hit.parts.diversity,
            "evidence": {name: round(value, 6) for name, value in hit.parts.evidence.items()},
        }
    return answer


def shows_citations(mode: str, session_key: str | None) -> bool:
    """`auto` shows them unless the session key has a `group` or `channel` part."""
    if mode != "auto":
        return mode == "on"
    return not {"group", "channel"} & set((session_key or "").split(":"))


def unavailable(memory: Memory, error: MemdeckError) -> Json:
    """What a failed search answers, so that an agent can branch on `disabled`."""
    return {
        "results": [],
        "provider": memory.selection.provider,
        "model": memory.selection.model,
        "citations": memory.settings.settings.citations,
        "mode": "keyword",
        "disabled": True,
        "error": str(error),
        "warning": "memory search is not available at the moment",
        "action": error.remedy or "run `memdeck doctor` and follow its remedies, then search again",
    }


def memory_get(memory: Memory, path: str, from_line: int | None = None, lines: int | None = None) -> Json:
    """Read lines of an indexed document in the shape of SPEC §10."""
    return get_json(memory.get(path, from_line, lines))


def get_json(result: GetResult) -> Json:
    """A `GetResult` as JSON."""
    answer: Json = {
        "path": result.path,
        "status": result.status,
        "from": result.from_line,
        "lines": result.lines,
        "text": result.text,
        "truncated": result.truncated,
    }
    if result.source_gone:
        answer["sourceGone"] = True
    if result.next_from is not None:
        answer["nextFrom"] = result.next_from
    if result.error is not None:
        answer["error"] = result.error
    return answer


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
