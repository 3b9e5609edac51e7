"""Ollama's `/api/embed`: all inputs in one request, one request at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.embedding.base import EmbedderLimits
from core.embedding.failures import BadReply
from core.embedding.http import Request
from core.embedding.openai import body
from core.embedding.prefixes import Prefixes
from core.records import record

MODEL = "nomic-embed-text"
KEYS = ("OLLAMA_API_KEY",)
LIMITS = EmbedderLimits(batch_items=32, item_bytes=16_000, concurrency=1)


@record(frozen=True, slots=True)
class OllamaWire:
    """`POST {base}/api/embed`; a text beyond the model's context is cut by Ollama."""

    model: str
    dims: int | None
    prefixes: Prefixes

    def documents(self, texts: Sequence[str]) -> Request:
        return self._request([self.prefixes.document + text for text in texts])

    def query(self, text: str) -> Request:
        return self._request([self.prefixes.query + text])

    def rows(self, reply: object, count: int) -> list[object]:
        embeddings = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(embeddings, list):
            raise BadReply("the reply holds no list of vectors")
        if len(embeddings) != count:
            raise BadReply(f"{len(embeddings)} vectors came back for {count} texts")
        return embeddings

    def _request(self, texts: list[str]) -> Request:
        value: dict[str, object] = {"model": self.model, "input": texts, "truncate": True}
        if self.dims is not None:
            value["dimensions"] = self.dims
        return Request("/api/embed", body(value))


def ollama_base_url(url: str) -> str:
    """The base address, also of a user who gave that of one of Ollama's APIs."""
    return re.sub(r"/(api(/embed)?|v1(/embeddings)?)?/*$", "", url)
