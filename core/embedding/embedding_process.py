"""A local model in a process of its own: what it takes of memory and of the interpreter's lock is not the app's."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from core.child import Child, serve
from core.embedding.base import Embedder, Vector
from core.errors import EmbeddingError

Made = list[Vector | EmbeddingError] | EmbeddingError
"""What came of a request: an outcome for each text, or the error of all of them."""

IDLE_SECONDS = 30.0
"""How long it waits for more to do: a start costs most of a second of CPU, but the memory of a model is worth much."""
_NICENESS = 10


class EmbeddingProcess(Child[Sequence[str], Made]):
    """Embeds documents, one request after the other; None for one that is to be made without it."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        """`make` is pickled and called there. Raises OSError and what pickling raises."""
        super().__init__(__name__, make, _as_it_came, what="the embedding process", idle_seconds=IDLE_SECONDS)


def _as_it_came(_: Sequence[str], made: Made) -> Made:
    return made


def main() -> None:
    """Embed what standard input asks for until it ends."""
    serve(_begin, niceness=_NICENESS)


def _begin(make: Callable[[], Embedder]) -> Callable[[Sequence[str]], bytes]:
    embedder = make()
    return lambda texts: pickle.dumps(_made(embedder, texts), pickle.HIGHEST_PROTOCOL)


def _made(embedder: Embedder, texts: Sequence[str]) -> Made:
    try:
        return embedder.embed_documents(texts)
    except EmbeddingError as error:
        return error
    except Exception as error:
        return EmbeddingError(f"{type(error).__name__}: {error}")
