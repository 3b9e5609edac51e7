"""Real work for the embedder, the vector table and the writer lock: what `--deep` and `doctor` ask for."""

from __future__ import annotations

import threading

from core.backends.builtin import BuiltinBackend
from core.embedding.base import Embedder, Vector
from core.embedding.fallback import Failover
from core.errors import EmbeddingError, StoreError
from core.records import record
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.store.writer_lock import WriterLock

WORD = "ping"
PATIENCE_SECONDS = 30.0
"""How long a provider over the network may take for one word: nobody waits longer to be told what is wrong."""
OK = "ok"


@record(frozen=True, slots=True)
class Probes:
    """ "ok", or what went wrong; `remedy` says what to do about the embedder, `vectors_remedy` about the vectors.

    `failing` tells whether the embedder was asked and failed.
    """

    embedder: str
    vectors: str
    writer: str
    remedy: str = ""
    vectors_remedy: str = ""
    failing: bool = False

    def json(self) -> dict[str, object]:
        """As `custom.probes` of the status."""
        remedy = {"remedy": self.remedy or self.vectors_remedy} if self.remedy or self.vectors_remedy else {}
        return {"embedder": self.embedder, "vectors": self.vectors, "writer": self.writer, **remedy}


def in_force(backend: BuiltinBackend) -> Failover:
    """Which embedder makes the vectors, as the index tells where there is one that can be read."""
    try:
        with backend.readers.lease() as reader:
            return backend.failover(reader.database)
    except StoreError:
        return backend.failover(None)


def probe(backend: BuiltinBackend) -> Probes:
    """Ask each for real work. Never raises for what it finds."""
    owner = WriterLock(backend.store).owner()
    writer = "nobody writes at the moment" if owner is None else f"process {owner}"
    embedder = in_force(backend).embedder
    if embedder is None:
        selection = backend.selection
        return Probes(
            selection.reason or "switched off", "none are made without a provider", writer, selection.remedy or ""
        )
    try:
        vector = _embedded(embedder)
    except EmbeddingError as error:
        remedy = error.remedy or "it is asked again by itself; words are searched meanwhile"
        return Probes(str(error), "not tried: the provider gave no vector", writer, remedy, failing=True)
    vectors, remedy = _searched(backend, embedder, vector)
    return Probes(OK, vectors, writer, vectors_remedy=remedy)


def _embedded(embedder: Embedder) -> Vector:
    """The vector of a word; a provider over the network is not waited for without end. Raises EmbeddingError."""
    if not embedder.identity.endpoint:
        return embedder.embed_query(WORD)
    late = threading.Event()
    timer = threading.Timer(PATIENCE_SECONDS, late.set)
    timer.daemon = True
    timer.start()
    try:
        return embedder.embed_query(WORD, late)
    except EmbeddingError as error:
        if not late.is_set():
            raise
        host = embedder.identity.endpoint.partition("://")[2].partition("/")[0]
        message = f"{host} did not answer within {PATIENCE_SECONDS:g} s"
        raise EmbeddingError(message, remedy=error.remedy or "check whether the server there is up") from None
    finally:
        timer.cancel()


def _searched(backend: BuiltinBackend, embedder: Embedder, vector: Vector) -> tuple[str, str]:
    """What a search of the vector table says, and the remedy."""
    index = "run `memdeck index`"
    try:
        with backend.readers.lease() as reader:
            row = Identities(reader.database).find(embedder.identity)
            if row is None:
                return "there are none of this model", index
            return (OK, "") if Vectors(reader.database, row).search(vector, 1) else ("the vector table is empty", index)
    except (StoreError, EmbeddingError) as error:
        return str(error), error.remedy or "memdeck doctor --repair"
