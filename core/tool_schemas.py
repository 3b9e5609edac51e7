"""The shapes of what the two tools take and answer, as pydantic models that make JSON schemas and check arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints
from pydantic.alias_generators import to_camel

from core.types import CitationMode, GetStatus, SearchMode, Source


class _Shape(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        defer_build=True,
    )


class _Arguments(_Shape):
    model_config = ConfigDict(extra="forbid")


Whole = Annotated[int, Strict(), Field(ge=1)]


class SearchArguments(_Arguments):
    """What `memory_search` takes."""

    query: Annotated[str, StringConstraints(min_length=1)] = Field(description="What to look for, as text.")
    max_results: Annotated[Whole, Field(le=200)] | None = Field(
        default=None, description="How many hits at most (default 6)."
    )
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, description="Leave out hits of a lower score that hold no word of the query."
    )
    session_key: str | None = Field(default=None, description="The key of the session that asks, if the host gave one.")


class GetArguments(_Arguments):
    """What `memory_get` takes."""

    path: Annotated[str, StringConstraints(min_length=1)] = Field(
        description="A document's path as memory_search returns it, e.g. memory/2026-01-31.md."
    )
    from_: Whole | None = Field(default=None, alias="from", description="First line, counted from 1 (default 1).")
    lines: Whole | None = Field(default=None, description="How many lines (default 120).")


class FoundHit(_Shape):
    """One hit; lines are 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int
    line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: Source
    source_gone: Literal[True] | None = Field(
        default=None, description="The transcript is gone; its text was kept in the index."
    )
    heading: str | None = None
    citation: str | None = None


class SearchAnswer(_Shape):
    """What `memory_search` answers."""

    results: list[FoundHit]
    provider: str
    model: str
    citations: CitationMode
    mode: SearchMode
    fallback: dict[str, str] | None = None
    warning: str | None = None
    disabled: Literal[True] | None = None
    error: str | None = None
    action: str | None = None


class GetAnswer(_Shape):
    """What `memory_get` answers."""

    path: str
    status: GetStatus
    from_: int = Field(alias="from")
    lines: int
    text: str
    truncated: bool
    source_gone: Literal[True] | None = Field(
        default=None, description="The transcript is gone; this is what the index kept of it."
    )
    next_from: int | None = None
    error: str | None = None


def schema(shape: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a shape, by the names that are sent; what may be left out has its one type, null is for code."""
    found: dict[str, Any] = _plain(shape.model_json_schema(by_alias=True))
    return found


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _plain(value) for key, value in node.items() if key != "title" or not isinstance(value, str)}
    types = [entry for entry in kept.get("anyOf", ()) if entry != {"type": "null"}]
    if "default" in kept and kept["default"] is None and len(types) == 1:
        del kept["anyOf"], kept["default"]
        return {**types[0], **kept}
    return kept
