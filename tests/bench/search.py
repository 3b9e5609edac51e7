"""How long searches take: `search.py --chunks N --queries FILE` over real text grown to N chunks.

The text is drawn from the Markdown beside FILE (or --texts), paragraph by paragraph; vectors are those of a sample of
its chunks, turned a little, so that no hours of embedding are needed. Measured in this process, with the query's vector
at hand: the words alone, the meaning alone and both, once with the vectors in memory as the app has them and once from
the index file as a single command does. FILE holds JSON lines with "query", or plain lines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from grow import grown_document, markdown_files, names, paragraphs

from core.chunking import chunk_document, embedding_hash, embedding_text
from core.embedding.local import LocalEmbedder
from core.search.pipeline import Searcher
from core.settings.model import Settings
from core.store.database import Database
from core.store.documents import Documents
from core.store.identity import Identities
from core.store.matrix import VectorMatrix
from core.store.place import file_bytes
from core.store.vectors import Vectors
from core.text.tokens import TokenCounter
from core.types import Chunk, Document, SearchMode, SearchRequest, StatKey

DOCUMENT_BYTES = 12_000
TURN = 0.6
"""How far a made vector lies from the real one that it comes from: the share of noise before normalisation."""
MODES: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")


def read_queries(path: Path, limit: int) -> list[str]:
    """The first `limit` queries of a file."""
    lines = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [json.loads(line)["query"] if line.startswith("{") else line for line in lines[:limit]]


def documents(texts: Sequence[Path], seed: int) -> Iterator[tuple[str, str]]:
    """Paths and texts without end: the real documents first, then grown ones."""
    files = [(root, path) for root in texts for path in markdown_files(root)]
    for root, path in files:
        yield f"memory/{root.parent.name}/{path.relative_to(root).as_posix()}", path.read_text("utf-8", "replace")
    chance = random.Random(seed)
    stock = paragraphs([path for _, path in files])
    if not stock:
        raise SystemExit("search.py: no Markdown to grow from")
    for name in names(chance):
        yield name, grown_document(stock, int(DOCUMENT_BYTES * chance.uniform(0.4, 1.4)), chance)


class Grower:
    """Fills an index up to a number of chunks."""

    def __init__(self, database: Database, embedder: LocalEmbedder, sample: int) -> None:
        self._database = database
        self._documents = Documents(database)
        self._embedder = embedder
        self._sample = sample
        self._counter = TokenCounter()
        self._base = np.empty((0, 0), np.float32)
        self._noise = np.random.default_rng(1)

    def fill(self, texts: Iterator[tuple[str, str]], count: int) -> None:
        """Add documents until the index has `count` chunks."""
        row = Identities(self._database).put_in_force(self._embedder.identity)
        vectors = Vectors(self._database, row)
        held = 0
        while held < count:
            with self._database.transaction():
                hashes: dict[bytes, str] = {}
                while held < count and len(hashes) < 2000:
                    path, text = next(texts)
                    chunks = chunk_document(text, tokens=400, overlap=80, counter=self._counter)[: count - held]
                    hashes.update(self._put(path, text, chunks))
                    held += len(chunks)
                vectors.write(list(zip(hashes, self._vectors(list(hashes.values())), strict=True)))
            print(f"\r{held:,} chunks", end="", file=sys.stderr, flush=True)
        with self._database.transaction():
            vectors.refresh_stats(force=True)
        Identities(self._database).complete(vectors.row)
        print(file=sys.stderr)

    def _put(self, path: str, text: str, chunks: Sequence[Chunk]) -> dict[bytes, str]:
        document = Document(
            "memory", path, f"/{path}", StatKey(len(text), 0, 0, 0, 0), hashlib.sha256(text.encode()).hexdigest(), text
        )
        inputs = [embedding_text(chunk) for chunk in chunks]
        keys = [embedding_hash(text) for text in inputs]
        self._documents.replace(document, chunks, build="bench", scanned_ns=0, now_ms=0, embed_hashes=keys)
        return dict(zip(keys, inputs, strict=True))

    def _vectors(self, inputs: Sequence[str]) -> list[Any]:
        """Real vectors for the first chunks, and after that real ones turned at random."""
        missing = max(0, self._sample - len(self._base))
        fresh = list(self._embedder.embed_documents(inputs[:missing])) if missing else []
        if fresh:
            rows = np.array(fresh, np.float32)
            self._base = np.vstack((self._base, rows)) if len(self._base) else rows
        rest = len(inputs) - len(fresh)
        dims = self._base.shape[1]
        made = self._base[self._noise.integers(0, len(self._base), rest)]
        made = made + TURN * self._noise.standard_normal((rest, dims)).astype(np.float32) / np.sqrt(dims)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return [*fresh, *made]


def summary(milliseconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile and worst."""
    ordered = sorted(milliseconds)
    at = min(len(ordered) - 1, round(0.95 * len(ordered)))
    return {"p50": round(statistics.median(ordered), 1), "p95": round(ordered[at], 1), "max": round(ordered[-1], 1)}


