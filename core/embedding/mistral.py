"""Mistral's embeddings API: OpenAI's shape with `output_dimension`."""

from __future__ import annotations

from core.embedding.base import EmbedderLimits
from core.embedding.openai import OpenAIWire

BASE_URL = "https://api.mistral.ai/v1"
MODEL = "mistral-embed"
KEYS = ("MISTRAL_API_KEY",)
LIMITS = EmbedderLimits(batch_items=64, batch_bytes=32_000, item_bytes=24_000, concurrency=4)
"""512 inputs and 16,384 tokens a request, 8,192 tokens an input."""


def mistral_wire(model: str, dims: int | None) -> OpenAIWire:
    """Queries and documents alike."""
    fields: dict[str, object] = {"encoding_format": "float"}
    if dims is not None:
        fields["output_dimension"] = dims
    return OpenAIWire(model, fields, fields)
