"""What every embedder is: a protocol, its limits, and what is known of its model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import urlsplit

from core.errors import BadVector, EmbeddingError
from core.records import record
from core.settings.kinds import is_loopback
from core.types import EmbeddingIdentity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector: TypeAlias = npt.NDArray[np.float32]
else:
    Vector = object  # numpy costs as much CPU as a keyword search may take


@record(frozen=True, slots=True)
class ModelProfile:
    """What was measured of a model.

    `floor`: cosine at or above which a chunk qualifies without any word of the query; `text_weight`: the share of
    words in the fused score (0..1; 0.6 for MiniLM, 0.4 for strong multilingual models).
    """

    floor: float
    text_weight: float


@record(frozen=True, slots=True)
class EmbedderLimits:
    """What one request may hold. None: no limit. Bytes are UTF-8."""

    batch_items: int
    batch_bytes: int | None = None
    item_bytes: int | None = None
    concurrency: int = 1


class Embedder(Protocol):
    """Turns text into L2-normalised float32 vectors. Methods may be called from several threads.

    `cancel` is looked at before and while waiting; set, the call raises EmbeddingError soon.
    """

    @property
    def identity(self) -> EmbeddingIdentity: ...

    @property
    def profile(self) -> ModelProfile: ...

    @property
    def limits(self) -> EmbedderLimits: ...

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        """One vector, or the error that belongs to that text alone, for each text and in its order.

        Raises EmbeddingError when the whole request failed.
        """
        ...

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        """The vector of a query. Raises EmbeddingError."""
        ...

    def close(self) -> None:
        """Give back memory, connections and threads. Idempotent."""
        ...


class StateStore(Protocol):
    """A few texts that outlive the process, beside the index. Called on the thread that owns it."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str) -> None: ...

    def delete(self, key: str) -> None: ...


def text_goes_to(embedder: Embedder | None) -> str:
    """Where the text goes that is embedded, in words: nowhere, this machine only, or the host that gets it."""
    if embedder is None:
        return "nowhere"
    parts = urlsplit(embedder.identity.endpoint)
    if not parts.hostname or is_loopback(embedder.identity.endpoint):
        return f"this machine only ({parts.netloc})" if parts.netloc else "this machine only"
    return parts.netloc


def normalised(values: object, dims: int | None = None) -> Vector:
    """`values` as a float32 vector of L2 norm 1.

    Raises BadVector for NaN, Inf, zero, empty, a wrong length, or anything that is not a row of numbers.
    """
    import numpy as np

    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadVector(f"not a row of numbers: {type(error).__name__}") from error
    if vector.ndim != 1 or vector.size == 0:
        raise BadVector(f"not a row of numbers: shape {vector.shape}")
    if dims is not None and vector.size != dims:
        raise BadVector(f"{vector.size} numbers where {dims} were expected")
    if not np.isfinite(vector).all():
        raise BadVector("NaN or infinity in the vector")
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(vector))
    if np.isinf(norm):  # finite numbers whose squares are not
        return normalised(vector / np.abs(vector).max())
    if not norm > 1e-10:
        raise BadVector("the vector is zero")
    return (vector / norm).astype(np.float32)
