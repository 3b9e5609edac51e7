"""Providers under a real index: an outage in the middle of 2,000 texts, texts that are refused, a run that is ended."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.chunking import embedding_text
from core.embedding import asking
from core.events import EmbeddingFailed, Event, EventBus
from core.settings import settings_of
from core.store.database import Database
from core.store.documents import Documents
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.identity import index_identity
from core.sync.intake import MemoryIntake
from core.sync.messages import Ticket
from core.sync.state import WorkerOptions
from core.sync.worker import IndexWorker
from core.types import SyncReport
from tests.provider_server import Answer, ProviderServer, Seen, provider_server, remote, unit
from tests.workbench import COUNTER, selection_of

OUTAGE = Answer({"error": {"message": "upstream is gone"}}, 503)


class Index:
    """A workspace whose chunks are its lines, and a worker that embeds them by the server."""

    def __init__(self, root: Path, server: ProviderServer) -> None:
        self.root = root
        self.settings = settings_of({"chunking": {"tokens": 24, "overlap": 0}})
        self.embedder = remote(server)
        self.events: list[Event] = []
        bus = EventBus()
        bus.subscribe(self.events.append)
        options = WorkerOptions(root / "index.sqlite", concurrency=4)
        self.worker = IndexWorker(
            options,
            self.intakes,
            selection_of(self.embedder),
            bus,
            identity=lambda embedding: index_identity(self.settings, self.intakes(), embedding),
        )

    def intakes(self) -> list[MemoryIntake]:
        return [MemoryIntake(self.root / "ws", self.settings, home=self.root, counter=COUNTER)]

    def write(self, files: int, lines: int) -> None:
        folder = self.root / "ws/memory"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            text = "".join(
                f"note {number} says in line {line} what nobody else has said before, not even once\n"
                for line in range(lines)
            )
            (folder / f"{number:02}.md").write_text(text)

    def ask(self) -> Ticket:
        ticket = Ticket(vectors=True)
        self.worker.request("manual", ticket=ticket)
        return ticket

    def sync(self) -> SyncReport:
        return self.ask().done.result(timeout=120)

    def waiting(self) -> int:
        with Database.open(self.root / "index.sqlite", read_only=True) as database:
            return EmbeddingQueue(database).waiting()

    def until_done(self) -> None:
        end = time.monotonic() + 120
        while self.waiting():
            assert time.monotonic() < end
            time.sleep(0.1)

    def assert_vectors_are_right(self) -> int:
        """Each chunk has the vector of its own text; how many chunks."""
        with Database.open(self.root / "index.sqlite", read_only=True) as database:
            (row,) = Identities(database).live()
            vectors = Vectors(database, row)
            ids = database.numbers("SELECT id FROM chunks")
            chunks = Documents(database).chunks(ids)
            assert vectors.count() == len(ids)
            for chunk_id in ids[:: max(1, len(ids) // 100)]:
                wanted = unit(embedding_text(chunks[chunk_id].chunk))
                ((found, cosine),) = vectors.search(wanted, 1)
                assert (found, round(cosine, 4)) == (chunk_id, 1.0)
            return len(ids)

    def close(self) -> None:
        self.worker.stop()
        self.embedder.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    with provider_server() as running:
        yield running


@pytest.fixture
def index(server: ProviderServer, tmp_path: Path) -> Iterator[Callable[[], Index]]:
    made: list[Index] = []

    def make() -> Index:
        made.append(Index(tmp_path, server))
        return made[-1]

    yield make
    for one in made:
        one.close()


def answered(server: ProviderServer, refused: set[int]) -> Counter[str]:
    """How often the server made a vector of each text."""
    return Counter(text for seen in server.seen if id(seen) not in refused for text in seen.texts)


def test_an_outage_in_the_middle_of_2000_texts_loses_none_and_doubles_none(
    server: ProviderServer, index: Callable[[], Index]
) -> None:
    refused: set[int] = set()
    over = threading.Event()

    def rule(seen: Seen) -> Answer | None:
        if len(server.seen) > 20 and not over.is_set():
            refused.add(id(seen))
            return OUTAGE
        return None

    server.rule = rule
    here = index()
    here.write(10, 200)
    report = here.sync()

    assert report.warning is not None
    assert "upstream is gone" in report.warning
    assert [event for event in here.events if isinstance(event, EmbeddingFailed)]
    assert 0 < report.vectors_waiting < 2000

    over.set()
    here.until_done()
    counts = answered(server, refused)
    assert here.assert_vectors_are_right() == len(counts) == 2000
    assert set(counts.values()) == {1}


def test_a_run_that_ends_in_an_outage_is_finished_by_the_next(
    server: ProviderServer, index: Callable[[], Index]
) -> None:
    refused: set[int] = set()
    down = True

    def rule(seen: Seen) -> Answer | None:
        if down and len(server.seen) > 4:
            refused.add(id(seen))
            return Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "3600"})
        return None

    server.rule = rule
    first = index()
    first.write(3, 100)
    report = first.sync()
    first.close()
    assert "asks to wait 60 min" in (report.warning or "")
    assert 0 < first.waiting() < 300

    down = False
    second = index()
    second.sync()
    second.until_done()
    counts = answered(server, refused)
    assert second.assert_vectors_are_right() == len(counts) == 300
    assert set(counts.values()) == {1}


def test_texts_that_are_refused_keep_the_others_company(server: ProviderServer, index: Callable[[], Index]) -> None:
    def rule(seen: Seen) -> Answer | None:
        if len(seen.texts) > 10:
            return Answer({"error": {"message": "batch size is invalid, at most 10"}}, 400)
        if any("line 7 " in text for text in seen.texts):
            return Answer({"error": {"message": "this one is odd"}}, 400)
        return None

    server.rule = rule
    here = index()
    here.write(4, 25)
    report = here.sync()

    assert report.vectors_waiting == 0
    with Database.open(here.root / "index.sqlite", read_only=True) as database:
        refused = EmbeddingQueue(database).refused()
        assert [(chunk.path, chunk.start_line) for chunk in refused] == [(f"memory/0{n}.md", 8) for n in range(4)]
        assert all("this one is odd" in chunk.error for chunk in refused)
        (row,) = Identities(database).live()
        assert Vectors(database, row).count() == 96


def test_stopping_does_not_wait_for_a_provider_that_hangs(server: ProviderServer, index: Callable[[], Index]) -> None:
    server.rule = lambda seen: Answer(wait=100)
    here = index()
    here.write(1, 20)
    here.ask()
    end = time.monotonic() + 30
    while not server.seen:
        assert time.monotonic() < end
        time.sleep(0.01)
    started = time.monotonic()
    here.close()

    assert time.monotonic() - started < 60
    assert not [thread for thread in threading.enumerate() if thread.name == "memdeck-http"]


def test_bad_vectors_do_not_move_the_neighbours(server: ProviderServer, index: Callable[[], Index]) -> None:
    def rule(seen: Seen) -> Answer | None:
        answer = server.play(seen)
        for row, text in zip(answer.body["data"], seen.texts, strict=True):  # type: ignore[index]
            if "line 3 " in text:
                row["embedding"] = [0.0] * 8
        return answer

    server.rule = rule
    here = index()
    here.write(1, 20)
    here.sync()

    with Database.open(here.root / "index.sqlite", read_only=True) as database:
        (row,) = Identities(database).live()
        vectors = Vectors(database, row)
        assert [chunk.start_line for chunk in EmbeddingQueue(database).refused()] == [4]
        found = vectors.search(np.asarray(unit("anything")), 20)
        assert len(found) == vectors.count() == 19
