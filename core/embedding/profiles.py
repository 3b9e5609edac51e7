"""How far apart texts lie that have nothing to do with each other, model by model."""

from __future__ import annotations

from core.embedding.base import ModelProfile

PROFILES: tuple[tuple[str, ModelProfile], ...] = (
    ("text-embedding-3-", ModelProfile(floor=0.3, text_weight=0.4)),
    ("text-embedding-ada-002", ModelProfile(floor=0.78, text_weight=0.5)),
    ("gemini-embedding", ModelProfile(floor=0.58, text_weight=0.4)),
    ("voyage-", ModelProfile(floor=0.4, text_weight=0.4)),
    ("mistral-embed", ModelProfile(floor=0.68, text_weight=0.4)),
    ("nomic-embed-text", ModelProfile(floor=0.55, text_weight=0.5)),
    ("mxbai-embed", ModelProfile(floor=0.5, text_weight=0.5)),
    ("embeddinggemma", ModelProfile(floor=0.35, text_weight=0.4)),
    ("qwen3-embedding", ModelProfile(floor=0.4, text_weight=0.4)),
    ("bge-m3", ModelProfile(floor=0.48, text_weight=0.4)),
    ("bge-", ModelProfile(floor=0.55, text_weight=0.5)),
    ("all-minilm", ModelProfile(floor=0.35, text_weight=0.6)),
    ("e5-", ModelProfile(floor=0.78, text_weight=0.5)),
)
"""Parts of lower-case names, the first that is found decides. Set with care, not measured: these models are remote."""

OTHER = ModelProfile(floor=0.5, text_weight=0.5)


def profile_of(model: str) -> ModelProfile:
    """The profile of a model under any of the names that servers give it."""
    name = model.lower()
    return next((profile for part, profile in PROFILES if part in name), OTHER)
