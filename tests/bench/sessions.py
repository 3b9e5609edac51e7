"""Measure transcripts: `sessions.py OUT --sessions 300 --messages 200` writes those of three agents and indexes them.

A third of the sessions each is Claude Code's, Codex's and pi's, with tool calls, results and records that are skipped
in between, as long as real ones are. The same arguments give the same bytes. What is measured: the first sync, a sync
when nothing has changed, one appended message, masking; then, with the memory opened as the app opens it, searches of a
rare and of a common word, and how long after it is written a message is found.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

_COMMON = """the of and to in a is that for it as was with be by on not he this are or his from at which but have an had
they you were their one all we can her has there been if more when will would who so no out up into do any your what
some only them these time could now than then other about may its two also these our new first way because over work
file line test error server config change commit branch index query search table column value function class method
return import module package version build deploy release token user session message agent memory context window model
prompt answer question note day week meeting project plan budget review draft paper data result measure sample kiln ramp
glaze cone oven temperature sensor cable power supply water clay pot shelf fire cool heat control loop gain integral
should check whether before after while during between against without through under above below again still even
please look read write open close start stop find keep make take give show tell ask need want use try run set get put
python rust java script shell linux docker database sqlite vector embedding chunk token cache thread process memory
number string list dict object array file path folder name size type field key record row page block byte char word"""
_SEARCHES = 100
_START = datetime(2026, 9, 1, 8, tzinfo=UTC)


class Writer:
    """Writes made-up conversations; `chance` decides everything."""

    def __init__(self, home: Path, chance: random.Random, line_bytes: int) -> None:
        self._home = home
        self._chance = chance
        self._line_bytes = line_bytes
        common = list(dict.fromkeys(_COMMON.split()))
        names = ["".join(part) for part in itertools.product(("Ana", "Kiln", "Zx", "pid", "io"), common)]
        self._words = [*common, *names]
        self._weights = list(itertools.accumulate((rank + 3) ** -1.3 for rank in range(len(self._words))))
        self.lines = 0
        self.bytes = 0

    def text(self, size: int) -> str:
        """About `size` characters of words, common ones often."""
        count = max(3, size // 5)
        words = self._chance.choices(self._words, cum_weights=self._weights, k=count)
        words[self._chance.randrange(count)] = f"rare{self._chance.randrange(10**6)}"
        return " ".join(words)

    def session(self, number: int, messages: int) -> None:
        """One session; the dialect goes by its number."""
        moment = _START + timedelta(hours=7 * number)
        write: Callable[[int, int, datetime], tuple[Path, Iterator[dict[str, object]]]]
        write = (self._claude, self._codex, self._pi)[number % 3]
        path, records = write(number, messages, moment)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
        path.write_bytes(data)
        self.lines += data.count(b"\n")
        self.bytes += len(data)

    def _turns(self, messages: int, moment: datetime) -> Iterator[tuple[int, str, str, str]]:
        """Number, role, text and time of each message; each third is followed by a tool's result."""
        for number in range(messages):
            moment += timedelta(seconds=self._chance.randrange(5, 120))
            stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            role = "user" if number % 4 == 0 else "assistant"
            size = int(self._line_bytes * self._chance.uniform(0.2, 1.3))
            yield number, role, self.text(size // 2 if role == "user" else size), stamp

    def _claude(self, number: int, messages: int, moment: datetime) -> tuple[Path, Iterator[dict[str, object]]]:
        session = f"{number:08d}-0000-4000-8000-00000000c1a0"
        common = {"sessionId": session, "cwd": f"/home/ana/src/p{number % 9}", "version": "2.1.328"}

        def records() -> Iterator[dict[str, object]]:
            yield {"type": "permission-mode", "permissionMode": "default", "sessionId": session}
            for turn, role, text, stamp in self._turns(messages, moment):
                message: dict[str, object] = {"role": role, "content": text}
                if role == "assistant":
                    message = {"id": f"msg_{turn}", "model": "claude-sonnet-4-5", "role": role}
                    message["content"] = [{"type": "text", "text": text}]
                yield {**common, "type": role, "uuid": f"u{number}-{turn}", "timestamp": stamp, "message": message}
                if turn % 3 == 0:
                    attached = {"type": "prompt_snapshot", "systemPrompt": [self.text(2 * self._line_bytes)]}
                    yield {**common, "type": "attachment", "uuid": f"x{number}-{turn}", "attachment": attached}

        return self._home / f".claude/projects/-home-ana-src-p{number % 9}/{session}.jsonl", records()

    def _codex(self, number: int, messages: int, moment: datetime) -> tuple[Path, Iterator[dict[str, object]]]:
        session = f"{number:08d}-2222-7333-8444-0000000c0de0"

        def records() -> Iterator[dict[str, object]]:
            stamp = moment.isoformat()
            about = {
                "id": session,
                "cwd": f"/home/ana/src/p{number % 9}",
                "base_instructions": {"text": self.text(4000)},
            }
            yield {"timestamp": stamp, "type": "session_meta", "payload": about}
            for turn, role, text, when in self._turns(messages, moment):
                kind = "input_text" if role == "user" else "output_text"
                item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
                yield {"timestamp": when, "ordinal": turn, "type": "response_item", "payload": item}
                if turn % 3 == 0:
                    output = {
                        "type": "function_call_output",
                        "call_id": f"c{turn}",
                        "output": self.text(self._line_bytes),
                    }
                    yield {"timestamp": when, "type": "response_item", "payload": output}

        folder = self._home / f".codex/sessions/{moment:%Y/%m/%d}"
        return folder / f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{session}.jsonl", records()

    def _pi(self, number: int, messages: int, moment: datetime) -> tuple[Path, Iterator[dict[str, object]]]:
        session = f"{number:08d}-1111-7222-8333-000000000314"

        def records() -> Iterator[dict[str, object]]:
            cwd = f"/home/ana/src/p{number % 9}"
            yield {"type": "session", "version": 3, "id": session, "timestamp": moment.isoformat(), "cwd": cwd}
            parent = None
            for turn, role, text, stamp in self._turns(messages, moment):
                entry = {"id": f"{turn:08x}", "parentId": parent, "timestamp": stamp}
                message = {"role": role, "content": [{"type": "text", "text": text}]}
                yield {"type": "message", **entry, "message": message}
                parent = f"{turn:08x}"
                if turn % 3 == 0:
                    result = {"role": "toolResult", "toolCallId": f"c{turn}", "content": self.text(self._line_bytes)}
                    yield {
                        "type": "message",
                        "id": f"t{turn:07x}",
                        "parentId": parent,
                        "timestamp": stamp,
                        "message": result,
                    }
                    parent = f"t{turn:07x}"

        folder = self._home / f".pi/agent/sessions/--home-ana-src-p{number % 9}--"
        return folder / f"{moment:%Y-%m-%dT%H-%M-%S}-000Z_{session}.jsonl", records()


def write_sessions(home: Path, *, sessions: int, messages: int, line_bytes: int, seed: int) -> dict[str, int]:
    """Fill `home` with sessions; returns how many there are, their lines and bytes."""
    writer = Writer(home, random.Random(seed), line_bytes)
    for number in range(sessions):
        writer.session(number, messages)
    return {"sessions": sessions, "lines": writer.lines, "bytes": writer.bytes}


def measure(home: Path) -> dict[str, float]:
    """Seconds of the parts, with an index in `home`."""
    from core.events import EventBus
    from core.settings import settings_of
    from core.store.database import Database
    from core.store.documents import Documents
    from core.store.place import file_bytes
    from core.sync.growth import StoredSessions
    from core.sync.job_tools import JobTools
    from core.sync.keyword_job import KeywordJob
    from core.sync.session_intake import SessionIntake
    from core.text.tokens import TokenCounter

    settings = settings_of({"sources": ["sessions"], "sessions": {"agents": ["claude-code", "codex", "pi"]}})
    index = home / "index.sqlite"
    counter = TokenCounter()
    counter.count("The ranks are loaded.")
    database = Database.open(index, vector_extension=False)
    documents = Documents(database)

    def sync(paths: tuple[str, ...] | None = None) -> tuple[float, KeywordJob]:
        intake = SessionIntake(settings, home=home, environ={}, counter=counter, index=StoredSessions(index))
        with ThreadPoolExecutor(1) as executor:
            tools = JobTools(database, documents, [intake], executor, EventBus(), time.time)
            job = KeywordJob(
                tools, "manual", force=False, paths=paths, cancelled=lambda: False, on_progress=lambda _: None
            )
            started = time.perf_counter()
            for _ in job.steps():
                pass
            return time.perf_counter() - started, job

    cpu = time.process_time()
    first, job = sync()
    found = {
        "first": first,
        "first_cpu": time.process_time() - cpu,
        "read": job.counts.seconds["read"],
        "write": job.counts.seconds["keyword"],
    }
    time.sleep(2.5)  # until no file's stat key could hide an edit any more
    sync()
    found["unchanged"], job = sync()
    assert job.counts.indexed == 0
    path = max((home / ".claude").rglob("*.jsonl"))
    record = {"type": "user", "uuid": "new", "message": {"role": "user", "content": "needleword appended"}}
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    found["appended"], job = sync((str(path),))
    assert job.counts.indexed == 1
    assert job.counts.chunks_added == 1
    found["chunks"] = float(database.count("SELECT count(*) FROM chunks"))
    found["index_megabytes"] = file_bytes(database.path) / 1e6
    database.close()
    found.update(_masking())
    found.update(_as_the_app(home, index, path))
    return found


def _as_the_app(home: Path, index: Path, transcript: Path) -> dict[str, float]:
    """95th percentile of keyword searches, in seconds, and seconds until a message that is appended is found."""
    from core import Memory, SearchRequest, open_memory

    workspace = home / "workspace"
    (workspace / "memory").mkdir(parents=True)
    flags: dict[str, object] = {
        "provider": "none",
        "sources": ["sessions"],
        "sessions.agents": ["claude-code", "codex", "pi"],
        "sync.watch_debounce_ms": 0,
    }
    memory = open_memory(workspace=workspace, store=index, flags=flags, home=home, environ={}, resident=True)

    def p95(memory: Memory, word: str) -> float:
        times = []
        for _ in range(_SEARCHES + 1):
            started = time.perf_counter()
            assert memory.search(SearchRequest(word, mode="keyword")).hits, word
            times.append(time.perf_counter() - started)
        return sorted(times[1:])[int(0.95 * _SEARCHES)]  # without the first, which opens the index

    try:
        found = {"search_rare": p95(memory, "needleword"), "search_common": p95(memory, "token")}
        memory.start()
        memory.sync()
        record = {"type": "user", "uuid": "later", "message": {"role": "user", "content": "hayword appended"}}
        started = time.perf_counter()
        with transcript.open("a") as file:
            file.write(json.dumps(record) + "\n")
        memory.sync(paths=(transcript,))
        assert memory.search(SearchRequest("hayword", mode="keyword")).hits
        found["appended_by_worker"] = time.perf_counter() - started
    finally:
        memory.close()
    return found


def _masking() -> dict[str, float]:
    """Seconds that masking takes for 12 MiB on one line."""
    from core.sources.redaction import Redactor

    redact = Redactor()
    size = 12 << 20
    chance = random.Random(1)
    texts = {
        "base64": "".join(chance.choices("ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789+/", k=size // 16)) * 16,
        "prose": "the quick brown fox jumps over the lazy dog ; " * (size // 46),
        "secrets": "API_KEY=sk-proj-abcdefghij1234567890 and more words here " * (size // 57),
    }
    seconds = {}
    for name, text in texts.items():
        started = time.perf_counter()
        redact(text)
        seconds[f"mask_{name}"] = time.perf_counter() - started
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("out", type=Path, help="an empty folder, used as the home of the agents")
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--line-bytes", type=int, default=775)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write-only", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"{options.out} is not empty")
    made = write_sessions(
        options.out,
        sessions=options.sessions,
        messages=options.messages,
        line_bytes=options.line_bytes,
        seed=options.seed,
    )
    measured = {} if options.write_only else measure(options.out)
    if options.json:
        print(json.dumps({**made, **{name: round(value, 4) for name, value in measured.items()}}))
    else:
        print(f"{made['sessions']} sessions, {made['lines']:,} lines, {made['bytes'] / 1e6:.1f} MB")
        for name, value in measured.items():
            print(f"{name:16} {value:10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
