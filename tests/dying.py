"""Dies at every step of some work on an index, one death after another, and looks at what the next start makes of it.

Run as `python -m tests.dying FOLDER WORK FIRST STRIDE`: for every STRIDEth step from FIRST on a JSON line
{step, died, problem}, until the work is done before it would die. A step is any statement that the writer sends to
SQLite and that is no mere SELECT. Each life is a fork of this process, which has all modules loaded and no thread.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import apsw

from core.settings import settings_of
from core.store.database import Database
from core.store.forgetting import forgotten
from core.store.identity import Identities
from core.store.keyword_rows import KEYWORD_TABLES
from core.store.requests import Requests
from core.sync.messages import SyncRequested
from core.sync.reports import to_payload
from tests.test_soak import content
from tests.workbench import COUNTER, Bench, WordEmbedder

SECRET = "quetzalcoatl"
FORGOTTEN = "memory/secret.md"


class Work:
    """What an index is before, what is done to it, and with which settings."""

    def __init__(self, dims: int = 8, tokens: int = 400) -> None:
        self.embedder = ("words", dims)
        self.settings = settings_of({"chunking": {"tokens": tokens, "overlap": 10}})

    def bench(self, root: Path) -> Bench:
        return Bench(root, WordEmbedder(*self.embedder), settings=self.settings)

    def prepare(self, root: Path) -> None:
        """The index that is there before."""
        bench = Work().bench(root)
        for name in "abc":
            bench.write(f"memory/{name}.md", f"# {name}\n" + f"the {name} is alpha and kappa\n" * 30)
        bench.write(FORGOTTEN, f"{SECRET} is alpha\n" * 3)
        bench.sync()
        bench.worker.stop(10)

    def change(self, root: Path) -> None:
        """What happens to the files before the work begins."""

    def do(self, bench: Bench) -> None:
        bench.sync()


class First(Work):
    """The first sync of all."""

    def prepare(self, root: Path) -> None:
        super().prepare(root)
        for path in root.glob("index.sqlite*"):
            path.unlink()


class Sync(Work):
    """Files that changed, came, went and moved; and another process, long dead, had asked for a sync."""

    def prepare(self, root: Path) -> None:
        super().prepare(root)
        with Database.open(root / "index.sqlite") as database:
            Requests(database).ask("sync", to_payload(SyncRequested("manual")), pid=1, now_ms=0)

    def change(self, root: Path) -> None:
        memory = root / "ws/memory"
        (memory / "a.md").write_text("# a\nanother alpha\n")
        (memory / "b.md").unlink()
        (memory / "c.md").rename(memory / "d.md")
        (memory / "e.md").write_text("kappa came\n")


class Force(Sync):
    """All anew, whatever the files say."""

    def do(self, bench: Bench) -> None:
        bench.sync("force", force=True)


class Damaged(Work):
    """An index that is no database any more: set aside, and rebuilt from the files."""

    def change(self, root: Path) -> None:
        with (root / "index.sqlite").open("r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 400)


class Keywords(Work):
    """Keyword rows that are out of step with the chunks: mended before the sync."""

    def change(self, root: Path) -> None:
        with Database.open(root / "index.sqlite") as database:
            for table in KEYWORD_TABLES:
                database.run(f"DELETE FROM {table} WHERE rowid = 1")


class Identity(Work):
    """Another model, and chunks of another size."""

    def __init__(self) -> None:
        super().__init__(dims=5, tokens=60)


class Forget(Work):
    """A document leaves for good."""

    def do(self, bench: Bench) -> None:
        bench.sync()
        bench.sync(vectors=False, forget=(FORGOTTEN,))


WORKS: dict[str, Callable[[], Work]] = {
    "first": First,
    "sync": Sync,
    "force": Force,
    "damaged": Damaged,
    "keywords": Keywords,
    "identity": Identity,
    "forget": Forget,
}


def die_at(step: int) -> None:
    """Kill this process before its writer's statement number `step`, counted from 1."""
    left = step

    def trace(cursor: apsw.Cursor, sql: str, _: object) -> bool:
        nonlocal left
        if not cursor.connection.readonly("main") and not sql.lstrip().upper().startswith("SELECT"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))


def in_a_fork(life: Callable[[], str]) -> tuple[bool, str]:
    """Live another life; whether it was killed, and what it had to tell."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        words = ""
        try:
            words = life()
        except BaseException:
            words = traceback.format_exc()
        os.write(into, words.encode()[-4000:])
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as told:
        words = told.read().decode()
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), words


def work_until(work: Work, root: Path, step: int) -> str:
    die_at(step)
    bench = work.bench(root)
    work.do(bench)
    bench.worker.stop(10)
    return ""


def start_again(work: Work, root: Path, fresh: Path) -> str:
    """What the next start leaves to be desired; "" when the index is as a rebuild makes it."""
    bench = work.bench(root)
    report = bench.sync()
    bench.until(lambda: not bench.worker.state.busy)
    bench.worker.stop(10)
    with bench.reading() as database:
        gone = ("memory", FORGOTTEN) in forgotten(database)
        problems = leftovers(database)
    if report.failed:
        problems.append(f"{report.failed} files failed")
    if gone and any(SECRET.encode() in file.read_bytes() for file in root.glob("index.sqlite*")):
        problems.append("forgotten text is still in the file")
    if content(bench.store) != content(fresh / ("without" if gone else "with") / "index.sqlite"):
        problems.append("the index is not what a rebuild makes")
    return "; ".join(problems)


def leftovers(database: Database) -> list[str]:
    """What a death may leave behind and the next start must take away."""
    found = []
    states = [row.state for row in Identities(database).all() if row.state != "retired"]
    if states != ["active"]:
        found.append(f"identities are {states}")
    tables = database.count("SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%vec0%'")
    if tables != 1:
        found.append(f"there are {tables} vector tables")
    if Requests(database).waiting():
        found.append("requests wait")
    if database.count("SELECT count(*) FROM file_errors"):
        found.append("errors are noted")
    return found


def rebuild(work: Work, root: Path, fresh: Path) -> str:
    """The same files in new indexes, with the document that may be forgotten and without it."""
    for name in ("with", "without"):
        folder = fresh / name
        shutil.copytree(root / "ws", folder / "ws")
        if name == "without":
            (folder / "ws" / FORGOTTEN).unlink()
        bench = work.bench(folder)
        bench.sync()
        bench.worker.stop(10)
    return ""


def lives(folder: Path, work: Work, first: int, stride: int) -> None:
    """Die at step after step until the work is done."""
    COUNTER.count("loaded once, for all lives")
    WordEmbedder().embed_query("this too")
    before, fresh, root = folder / "before", folder / "fresh", folder / "root"

    def prepare() -> str:
        work.prepare(before)
        work.change(before)
        return rebuild(work, before, fresh)

    _, problem = in_a_fork(prepare)
    assert not problem, problem
    step, died = first, True
    while died:
        shutil.copytree(before, root)
        died, problem = in_a_fork(lambda: work_until(work, root, step))  # noqa: B023
        if not problem:
            _, problem = in_a_fork(lambda: start_again(work, root, fresh))
        print(json.dumps({"step": step, "died": died, "problem": problem}), flush=True)
        shutil.rmtree(root)
        step += stride


if __name__ == "__main__":
    lives(Path(sys.argv[1]), WORKS[sys.argv[2]](), int(sys.argv[3]), int(sys.argv[4]))
