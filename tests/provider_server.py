"""A real HTTP server on 127.0.0.1 that plays the embedding providers, well or badly."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMS = 8


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came in; `at` is monotonic seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def texts(self) -> list[str]:
        """The texts of an embedding request, in any provider's shape."""
        value = self.json
        if "input" in value:
            return [value["input"]] if isinstance(value["input"], str) else list(value["input"])
        contents = [one["content"] for one in value["requests"]] if "requests" in value else [value["content"]]
        return ["".join(part.get("text", "") for part in content["parts"]) for content in contents]


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send. `cut` closes the connection after so many bytes of the body; `drip` seconds lie between bytes."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: int | None = None
    drip: float = 0.0
    packed: bool = False

    @property
    def data(self) -> bytes:
        data = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return gzip.compress(data) if self.packed else data


Rule = Callable[[Seen], Answer | None]


def vector_of(text: str, dims: int = DIMS) -> list[float]:
    """The vector that the server has for a text, not normalised."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
    return [float(number) * 3 for number in np.random.default_rng(seed).standard_normal(dims)]


def unit(text: str, dims: int = DIMS) -> np.ndarray:
    """That vector at length 1."""
    vector = np.asarray(vector_of(text, dims))
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class ProviderServer:
    """`then` answers the next requests, one each; after them `rule`, and where that says None, the provider played."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.rule: Rule | None = None
        self.dims = DIMS
        self.batch_looks = 1
        """How often a batch is still running when it is looked at."""
        self.batch_ends: str | None = None
        """How batches end in place of well: failed, expired."""
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.page = 100
        """How many batches a page of a list holds."""
        self.batches: dict[str, dict[str, Any]] = {}
        self.cancelled: list[str] = []
        self.deleted: list[str] = []
        self._script: deque[Answer | Rule] = deque()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def then(self, *answers: Answer | Rule) -> None:
        with self._lock:
            self._script.extend(answers)

    def embedded(self) -> list[str]:
        """Every text that was asked for, in order."""
        return [text for seen in list(self.seen) for text in seen.texts]

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, seen: Seen) -> Answer:
        with self._lock:
            self.seen.append(seen)
            scripted = self._script.popleft() if self._script else None
        if scripted is not None:
            found = scripted if isinstance(scripted, Answer) else scripted(seen)
            if found is not None:
                return found
        ruled = self.rule(seen) if self.rule is not None else None
        return ruled if ruled is not None else self.play(seen)

    def play(self, seen: Seen) -> Answer:
        """What the provider answers that lives at the path."""
        path = seen.path
        if path.endswith("/embeddings"):
            return Answer(openai_reply(seen.texts, self.dims))
        if path == "/api/embed":
            rows = [vector_of(text, self.dims) for text in seen.texts]
            return Answer({"model": seen.json["model"], "embeddings": rows, "total_duration": 1})
        if path.endswith(":batchEmbedContents"):
            return Answer({"embeddings": [{"values": vector_of(text, self.dims)} for text in seen.texts]})
        if path.endswith(":embedContent"):
            return Answer({"embedding": {"values": vector_of(seen.texts[0], self.dims)}})
        if path.endswith(":asyncBatchEmbedContent"):
            return self._take_gemini(seen)
        if seen.method == "GET" and path.partition("?")[0].endswith(("/batches", "/files")):
            return self._listed(path)
        if "/v1beta/batches/" in path:
            return self._gemini_batch(seen)
        if path.endswith("/files") or "/files/" in path:
            return self._file(seen)
        if path.endswith("/batches") or "/batches/" in path:
            return self._openai_batch(seen)
        return Answer({"error": {"message": f"no such path: {path}"}}, 404)

    def _listed(self, path: str) -> Answer:
        """A page of what there is, the newest first."""
        place, _, query = path.partition("?")
        asked = dict(part.split("=") for part in query.split("&"))
        if place.endswith("/files"):
            files = [{"id": name, "object": "file", "filename": self.names.get(name)} for name in reversed(self.files)]
            return Answer({"object": "list", "data": files, "has_more": False})
        gemini = "/v1beta/" in place
        size = min(self.page, int(asked["pageSize" if gemini else "limit"]))
        names = list(reversed(self.batches))
        after = asked.get("pageToken" if gemini else "after", "").replace("%2F", "/")
        begin = names.index(after) + 1 if after else 0
        shown = names[begin : begin + size]
        more = names[begin + size :]
        if gemini:
            found = [
                {"name": name, "metadata": {"displayName": self.batches[name]["name"], "state": "BATCH_STATE_RUNNING"}}
                for name in shown
            ]
            return Answer({"operations": found, **({"nextPageToken": shown[-1]} if more else {})})
        listed = [{"id": name, "object": "batch", "metadata": self.batches[name].get("metadata")} for name in shown]
        return Answer({"object": "list", "data": listed, "has_more": bool(more)})

    # -- OpenAI's files and batches

    def _file(self, seen: Seen) -> Answer:
        if seen.method == "POST":
            name = f"file-{len(self.files) + 1}"
            self.names[name] = seen.body.split(b'filename="', 1)[1].split(b'"', 1)[0].decode()
            self.files[name] = seen.body.split(b"\r\n\r\n", 2)[2].rpartition(b"\r\n--")[0]
            return Answer({"id": name, "object": "file", "purpose": "batch"})
        name = seen.path.split("/files/")[1].removesuffix("/content")
        if seen.method == "DELETE":
            self.files.pop(name, None)
            self.deleted.append(name)
            return Answer({"id": name, "object": "file", "deleted": True})
        return Answer(self.files[name]) if name in self.files else Answer({"error": {"message": "no such file"}}, 404)

    def _openai_batch(self, seen: Seen) -> Answer:
        if seen.path.endswith("/batches"):
            name = f"batch_{len(self.batches) + 1}"
            self.batches[name] = {"looks": 0, **seen.json}
            return Answer({"id": name, "object": "batch", "status": "validating", **seen.json})
        name = seen.path.split("/batches/")[1]
        if name.endswith("/cancel"):
            self.cancelled.append(name.removesuffix("/cancel"))
            return Answer({"id": name.removesuffix("/cancel"), "status": "cancelling"})
        batch = self.batches.get(name)
        if batch is None:
            return Answer({"error": {"message": "no such batch"}}, 404)
        batch["looks"] += 1
        known = {"id": name, "object": "batch", "input_file_id": batch["input_file_id"]}
        if batch["looks"] <= self.batch_looks:
            return Answer({**known, "status": "in_progress"})
        if self.batch_ends is not None:
            return Answer({**known, "status": self.batch_ends, "errors": {"data": [{"message": "it went wrong"}]}})
        output = f"{name}-output"
        self.files.setdefault(output, self.openai_output(self.files[batch["input_file_id"]]))
        return Answer({**known, "status": "completed", "output_file_id": output, "error_file_id": None})

    def openai_output(self, lines: bytes) -> bytes:
        """The output file of a batch, in another order than its input."""
        replies = []
        for line in reversed(lines.splitlines()):
            order = json.loads(line)
            reply = {"status_code": 200, "request_id": "r", "body": openai_reply(order["body"]["input"], self.dims)}
            replies.append({"id": "x", "custom_id": order["custom_id"], "response": reply, "error": None})
        return "\n".join(json.dumps(reply) for reply in replies).encode() + b"\n"

    # -- Gemini's batches

    def _take_gemini(self, seen: Seen) -> Answer:
        name = f"batches/b{len(self.batches) + 1}"
        requests = seen.json["batch"]["inputConfig"]["requests"]["requests"]
        self.batches[name] = {"looks": 0, "requests": requests, "name": seen.json["batch"]["displayName"]}
        return Answer({"name": name, "metadata": {"state": "BATCH_STATE_PENDING"}})

    def _gemini_batch(self, seen: Seen) -> Answer:
        name = seen.path.split("/v1beta/")[1]
        if name.endswith(":cancel"):
            self.cancelled.append(name.removesuffix(":cancel"))
            return Answer({})
        if seen.method == "DELETE":
            self.deleted.append(name)
            return Answer({})
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["looks"] <= self.batch_looks:
            return Answer({"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}})
        if self.batch_ends is not None:
            return Answer({"name": name, "done": True, "error": {"code": 13, "message": "it went wrong"}})
        replies = []
        for one in batch["requests"]:
            text = one["request"]["content"]["parts"][0]["text"]
            values = {"embedding": {"values": vector_of(text, self.dims)}}
            replies.append({"metadata": one["metadata"], "response": values})
        state = {"state": "BATCH_STATE_SUCCEEDED"}
        inlined = {"inlinedResponses": {"inlinedResponses": replies}}
        return Answer({"name": name, "done": True, "metadata": state, "response": inlined})

    # -- HTTP

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def handle_one_request(self) -> None:
                with suppress(ConnectionError):
                    super().handle_one_request()
                    return
                self.close_connection = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(server.answer(Seen(self.command, self.path, headers, body, time.monotonic())))

            do_GET = do_DELETE = do_POST  # noqa: N815

            def _send(self, answer: Answer) -> None:
                if server._closing.wait(answer.wait):
                    return
                data = answer.data
                self.send_response_only(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                if answer.packed:
                    self.send_header("content-encoding", "gzip")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if answer.drip:
                    for byte in data:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        if server._closing.wait(answer.drip):
                            return
                else:
                    self.wfile.write(data[: answer.cut])
                    self.wfile.flush()
                if answer.cut is not None:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler


def openai_reply(texts: list[str], dims: int = DIMS) -> dict[str, Any]:
    """OpenAI's reply to these texts."""
    rows = [
        {"object": "embedding", "index": index, "embedding": vector_of(text, dims)} for index, text in enumerate(texts)
    ]
    return {"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@contextmanager
def provider_server() -> Iterator[ProviderServer]:
    server = ProviderServer()
    try:
        yield server
    finally:
        server.close()


KEY = "sk-test-0123456789abcdef"


def remote(server: ProviderServer, provider: str = "openai", **values: object) -> Any:
    """The embedder of a provider that lives on the server; `values` are further settings."""
    from core.embedding.providers import make_remote
    from core.settings import settings_of

    settings = {"provider": provider, **({"model": "m"} if provider == "openai-compatible" else {}), **values}
    own: dict[str, Any] = {"remote": {}, **settings}
    path = {"gemini": "/v1beta", "ollama": ""}.get(provider, "/v1")
    own["remote"] = {"base_url": server.url + path, **own["remote"]}
    environ = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"), KEY)
    return make_remote(provider, settings_of(own), environ)  # type: ignore[arg-type]


def told(status: int, retry_after: str, **headers: str) -> Answer:
    return Answer({"error": {"message": "slow down"}}, status, {"retry-after": retry_after, **headers})
