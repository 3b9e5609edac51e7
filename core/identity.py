"""What vectors and an index were made with: values that are compared, never mixed."""

from __future__ import annotations

from core.records import record

TOKENIZER = "cl100k_base"
"""What budgets of chunks are counted in."""
CHUNKING_VERSION = f"1:{TOKENIZER}"
"""Part of what an index is built with; it changes with every change of where chunks begin and end."""


@record(frozen=True, slots=True)
class EmbeddingIdentity:
    """What vectors were made with; vectors of different identities are never mixed.

    `endpoint` is the normalised base URL without credentials, "" for local. `dims` None until the first vector.
    `recipe` names everything else that changes a vector (prefixes, token limit, window, pooling).
    """

    provider: str
    model: str
    endpoint: str = ""
    dims: int | None = None
    recipe: str = ""

    @property
    def key(self) -> str:
        """Identity without dims, which come from the first vector."""
        return "\x1f".join((self.provider, self.model, self.endpoint, self.recipe))

    def __str__(self) -> str:
        size = f", {self.dims} dims" if self.dims else ""
        where = f" at {self.endpoint}" if self.endpoint else ""
        return f"{self.provider}/{self.model}{where}{size}"


@record(frozen=True, slots=True)
class IndexIdentity:
    """What an index was built with (SPEC §1): compared at every opening; the first difference is the reason shown."""

    embedding: EmbeddingIdentity | None
    sources: tuple[str, ...]
    scope: str
    chunking: str
    tokenizer: str
