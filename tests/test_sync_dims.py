"""A model that keeps its name and changes the length of its vectors."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.embedding.base import Vector
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from tests.workbench import Bench, WordEmbedder


class Learnt(WordEmbedder):
    """A model of whose vectors' length nobody knows but from themselves."""

    def __init__(self, dims: int) -> None:
        super().__init__(dims=dims)
        self._dims = dims
        self.identity = replace(self.identity, dims=None)

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        place = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") % self._dims
        return np.eye(self._dims, dtype=np.float32)[place]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[[int], Bench]]:
    made: list[Bench] = []

    def make(dims: int) -> Bench:
        for one in made:
            one.worker.stop()
        made.append(Bench(tmp_path, Learnt(dims)))
        return made[-1]

    yield make
    for one in made:
        one.worker.stop()


def lengths(here: Bench) -> list[tuple[int | None, int]]:
    """Length and count of the vectors in use."""
    with here.reading() as database:
        assert EmbeddingQueue(database).refused() == ()
        return [(row.identity.dims, Vectors(database, row).count()) for row in Identities(database).live()]


@pytest.fixture
def changed(bench: Callable[[int], Bench]) -> Bench:
    """One text has a vector of three numbers; from now on the model makes five."""
    before = bench(3)
    before.write("memory/a.md", "one\n")
    before.sync()
    return bench(5)


def test_two_texts_at_once_tell(changed: Bench) -> None:
    here = changed
    here.write("memory/b.md", "two\n")
    here.write("memory/c.md", "three\n")
    here.sync()
    assert lengths(here) == [(5, 3)]


def test_two_texts_one_after_the_other_tell_as_well(changed: Bench) -> None:
    here = changed
    here.write("memory/b.md", "two\n")
    here.sync()
    with here.reading() as database:
        assert [chunk.path for chunk in EmbeddingQueue(database).refused()] == ["memory/b.md"]
    here.write("memory/c.md", "three\n")
    here.sync()
    here.sync()
    assert lengths(here) == [(5, 3)]


@pytest.mark.parametrize("has_refused", [False, True])
def test_force_looks_whether_the_vectors_are_still_those_of_the_model(changed: Bench, has_refused: bool) -> None:
    here = changed
    if has_refused:
        here.write("memory/b.md", "two\n")
        here.sync()
    here.sync(force=True)
    assert lengths(here) == [(5, 1 + has_refused)]


def test_force_makes_one_vector_where_nothing_has_changed(bench: Callable[[int], Bench]) -> None:
    here = bench(3)
    for number in range(5):
        here.write(f"memory/{number}.md", f"text {number}\n")
    here.sync()
    assert isinstance(here.embedder, Learnt)
    here.embedder.seen.clear()
    here.sync(force=True)
    assert (len(here.embedder.seen), lengths(here)) == (1, [(3, 5)])
