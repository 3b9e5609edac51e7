"""An index of transcripts that grow, for tests: files are written by bytes, and read as they are then."""

from __future__ import annotations

import json
import random
from pathlib import Path

from core.settings import settings_of
from core.store.database import Database
from core.store.documents import Documents
from core.sync.growth import (
    StoredSessions,
    details_of,
)
from core.sync.session_intake import SessionDocument, SessionIntake
from core.text.tokens import TokenCounter

COUNTER = TokenCounter()
SAMPLES = Path(__file__).parent / "fixtures" / "transcripts"
FILES = {
    "claude-code": ".claude/projects/-w/sess-0001.jsonl",
    "pi": ".pi/agent/sessions/--w--/2026-11-03T09-10-00-000Z_s1.jsonl",
    "codex": ".codex/sessions/2026/11/03/rollout-2026-11-03T10-10-00-019a4c01-2222-7333-8444-555566667777.jsonl",
    "openclaw": ".openclaw/agents/main/sessions/abcd.jsonl",
}


class Index:
    """An index that is brought in step with one agent's transcripts, document by document as the worker does it."""

    def __init__(self, home: Path, agent: str, name: str = "index.sqlite", **sessions: object) -> None:
        self.home = home
        self.path = home / name
        self.settings = settings_of({"sessions": {"agents": [agent], **sessions}})
        self.database = Database.open(self.path, vector_extension=False)
        self.documents = Documents(self.database)
        self.resumed = 0
        self.restart()

    def restart(self) -> None:
        """Go on with nothing in memory."""
        self.intake = SessionIntake(
            self.settings, home=self.home, environ={}, counter=COUNTER, index=StoredSessions(self.path)
        )

    def sync(self) -> None:
        files = list(self.intake.scan().files)
        while files:
            file = files.pop()
            row = self.documents.stat_keys("sessions").get(("sessions", file.path))
            document = self.intake.read(file)
            assert isinstance(document, SessionDocument)
            self.resumed += document.base != ""
            if document.is_partial:
                files.append(file)
            with self.database.transaction():
                is_same = row is not None and row.hash == document.hash and row.build == self.intake.build
                if is_same and not document.is_partial:
                    self.documents.touch("sessions", file.path, document.stat, 1)
                    continue
                prepared = self.intake.prepare(document)
                self.outcome = self.documents.replace(
                    prepared.document,
                    prepared.chunks,
                    build=self.intake.build,
                    scanned_ns=1,
                    now_ms=1,
                    embed_hashes=prepared.embed_hashes,
                    kept=prepared.kept,
                )

    def rows(self) -> tuple[object, ...]:
        """All that the index holds, without the ids of its rows."""
        return (
            self.database.rows(
                "SELECT path, absolute, hash, build, size, lines, chunks, date_ms, warning, dialect, title, details "
                "FROM files ORDER BY path"
            ),
            self.database.rows(
                "SELECT ordinal, start_line, end_line, heading, text, embed_hash, line_map, observed_ms, "
                "observed_from_ms FROM chunks ORDER BY file_id, ordinal"
            ),
        )

    def texts(self) -> list[str]:
        return [str(row[0]) for row in self.database.rows("SELECT text FROM chunks ORDER BY file_id, ordinal")]

    def chunk_ids(self) -> list[int]:
        return self.database.numbers("SELECT id FROM chunks ORDER BY file_id, ordinal")

    @property
    def details(self) -> dict[str, object]:
        return details_of(str(self.database.value("SELECT details FROM files")))

    def close(self) -> None:
        self.database.close()


def user(text: str, number: int = 0) -> str:
    message = {"role": "user", "content": text}
    return json.dumps({"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message}) + "\n"


WORDS = ["kiln", "ramp", "ki", "glaze", "会议室", "cone-6", "API_KEY=sk-proj-abcdefghijklmnop123", "`code`", "é"]


def some_text(chance: random.Random) -> str:
    return " ".join(f"{chance.choice(WORDS)}{chance.randrange(30)}" for _ in range(chance.choice([2, 20, 150, 400])))


def claude_record(chance: random.Random, number: int) -> str:
    common = {"sessionId": "s", "uuid": f"u{number}", "cwd": "/w", "timestamp": f"2026-11-03T09:{number % 60:02}:01Z"}
    kind = chance.choice(["user", "assistant", "assistant", "result", "skip", "bad", "blank", "title", "unknown"])
    text = some_text(chance)
    if kind == "user":
        return json.dumps({**common, "type": "user", "message": {"role": "user", "content": text}})
    if kind == "assistant":
        message = {"id": f"m{number // 3}", "content": [{"type": "text", "text": text}]}
        return json.dumps({**common, "type": "assistant", "message": message}, ensure_ascii=False)
    if kind == "result":
        return json.dumps(
            {**common, "type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}}
        )
    if kind == "skip":
        return json.dumps({**common, "type": "attachment", "attachment": {"type": "prompt_snapshot"}})
    if kind == "title":
        return json.dumps({"type": "custom-title", "customTitle": text})
    return {"bad": '{"a":1}{"b":2}', "blank": "", "unknown": json.dumps({"type": f"new{number % 3}"})}[kind]


def tree_record(chance: random.Random, number: int) -> str:
    if number == 0:
        return json.dumps({"type": "session", "id": "s", "timestamp": "2026-11-03T09:10:00Z", "cwd": "/w"})
    parent: str | None = f"e{number - 1}" if number > 1 else None
    if chance.random() < 0.06:
        parent = chance.choice([f"e{chance.randrange(number)}", None, "lost"])
    kind = chance.choice(["user", "assistant", "toolResult", "compaction", "custom", "bad"])
    common = {"id": f"e{number}", "parentId": parent, "timestamp": f"2026-11-03T09:{number % 60:02}:01Z"}
    if kind == "bad":
        return "oops{"
    if kind in ("compaction", "custom"):
        return json.dumps({**common, "type": kind, "summary": some_text(chance)})
    message = {"role": kind, "toolCallId": "c", "content": [{"type": "text", "text": some_text(chance)}]}
    return json.dumps({**common, "type": "message", "message": message}, ensure_ascii=False)


def codex_record(chance: random.Random, number: int) -> str:
    kind = chance.choice(["user", "assistant", "user_message", "agent_message", "call"])
    payload: dict[str, object] = {"type": kind, "message": some_text(chance)}
    top = "event_msg"
    if kind in ("user", "assistant"):
        top = "response_item"
        block = {"type": "input_text" if kind == "user" else "output_text", "text": some_text(chance)}
        payload = {"type": "message", "role": kind, "content": [block]}
    elif kind == "call":
        top, payload = "response_item", {"type": "function_call", "name": "exec", "arguments": "{}"}
    return json.dumps({"timestamp": f"2026-11-03T09:{number % 60:02}:01Z", "type": top, "payload": payload})
