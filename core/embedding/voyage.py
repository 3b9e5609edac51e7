"""Voyage's embeddings API: OpenAI's shape with `input_type` and `output_dimension`."""

from __future__ import annotations

from core.embedding.base import EmbedderLimits
from core.embedding.openai import OpenAIWire

BASE_URL = "https://api.voyageai.com/v1"
MODEL = "voyage-4-large"
KEYS = ("VOYAGE_API_KEY",)
LIMITS = EmbedderLimits(batch_items=64, batch_bytes=100_000, item_bytes=48_000, concurrency=4)
"""1,000 inputs and, of the large models, 120,000 tokens a request; 16,000 to 32,000 tokens an input."""


def voyage_wire(model: str, dims: int | None) -> OpenAIWire:
    """Queries and documents by `input_type`; Voyage puts its own prompts before them."""
    fields: dict[str, object] = {} if dims is None else {"output_dimension": dims}
    return OpenAIWire(model, {"input_type": "query", **fields}, {"input_type": "document", **fields})
