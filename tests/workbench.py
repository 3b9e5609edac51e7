"""A workspace with its worker, and an embedder that is quick and can be told to fail: for tests of live sync."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from core.embedding.base import Embedder, EmbedderLimits, ModelProfile, Vector
from core.embedding.select import Selection
from core.errors import EmbeddingError
from core.events import Event, EventBus
from core.settings.model import Settings
from core.store.database import Database
from core.store.document_reader import DocumentReader
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.identity import index_identity
from core.sync.intake import Intake, MemoryIntake
from core.sync.messages import SyncRequested, Ticket
from core.sync.state import WorkerOptions
from core.sync.worker import IndexWorker
from core.text.tokens import TokenCounter
from core.types import EmbeddingIdentity, SyncReason, SyncReport

COUNTER = TokenCounter()


class WordEmbedder:
    """Vectors from the hash of the text; `fail` makes the next requests fail, `refuse` a text with that word."""

    profile = ModelProfile(floor=0.9, text_weight=0.6)

    def __init__(self, model: str = "words", dims: int = 8, batch_items: int = 32) -> None:
        self.identity = EmbeddingIdentity("test", model, dims=dims)
        self.limits = EmbedderLimits(batch_items=batch_items)
        self.seen: list[str] = []
        self.fail: list[EmbeddingError] = []
        self.refuse = ""
        self.gate: threading.Event | None = None

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        while self.gate is not None and not self.gate.wait(0.01):
            if cancel is not None and cancel.is_set():
                raise EmbeddingError("cancelled")
        if self.fail:
            raise self.fail.pop(0)
        self.seen.extend(texts)
        return [
            EmbeddingError("too odd") if self.refuse and self.refuse in text else self.embed_query(text)
            for text in texts
        ]

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        vector = np.random.default_rng(seed).standard_normal(self.identity.dims or 8)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def close(self) -> None:
        return


def selection_of(embedder: Embedder | None, standby: Embedder | None = None) -> Selection:
    """What settings would have selected that ask for just these."""
    if embedder is None:
        return Selection(None, "none", "none", "", standby=standby)
    identity = embedder.identity
    return Selection(embedder, identity.provider, identity.provider, identity.model, standby=standby)


class Bench:
    """A workspace, its worker, and what happened."""

    def __init__(
        self,
        root: Path,
        embedder: Embedder | None = None,
        *,
        selection: Selection | None = None,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
        store: Path | None = None,
        resident: bool = False,
    ) -> None:
        self.workspace = root / "ws"
        (self.workspace / "memory").mkdir(parents=True, exist_ok=True)
        self.store = store or root / "index.sqlite"
        self.embedder = embedder
        self.events: list[Event] = []
        bus = EventBus()
        bus.subscribe(self.events.append)
        self.settings = settings or Settings()
        batch = self.settings.remote.batch
        self.worker = IndexWorker(
            WorkerOptions(self.store, batch=batch if batch.enabled else None, resident=resident),
            self.intakes,
            selection or selection_of(embedder),
            bus,
            identity=lambda embedding: index_identity(self.settings, self.intakes(), embedding),
            clock=clock,
        )

    def intakes(self) -> list[Intake]:
        return [MemoryIntake(self.workspace, self.settings, home=self.workspace.parent, counter=COUNTER)]

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ask(self, reason: SyncReason = "manual", *, vectors: bool = True, **more: object) -> Ticket:
        ticket = Ticket(vectors=vectors)
        self.worker.post(SyncRequested(reason, ticket=ticket, **more))  # type: ignore[arg-type]
        self.worker.start()
        return ticket

    def sync(self, reason: SyncReason = "manual", **more: object) -> SyncReport:
        return self.ask(reason, **more).done.result(timeout=30)  # type: ignore[arg-type]

    def reading(self) -> Database:
        return Database.open(self.store, read_only=True)

    def paths(self) -> list[str]:
        with self.reading() as database:
            return [document.path for document in DocumentReader(database).list()]

    def until(self, condition: Callable[[], object], seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.02)

    def vectors(self) -> list[tuple[str, str, int]]:
        """The identities in use: model, state, and how many chunks have a vector."""
        with self.reading() as database:
            return [
                (row.identity.model, row.state, Vectors(database, row).count()) for row in Identities(database).live()
            ]

    def happened(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@contextmanager
def benches(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes benches in one folder, and stops their workers."""
    made: list[Bench] = []

    def make(embedder: WordEmbedder | None = None) -> Bench:
        made.append(Bench(tmp_path, embedder))
        return made[-1]

    yield make
    for one in made:
        one.worker.stop()
