"""Servers that speak OpenAI's shape at an address of the user's: LM Studio, vLLM, llama.cpp, TEI, LiteLLM…"""

from __future__ import annotations

from core.embedding.base import EmbedderLimits
from core.embedding.openai import OpenAIWire
from core.embedding.prefixes import Prefixes, prefixes_of

LIMITS = EmbedderLimits(batch_items=32, batch_bytes=32_000, item_bytes=24_000, concurrency=4)
"""What a server takes is not known; 32 inputs is the default limit of some."""


def compatible_wire(
    model: str, dims: int | None, *, query_type: str | None = None, document_type: str | None = None
) -> OpenAIWire:
    """`input_type` and `dimensions` only where the user set them; prefixes of the model only without input types."""
    fields: dict[str, object] = {"encoding_format": "float"}
    if dims is not None:
        fields["dimensions"] = dims
    typed = query_type is not None or document_type is not None
    return OpenAIWire(
        model,
        {**fields, "input_type": query_type} if query_type is not None else fields,
        {**fields, "input_type": document_type} if document_type is not None else fields,
        Prefixes() if typed else prefixes_of(model),
    )


def compatible_base_url(url: str) -> str:
    """The base address of a server of OpenAI's shape, also of a user who gave that of the method."""
    return url.rstrip("/").removesuffix("/embeddings")
