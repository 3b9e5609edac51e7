"""Random lives of a workspace: files come, change, move and go while the indexing process is killed; the index must
end as a fresh rebuild would have it. `MEMDECK_OPS=10000 MEMDECK_KILLS=200 pytest -m soak` is the long form."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.store.check import check
from core.store.database import Database
from core.store.embedding_queue import EmbeddingQueue
from tests.soak_child import SESSIONS, SoakBench

WORDS = [
    *["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"],
    "记忆",
    "系统",
    "straße",
    "café",
]
NAMES = [f"memory/{folder}{name}.md" for folder in ("", "a/", "a/b/", "c/") for name in "uvwxyz"] + ["MEMORY.md"]
REPOSITORY = Path(__file__).parent.parent


class Life:
    """Random operations on a workspace, each one that a person or an editor does."""

    def __init__(self, workspace: Path, seed: int) -> None:
        self.workspace = workspace
        self.sessions = workspace.parent / SESSIONS
        self.random = random.Random(seed)
        self.said = 0
        self.sessions.mkdir(parents=True)
        (self.sessions / "stays.jsonl").write_text(self.message("stays"))  # an empty folder would be no news

    def step(self) -> None:
        operation = self.random.choice(
            [
                self.write,
                self.write,
                self.write,
                self.same_size,
                self.save_atomically,
                self.append,
                self.rename,
                self.move_out_and_back,
                self.delete,
                self.rename_folder,
                self.forbid,
                self.truncate,
                self.say,
                self.say,
                self.say_half,
                self.archive,
                self.rewrite,
                self.hang_up,
            ]
        )
        try:
            operation()
        except OSError:
            return

    def any_name(self) -> Path:
        return self.workspace / self.random.choice(NAMES)

    def any_file(self) -> Path:
        return self.random.choice(
            [path for name in NAMES if (path := self.workspace / name).is_file()] or [self.any_name()]
        )

    def text(self) -> str:
        lines = [" ".join(self.random.choices(WORDS, k=8)) for _ in range(self.random.randint(1, 60))]
        return f"# {self.random.choice(WORDS)}\n" + "\n".join(lines) + "\n"

    def write(self) -> None:
        path = self.any_name()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())

    def same_size(self) -> None:
        path = self.any_file()
        found = path.stat()
        data = bytearray(path.read_bytes())
        if data:
            data[0] = self.random.choice(b"#abcdefg")
            path.write_bytes(bytes(data))
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def save_atomically(self) -> None:
        path = self.any_file()
        swap = path.with_name(f".{path.name}.swp")
        swap.write_text(self.text())
        swap.replace(path)

    def append(self) -> None:
        with self.any_file().open("a") as file:
            file.write(self.text())

    def rename(self) -> None:
        target = self.any_name()
        target.parent.mkdir(parents=True, exist_ok=True)
        self.any_file().rename(target)

    def move_out_and_back(self) -> None:
        path, outside = self.any_file(), self.workspace.parent / "outside.md"
        path.rename(outside)
        if self.random.random() < 0.7:
            outside.rename(path)

    def delete(self) -> None:
        self.any_file().unlink()

    def rename_folder(self) -> None:
        one, other = self.random.sample(["a", "c", "a/b", "d"], 2)
        (self.workspace / "memory" / one).rename(self.workspace / "memory" / other)

    def forbid(self) -> None:
        self.any_file().chmod(self.random.choice((0o600, 0o000)))

    def truncate(self) -> None:
        os.truncate(self.any_file(), 0)

    # -- transcripts

    def any_session(self) -> Path:
        return self.sessions / f"{self.random.choice('klmn')}.jsonl"

    def message(self, name: str) -> str:
        """A line of a transcript, behind its head in a new one."""
        self.said += 1
        text = " ".join(self.random.choices(WORDS, k=self.random.randint(1, 300)))
        role = self.random.choice(["user", "assistant"])
        record = {"type": "message", "id": f"{name}-{self.said}", "message": {"role": role, "content": text}}
        line = json.dumps(record, ensure_ascii=False) + "\n"
        if (self.sessions / f"{name}.jsonl").exists():
            return line
        return json.dumps({"type": "session", "version": 3, "id": name, "cwd": "/src"}) + "\n" + line

    def say(self) -> None:
        path = self.any_session()
        line = self.message(path.stem)
        with path.open("a") as file:
            file.write(line)

    def say_half(self) -> None:
        """A line in two pieces, the cut anywhere, between them time enough to be read."""
        path = self.any_session()
        data = self.message(path.stem).encode()
        cut = self.random.randrange(1, len(data))
        with path.open("ab") as file:
            file.write(data[:cut])
            file.flush()
            time.sleep(self.random.random() * 0.03)
            file.write(data[cut:])

    def archive(self) -> None:
        path = self.any_session()
        kind = self.random.choice(["reset", "deleted"])
        path.rename(path.with_name(f"{path.name}.{kind}.2026-03-01T10-00-{self.said % 60:02}Z"))

    def rewrite(self) -> None:
        """The same session with fewer messages, in place or as a new file."""
        path = self.any_session()
        lines = path.read_text().splitlines(keepends=True)
        kept = "".join(lines[: self.random.randrange(1, len(lines) + 1)])
        if self.random.random() < 0.5:
            path.write_text(kept)
        else:
            swap = path.with_name("swap")
            swap.write_text(kept)
            swap.replace(path)

    def hang_up(self) -> None:
        self.random.choice(sorted(self.sessions.glob("[klmn].*")) or [self.any_session()]).unlink()


class Child:
    """The indexing process."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak_child", str(root)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def sync(self) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("sync\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def content(store: Path) -> dict[str, object]:
    """What an index says, without ids and times."""
    with Database.open(store, read_only=True) as database:
        rows = database.rows(
            # The hash of a transcript covers where it lies.
            "SELECT files.path, iif(files.source = 'memory', files.hash, NULL), files.lines, "
            "chunks.ordinal, chunks.start_line, chunks.end_line,"
            " chunks.heading, chunks.text, chunks.embed_hash, embedding_cache.vector"
            " FROM files LEFT JOIN chunks ON chunks.file_id = files.id"
            " LEFT JOIN embedding_identities ON embedding_identities.state = 'active'"
            " LEFT JOIN embedding_cache ON embedding_cache.hash = chunks.embed_hash"
            " AND embedding_cache.identity_id = embedding_identities.id ORDER BY 1, 4"
        )
        found = {
            word: sorted(
                path
                for (path,) in database.rows(
                    "SELECT DISTINCT files.path FROM chunks_fts JOIN chunks ON chunks.id = chunks_fts.rowid"
                    " JOIN files ON files.id = chunks.file_id WHERE chunks_fts MATCH ?",
                    (f'body: "{word}"',),
                )
            )
            for word in ("alpha", "kappa")
        }
        assert [finding for finding in check(database) if not finding.ok] == []
        assert EmbeddingQueue(database).waiting() == 0
    return {"rows": rows, "words": found}


def live(tmp_path: Path, operations: int, kills: int, seed: int) -> None:
    root = tmp_path / "life"
    (root / "ws/memory").mkdir(parents=True)
    life = Life(root / "ws", seed)
    kill_at = set(life.random.sample(range(operations), min(kills, operations)))
    child = Child(root)
    child.wait_until_ready()
    try:
        for number in range(operations):
            life.step()
            if number in kill_at:
                time.sleep(life.random.random() * 0.05)
                child.kill()
                child = Child(root)
                if life.random.random() < 0.5:
                    child.wait_until_ready()
            elif life.random.random() < 0.05:
                time.sleep(0.03)
        for path in (root / "ws").rglob("*.md"):
            path.chmod(0o600)
        report = child.sync() or child.sync()
        if report == "ready\n":
            report = child.sync()
        assert '"failed": 0' in report, report
    finally:
        child.end()
    shutil.copytree(root / "ws", tmp_path / "fresh/ws")
    shutil.copytree(root / "home", tmp_path / "fresh/home")
    fresh = SoakBench(tmp_path / "fresh")
    fresh.sync()
    fresh.worker.stop()
    assert content(root / "index.sqlite") == content(fresh.store)


SEED = int(os.environ.get("MEMDECK_SEED", "1"))


def test_a_short_life_with_kills_ends_like_a_rebuild(tmp_path: Path) -> None:
    live(tmp_path, operations=300, kills=4, seed=SEED)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_long_life_with_kills_ends_like_a_rebuild(tmp_path: Path) -> None:
    live(
        tmp_path,
        operations=int(os.environ.get("MEMDECK_OPS", "10000")),
        kills=int(os.environ.get("MEMDECK_KILLS", "200")),
        seed=SEED,
    )
