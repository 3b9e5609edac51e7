"""What local embedding costs: `embedding.py [--workspace DIR | --file FILE] [--rows N] [--json]`.

Throughput of the local embedder, in its process of its own (tokenising, pooling, normalising and the way there and back
included), against onnxruntime alone with its default options on the same token rows, sorted by length, at its best
batch size, in alternating rounds; what a start of that process costs; the latency of queries while nothing and while
documents are embedded; the peak memory of a process that has the rows embedded, and of the one that embeds them; the
CPU seconds of a process that embeds one query.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from core.chunking import chunk_document, embedding_text
from core.embedding import telemetry
from core.embedding.apart import FEW, ApartEmbedder
from core.embedding.local import LocalEmbedder
from core.embedding.model_files import default_model
from core.embedding.onnx_model import OnnxTokenizer
from core.errors import EmbeddingError
from core.text.lines import decode
from core.text.tokens import TokenCounter

_SAMPLE = Path(__file__).resolve().parents[2] / "tui" / "cli" / "demo" / "workspace"
_QUESTIONS = (
    "who decided to postpone the release and why",
    "how do we rotate the signing keys",
    "error: connection reset by peer",
    "what did the customer say about prices last spring",
    "restore a backup",
)
_BARE_BATCHES = (1, 2, 8, 32)


def workspace_texts(folder: Path) -> Iterator[str]:
    """What the embedder would get of every Markdown file below `folder`."""
    counter = TokenCounter()
    for path in sorted(folder.rglob("*.md")):
        for chunk in chunk_document(decode(path.read_bytes()).text, tokens=400, overlap=80, counter=counter):
            yield embedding_text(chunk)


def file_texts(file: Path) -> Iterator[str]:
    """Each line of a file, or the `text` of each line of a .jsonl file."""
    for line in file.read_text("utf-8", "replace").splitlines():
        if line.strip():
            yield str(json.loads(line)["text"]) if file.suffix == ".jsonl" else line


def chosen(texts: Sequence[str], rows: int) -> list[str]:
    """`rows` texts: a sample, or all of them over and over."""
    if not texts:
        raise SystemExit("embedding.py: no text")
    if len(texts) >= rows:
        return random.Random(1).sample(list(texts), rows)
    return [texts[index % len(texts)] for index in range(rows)]


class Bare:
    """onnxruntime alone on rows of token ids."""

    def __init__(self, model: Path, rows: Sequence[Sequence[int]]) -> None:
        telemetry.forbid()
        import numpy as np
        import onnxruntime

        self._session: Any = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._names = [node.name for node in self._session.get_inputs()]
        ordered = sorted(rows, key=len)
        self._feeds: dict[int, list[dict[str, Any]]] = {}
        for size in _BARE_BATCHES:
            feeds = self._feeds[size] = []
            for start in range(0, len(ordered), size):
                batch = ordered[start : start + size]
                ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
                mask = np.zeros_like(ids)
                for index, row in enumerate(batch):
                    ids[index, : len(row)] = row
                    mask[index, : len(row)] = 1
                feeds.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})

    def run(self, size: int) -> None:
        for feed in self._feeds[size]:
            self._session.run(None, {name: feed[name] for name in self._names})


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def embedder_of(cache_dir: Path, threads: int | None) -> ApartEmbedder:
    """As the settings make it."""
    return ApartEmbedder(LocalEmbedder(cache_dir, threads=1), threads=threads)


def embed_all(embedder: ApartEmbedder, texts: Sequence[str], cancel: threading.Event | None = None) -> None:
    """In requests of the size that indexing makes, as many at once."""
    size = embedder.limits.batch_items
    parts = [texts[start : start + size] for start in range(0, len(texts), size)]
    with ThreadPoolExecutor(embedder.limits.concurrency) as pool:
        for outcomes in pool.map(lambda part: embedder.embed_documents(part, cancel), parts):
            for outcome in outcomes:
                if isinstance(outcome, EmbeddingError):
                    raise outcome


def query_times(embedder: ApartEmbedder, number: int) -> dict[str, float]:
    """p50 and p95 of single queries, milliseconds."""
    times = []
    for index in range(number):
        question = f"{_QUESTIONS[index % len(_QUESTIONS)]} {index}"
        times.append(1000 * seconds(lambda question=question: embedder.embed_query(question)))  # type: ignore[misc]
    return {"p50": round(statistics.median(times), 1), "p95": round(statistics.quantiles(times, n=20)[-1], 1)}


def query_times_while_indexing(embedder: ApartEmbedder, texts: Sequence[str], number: int) -> dict[str, float]:
    cancel = threading.Event()

    def index() -> None:
        try:
            while not cancel.is_set():
                embed_all(embedder, texts, cancel)
        except EmbeddingError:
            return

    thread = threading.Thread(target=index)
    thread.start()
    time.sleep(0.5)
    try:
        return query_times(embedder, number)
    finally:
        cancel.set()
        thread.join()


def peak_megabytes() -> float:
    """Most memory that this process ever held at once."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, ValueError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1_048_576


