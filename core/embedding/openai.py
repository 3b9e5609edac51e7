"""OpenAI's embeddings API, and the shape that many others share with it: `input` in, `data[].embedding` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from core.embedding.base import EmbedderLimits
from core.embedding.failures import BadReply
from core.embedding.http import Request
from core.embedding.prefixes import NONE, Prefixes
from core.records import record

BASE_URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
KEYS = ("OPENAI_API_KEY",)
LIMITS = EmbedderLimits(batch_items=64, batch_bytes=100_000, item_bytes=24_000, concurrency=4)
"""2,048 inputs and 300,000 tokens a request, 8,192 tokens an input; a token has at least one byte, mostly four."""


@record(frozen=True, slots=True)
class OpenAIWire:
    """`POST {base}/embeddings`. `query_fields` and `document_fields` go into the body beside model and input."""

    model: str
    query_fields: Mapping[str, object] = field(default_factory=dict)
    document_fields: Mapping[str, object] = field(default_factory=dict)
    prefixes: Prefixes = NONE

    def documents(self, texts: Sequence[str]) -> Request:
        return Request("/embeddings", body(self.document_body(texts)))

    def document_body(self, texts: Sequence[str]) -> dict[str, object]:
        """The body of a request for documents, before it is JSON."""
        return {"model": self.model, "input": [self.prefixes.document + text for text in texts], **self.document_fields}

    def query(self, text: str) -> Request:
        return Request(
            "/embeddings", body({"model": self.model, "input": [self.prefixes.query + text], **self.query_fields})
        )

    def rows(self, reply: object, count: int) -> list[object]:
        return data_rows(reply, count)


def openai_wire(model: str, dims: int | None) -> OpenAIWire:
    """OpenAI's own: floats, and `dimensions` where asked for."""
    fields: dict[str, object] = {"encoding_format": "float"}
    if dims is not None:
        fields["dimensions"] = dims
    return OpenAIWire(model, fields, fields)


def body(value: object) -> bytes:
    """Compact JSON, UTF-8."""
    import orjson

    return orjson.dumps(value)


def data_rows(reply: object, count: int) -> list[object]:
    """The rows of `data`, by their `index`, or as they stand where no row has one. Raises BadReply."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list):
        raise BadReply("the reply holds no list of vectors")
    if len(data) != count:
        raise BadReply(f"{len(data)} vectors came back for {count} texts")
    items = [item if isinstance(item, dict) else {} for item in data]
    if not any("index" in item for item in items):
        return [item.get("embedding") for item in items]
    rows: dict[int, object] = {}
    for item in items:
        index = item.get("index")
        if type(index) is not int or not 0 <= index < count or index in rows:
            raise BadReply(f"vectors came back out of place: index {str(index)[:20]} among {count} texts")
        rows[index] = item.get("embedding")
    return [rows[index] for index in range(count)]
