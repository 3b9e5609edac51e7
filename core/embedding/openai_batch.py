"""OpenAI's Batch API: a file of requests, a batch over it, a file of replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from core.embedding.asking import Asker
from core.embedding.base import Vector
from core.embedding.batch import BatchLook, BatchState, posted_once
from core.embedding.failures import parsed
from core.embedding.http import Request
from core.embedding.openai import OpenAIWire, body, data_rows
from core.embedding.remote import DOCUMENT_PATIENCE_SECONDS, REPLY_BYTES, REPLY_BYTES_FOR_EACH, RemoteEmbedder
from core.errors import BadVector, EmbeddingError

ENDPOINT = "/v1/embeddings"
_TOKEN = "memdeck"
"""The key of a batch's metadata under which our token stands."""
_MOST_PAGES = 5
_BOUNDARY = "memdeck-6f1c0b5d2a9e4837"
_STATES: Mapping[str, BatchState] = {
    "failed": "failed",
    "expired": "failed",
    "cancelled": "failed",
    "completed": "done",
}


class OpenAIBatches:
    """One line a text, its hash as `custom_id`. A batch takes 50,000 inputs and 200 MB; less keeps replies small."""

    name = "openai"
    most_items = 1000
    most_bytes = 20_000_000

    def __init__(self, embedder: RemoteEmbedder, wire: OpenAIWire) -> None:
        self._embedder = embedder
        self._asker: Asker = embedder.asker
        self._wire = wire

    @property
    def most_text_bytes(self) -> int:
        return self._embedder.limits.item_bytes or self.most_bytes

    def submit(self, texts: Mapping[str, str], token: str, cancel: threading.Event) -> str:
        lines = [
            {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": self._wire.document_body([text])}
            for name, text in texts.items()
        ]
        upload = _upload(b"\n".join(body(line) for line in lines), _file_name(token))
        file_id = self._made(upload, lambda: self._file(token, cancel), cancel)
        order = {
            "input_file_id": file_id,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {_TOKEN: token},
        }
        try:
            return self._made(Request("/batches", body(order)), lambda: self.find(token, cancel), cancel)
        except EmbeddingError:
            self._delete(file_id, cancel)
            raise

    def find(self, token: str, cancel: threading.Event) -> str | None:
        after = ""
        for _ in range(_MOST_PAGES):
            page = self._ask(Request("/batches", method="GET", query=f"limit=100{after}"), cancel)
            batches = _listed(page)
            for batch in batches:
                metadata = batch.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_TOKEN) == token and batch.get("id"):
                    return str(batch["id"])
            if page.get("has_more") is not True or not batches:
                break
            after = f"&after={quote(str(batches[-1].get('id')), safe='')}"
        return None

    def abandon(self, token: str, cancel: threading.Event) -> None:
        file_id = self._file(token, cancel)
        if file_id is not None:
            self._delete(file_id, cancel)

    def look(self, batch_id: str, cancel: threading.Event) -> BatchLook:
        batch = self._ask(Request(f"/batches/{quote(batch_id, safe='')}", method="GET"), cancel)
        state: BatchState = _STATES.get(str(batch.get("status")), "running")
        files = tuple(str(batch.get(key) or "") for key in ("input_file_id", "output_file_id", "error_file_id"))
        if state == "failed" and files[1]:
            state = "done"  # what was ready before it expired
        return BatchLook(state, self._asker.to.cleaned(_why(batch)), files)

    def results(self, batch_id: str, look: BatchLook, cancel: threading.Event) -> dict[str, Vector | EmbeddingError]:
        found: dict[str, Vector | EmbeddingError] = {}
        for file_id in look.where[1:]:
            if file_id:
                for line in self._lines(file_id, cancel):
                    self._take(line, found)
        return found

    def discard(self, batch_id: str, look: BatchLook | None, cancel: threading.Event) -> None:
        look = look or self.look(batch_id, cancel)
        if look.state == "running":
            self._ask(Request(f"/batches/{quote(batch_id, safe='')}/cancel"), cancel)
        for file_id in look.where:
            if file_id:
                self._delete(file_id, cancel)

    def _file(self, token: str, cancel: threading.Event) -> str | None:
        """The id of the file that was uploaded with this token, among the newest."""
        request = Request("/files", method="GET", query="purpose=batch&limit=100&order=desc")
        for file in _listed(self._ask(request, cancel)):
            if file.get("filename") == _file_name(token) and file.get("id"):
                return str(file["id"])
        return None

    def _made(self, request: Request, find: Callable[[], str | None], cancel: threading.Event) -> str:
        """The id of what a request makes, once, though its reply may be lost."""

        def post() -> str:
            seconds = self._embedder.seconds.documents
            reply = parsed(self._asker.send(request, timeout=seconds, most_bytes=REPLY_BYTES, cancel=cancel))
            value = reply.get("id") if isinstance(reply, dict) else None
            if not isinstance(value, str) or not value:
                raise EmbeddingError("openai took a batch and named it not", retryable=reply is None)
            return value

        return posted_once(self._asker, post, find, patience=DOCUMENT_PATIENCE_SECONDS, cancel=cancel)

    def _ask(self, request: Request, cancel: threading.Event) -> dict[str, object]:
        value = self._asker.ask(
            request,
            lambda reply: reply,
            timeout=self._embedder.seconds.documents,
            most_bytes=REPLY_BYTES,
            patience=DOCUMENT_PATIENCE_SECONDS,
            cancel=cancel,
        )
        if not isinstance(value, dict):
            raise EmbeddingError("openai answered about a batch in an unknown way")
        return value

    def _delete(self, file_id: str, cancel: threading.Event) -> None:
        self._ask(Request(f"/files/{quote(file_id, safe='')}", method="DELETE"), cancel)

    def _lines(self, file_id: str, cancel: threading.Event) -> Iterator[dict[str, object]]:
        request = Request(f"/files/{quote(file_id, safe='')}/content", method="GET")
        most = REPLY_BYTES + self.most_items * REPLY_BYTES_FOR_EACH
        seconds = self._embedder.seconds.documents
        content = self._asker.insist(
            lambda: self._asker.send(request, timeout=seconds, most_bytes=most, cancel=cancel),
            patience=DOCUMENT_PATIENCE_SECONDS,
            cancel=cancel,
        )
        for line in content.splitlines():
            value = parsed(line)
            if isinstance(value, dict):
                yield value

    def _take(self, line: dict[str, object], found: dict[str, Vector | EmbeddingError]) -> None:
        """The outcome of one line; none where a later request may do better."""
        name, response = line.get("custom_id"), line.get("response")
        if not isinstance(name, str) or name in found or not isinstance(response, dict):
            return
        status, reply = response.get("status_code"), response.get("body")
        if status == 200:
            try:
                found[name] = self._embedder.vectors(data_rows(reply, 1))[0]
            except EmbeddingError as error:
                found[name] = BadVector(str(error))
        elif status in (400, 413, 422):
            words = self._asker.to.cleaned(json.dumps(reply, ensure_ascii=False))
            found[name] = EmbeddingError(f"openai rejects the text ({status}): {words}")


def _upload(content: bytes, name: str) -> Request:
    head = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    form = head.encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
    return Request("/files", form, content_type=f"multipart/form-data; boundary={_BOUNDARY}")


def _file_name(token: str) -> str:
    return f"memdeck-{token}.jsonl"


def _listed(page: dict[str, object]) -> list[dict[str, object]]:
    data = page.get("data")
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _why(batch: dict[str, object]) -> str:
    """What the provider says of a batch that went wrong."""
    errors = batch.get("errors")
    listed = errors.get("data") if isinstance(errors, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    said = first.get("message") if isinstance(first, dict) else None
    return str(said) if said else str(batch.get("status") or "")