def peak_megabytes_of_children() -> float:
    """Most memory that a child of this process, which has ended, ever held at once."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1_048_576


def in_fresh_process(*arguments: str, stdin: str = "") -> dict[str, float]:
    """Run this file with `arguments` in a process of its own; its one line of JSON, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, *arguments]
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, cwd=root)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "cpu_seconds": round(cpu, 2)}


def measure(texts: list[str], cache_dir: Path, *, rounds: int, queries: int, threads: int | None) -> dict[str, object]:
    files = default_model(cache_dir)
    tokenizer = OnnxTokenizer(files)
    rows = [tokenizer.encode(text) for text in texts]
    tokens = sum(map(len, rows))
    bare = Bare(files.model, rows)
    embedder = embedder_of(cache_dir, threads)
    start = seconds(lambda: embedder.embed_documents(["hello"] * (FEW + 1)))
    query_times(embedder, 10)  # the first of them load the model here
    bare.run(32)
    ours: list[float] = []
    theirs: dict[int, list[float]] = {size: [] for size in _BARE_BATCHES}
    for _ in range(rounds):
        ours.append(seconds(lambda: embed_all(embedder, texts)))
        for size in _BARE_BATCHES:
            theirs[size].append(seconds(lambda size=size: bare.run(size)))  # type: ignore[misc]
    best = min(theirs, key=lambda size: min(theirs[size]))
    report = {
        "rows": len(rows),
        "tokens": tokens,
        "rows_per_second": round(len(rows) / min(ours), 1),
        "tokens_per_second": round(tokens / min(ours)),
        "onnxruntime_rows_per_second": round(len(rows) / min(theirs[best]), 1),
        "onnxruntime_best_batch": best,
        "ratio": round(min(theirs[best]) / min(ours), 2),
        "process_start_seconds": round(start, 2),
        "query_ms_idle": query_times(embedder, queries),
        "query_ms_while_indexing": query_times_while_indexing(embedder, texts, queries),
    }
    embedder.close()
    extra = [str(cache_dir), *([] if threads is None else [str(threads)])]
    memory = in_fresh_process("--measure-memory", *extra, stdin=json.dumps(texts))
    one = in_fresh_process("--measure-query", *extra)
    peaks = {name: round(memory[name]) for name in ("peak_mb", "process_peak_mb")}
    return {**report, **peaks, "first_query_process": one, "load": os.getloadavg()[0]}


def measured_inside(kind: str, cache_dir: Path, threads: int | None) -> dict[str, float]:
    embedder = embedder_of(cache_dir, threads)
    if kind == "--measure-memory":
        embed_all(embedder, json.load(sys.stdin))
        embedder.close()
        return {"peak_mb": peak_megabytes(), "process_peak_mb": peak_megabytes_of_children()}
    return {
        "ms": round(1000 * seconds(lambda: embedder.embed_query(_QUESTIONS[0])), 1),
        "peak_mb": round(peak_megabytes()),
    }


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] in ("--measure-memory", "--measure-query"):
        threads = int(sys.argv[3]) if len(sys.argv) > 3 else None
        print(json.dumps(measured_inside(sys.argv[1], Path(sys.argv[2]), threads)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--workspace", type=Path, help="folder whose Markdown is chunked and embedded")
    source.add_argument("--file", type=Path, help="one text a line, or .jsonl with `text`")
    parser.add_argument("--rows", type=int, default=256, help="how many texts (default 256)")
    parser.add_argument("--rounds", type=int, default=2, help="alternating rounds; the best counts (default 2)")
    parser.add_argument("--queries", type=int, default=40, help="queries timed (default 40)")
    parser.add_argument("--threads", type=int, help="threads of the embedder (default: its own choice)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    texts = list(file_texts(given.file)) if given.file else list(workspace_texts(given.workspace or _SAMPLE))
    with tempfile.TemporaryDirectory() as cache:
        report = measure(
            chosen(texts, given.rows), Path(cache), rounds=given.rounds, queries=given.queries, threads=given.threads
        )
    if given.json:
        print(json.dumps(report))
    else:
        for name, value in report.items():
            print(f"{name.replace('_', ' '):30} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
