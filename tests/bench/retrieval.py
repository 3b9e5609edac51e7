"""How well searches find: `retrieval.py SET…` indexes each set and asks its questions, as a user would.

A set is a folder with workspace/, queries.jsonl {id, query} and qrels.jsonl {query, path, start_line, end_line, grade}.
By document the first hit of each path counts; by lines a hit is right when it overlaps a judged range, and a range
counts once. Ten hits are judged, merged neighbours as one. --no-answer SET asks that set's questions of every other
workspace too, where they should find nothing or weak hits that say so.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core import Hit, Memory, SearchRequest, open_memory
from core.types import SearchMode

HITS = 10
NEEDED = ("workspace", "queries.jsonl", "qrels.jsonl")


@dataclass(frozen=True)
class Judgement:
    """A range of lines that answers a query."""

    path: str
    start_line: int
    end_line: int
    grade: float


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    judged: tuple[Judgement, ...]


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def read_questions(folder: Path) -> list[Question]:
    """The questions of a set that have an answer in it."""
    judged: dict[str, list[Judgement]] = defaultdict(list)
    for row in read_rows(folder / "qrels.jsonl"):
        if row.get("grade", 1) > 0:
            judgement = Judgement(row["path"], row["start_line"], row["end_line"], row.get("grade", 1))
            judged[row["query"]].append(judgement)
    rows = read_rows(folder / "queries.jsonl")
    return [Question(row["id"], row["query"], tuple(judged[row["id"]])) for row in rows if row["id"] in judged]


def gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades[:HITS]))


def measures(earned: Sequence[float], covered: Sequence[int], ideal: Sequence[float]) -> dict[str, float]:
    """nDCG, recall and reciprocal rank from what each rank earns and how many judged items it covers anew."""
    best = gain(sorted(ideal, reverse=True))
    first = next((rank for rank, grade in enumerate(earned[:HITS]) if grade > 0), None)
    return {
        "nDCG@10": min(1.0, gain(earned) / best) if best else 0.0,
        **{f"R@{k}": sum(covered[:k]) / len(ideal) for k in (1, 5, 10)},
        "MRR@10": 0.0 if first is None else 1 / (first + 1),
    }


def by_document(hits: Sequence[Hit], judged: Sequence[Judgement]) -> dict[str, float]:
    grades: dict[str, float] = {}
    for judgement in judged:
        grades[judgement.path] = max(judgement.grade, grades.get(judgement.path, 0.0))
    earned = [grades.get(path, 0.0) for path in dict.fromkeys(hit.path for hit in hits)]
    return measures(earned, [int(grade > 0) for grade in earned], list(grades.values()))


def by_lines(hits: Sequence[Hit], judged: Sequence[Judgement]) -> dict[str, float]:
    left = list(judged)
    earned, covered = [], []
    for hit in hits:
        found = [
            judgement
            for judgement in left
            if judgement.path == hit.path
            and hit.start_line <= judgement.end_line
            and judgement.start_line <= hit.end_line
        ]
        left = [judgement for judgement in left if judgement not in found]
        earned.append(sum(judgement.grade for judgement in found))
        covered.append(len(found))
    return measures(earned, covered, [judgement.grade for judgement in judged])


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.fmean(row[name] for row in rows), 4) for name in rows[0]}


def judge(memory: Memory, questions: Sequence[Question], mode: SearchMode) -> dict[str, Any]:
    """All measures of one set under one mode."""
    documents, lines, times, unanswered = [], [], [], 0
    for question in questions:
        started = time.perf_counter()
        hits = memory.search(SearchRequest(question.text, mode=mode, max_results=HITS, deadline_ms=60_000)).hits
        times.append((time.perf_counter() - started) * 1000)
        documents.append(by_document(hits, question.judged))
        lines.append(by_lines(hits, question.judged))
        unanswered += not hits
    ordered = sorted(times)
    return {
        "queries": len(questions),
        "document": mean(documents),
        "lines": mean(lines),
        "withoutHit": unanswered,
        "msP50": round(statistics.median(ordered), 1),
        "msP95": round(ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))], 1),
    }


def judge_silence(memory: Memory, questions: Sequence[Question], mode: SearchMode) -> dict[str, Any]:
    """How questions without an answer end: nothing, weak hits that say so, or hits that look like an answer."""
    nothing, weak, scores = 0, 0, []
    for question in questions:
        result = memory.search(SearchRequest(question.text, mode=mode, max_results=HITS, deadline_ms=60_000))
        nothing += not result.hits
        weak += bool(result.hits) and result.warning is not None
        scores.append(result.hits[0].score if result.hits else 0.0)
    ordered = sorted(scores)
    return {
        "queries": len(questions),
        "nothing": nothing,
        "weak": weak,
        "firstScoreP50": round(statistics.median(ordered), 3),
        "firstScoreP95": round(ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))], 3),
    }


def opened(folder: Path, store: Path, mode: SearchMode) -> Memory:
    """The memory of a set's workspace, brought in step."""
    memory = open_memory(workspace=folder / "workspace", store=store, resident=True)
    memory.sync(vectors=mode != "keyword")
    return memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("sets", type=Path, nargs="*")
    parser.add_argument("--eval", type=Path, help="a folder of sets, all of which are asked")
    parser.add_argument("--mode", choices=("hybrid", "keyword", "semantic"), default="hybrid")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--no-answer", type=Path, help="a set whose questions the others cannot answer")
    parser.add_argument("--indexes", type=Path, help="folder of index files to keep and use again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folders = [*options.sets]
    if options.eval is not None:
        folders += sorted(path.parent for path in options.eval.glob("*/qrels.jsonl"))
    if not folders:
        parser.error("name a set, or --eval with a folder of sets")
    for folder in [*folders, *([options.no_answer] if options.no_answer is not None else [])]:
        missing = [name for name in NEEDED if not (folder / name).exists()]
        if missing:
            parser.error(f"{folder} is no set: {', '.join(missing)} not there")
    mode = cast("SearchMode", options.mode)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        indexes = options.indexes or Path(temporary)
        for folder in folders:
            memory = opened(folder, indexes / f"{folder.resolve().name}.sqlite", mode)
            try:
                result = judge(memory, read_questions(folder)[:: options.every], mode)
                if options.no_answer is not None and options.no_answer.resolve() != folder.resolve():
                    silent = read_questions(options.no_answer)[:: options.every]
                    result["noAnswer"] = judge_silence(memory, silent, mode)
            finally:
                memory.close()
            results[folder.resolve().name] = result
            if not options.json:
                show(folder.resolve().name, result)
    if len(results) > 1:
        overall = {
            view: round(statistics.fmean(result[view]["nDCG@10"] for result in results.values()), 4)
            for view in ("document", "lines")
        }
        results["mean"] = overall
        if not options.json:
            print(f"{'mean':12} nDCG@10 {overall['document']:.3f} by document, {overall['lines']:.3f} by lines")
    if options.json:
        print(json.dumps(results))
    return 0


def show(name: str, result: dict[str, Any]) -> None:
    for view in ("document", "lines"):
        row = "  ".join(f"{measure} {value:.3f}" for measure, value in result[view].items())
        print(f"{name:12} {view:9} {row}")
    print(
        f"{'':12} {result['queries']} queries, {result['withoutHit']} without a hit, "
        f"p50 {result['msP50']} ms, p95 {result['msP95']} ms"
    )
    if "noAnswer" in result:
        silence = result["noAnswer"]
        print(
            f"{'':12} {silence['queries']} without an answer: {silence['nothing']} nothing, {silence['weak']} weak; "
            f"first score p50 {silence['firstScoreP50']}, p95 {silence['firstScoreP95']}"
        )


if __name__ == "__main__":
    sys.exit(main())