def measure(searcher: Searcher, queries: Sequence[str], vectors: Sequence[Any], mode: SearchMode) -> dict[str, Any]:
    """Wall and processor times of each query once, after a few to warm up, and what the stages took in the mean."""
    walls, cpus, found = [], [], 0
    stages: dict[str, float] = {}
    for number, (query, vector) in enumerate(
        [*zip(queries[:5], vectors[:5], strict=True), *zip(queries, vectors, strict=True)]
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        result = searcher.search(SearchRequest(query, mode=mode), None if mode == "keyword" else vector)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if number < 5:
            continue
        walls.append(wall * 1000)
        cpus.append(cpu * 1000)
        found += bool(result.hits)
        for stage, took in result.milliseconds.items():
            stages[stage] = stages.get(stage, 0.0) + took / len(queries)
    return {
        **summary(walls),
        "cpu": summary(cpus),
        "answered": found,
        "stages": {stage: round(took, 1) for stage, took in stages.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=200, help="how many queries")
    parser.add_argument("--texts", type=Path, action="append", help="folder with Markdown; may be given again")
    parser.add_argument("--sample", type=int, default=300, help="chunks that are really embedded")
    parser.add_argument("--index", type=Path, help="index file to keep and use again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = options.texts or [options.queries.parent / "workspace"]
    if options.chunks < 1 or options.sample < 1:
        parser.error("--chunks and --sample are 1 or more")
    if not options.queries.is_file():
        parser.error(f"{options.queries} is not there")
    queries = read_queries(options.queries, options.limit)
    with tempfile.TemporaryDirectory() as folder:
        store = options.index or Path(folder) / "index.sqlite"
        embedder = LocalEmbedder(Path(folder) / "cache")
        if not store.exists():
            with Database.open(store) as database:
                Grower(database, embedder, options.sample).fill(documents(texts, seed=1), options.chunks)
        started = time.perf_counter()
        vectors = [embedder.embed_query(query) for query in queries]
        embed_ms = (time.perf_counter() - started) * 1000 / max(1, len(queries))
        figures: dict[str, Any] = {"queries": len(queries), "embedMs": round(embed_ms, 1)}
        with Database.open(store, read_only=True) as database:
            figures["chunks"] = database.count("SELECT sum(chunks) FROM files")
            figures["bytes"] = file_bytes(database.path)
            for name, matrix in (("inMemory", VectorMatrix(limit_mb=1024)), ("fromFile", None)):
                searcher = Searcher(database, Settings(), embedder=embedder, matrix=matrix)
                figures[name] = {mode: measure(searcher, queries, vectors, mode) for mode in MODES}
        embedder.close()
    if options.json:
        print(json.dumps(figures))
        return 0
    size = f"{figures['chunks']:,} chunks, {figures['bytes'] / 1e6:.0f} MB"
    print(f"{size}, {len(queries)} queries, {embed_ms:.1f} ms to embed one")
    for name in ("inMemory", "fromFile"):
        for mode in MODES:
            row = figures[name][mode]
            times = f"p50 {row['p50']:7.1f}  p95 {row['p95']:7.1f}  cpu p95 {row['cpu']['p95']:7.1f}"
            print(f"{name:9} {mode:9} {times}  {row['stages']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
