"""Gemini's batch API: requests handed over inline, replies in the batch itself."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from urllib.parse import quote

from core.embedding.base import Vector
from core.embedding.batch import BatchLook, BatchState, posted_once
from core.embedding.failures import BadReply, parsed
from core.embedding.gemini import GeminiWire
from core.embedding.http import Request
from core.embedding.openai import body
from core.embedding.remote import DOCUMENT_PATIENCE_SECONDS, REPLY_BYTES, REPLY_BYTES_FOR_EACH, RemoteEmbedder
from core.errors import BadVector, EmbeddingError

_NAME = re.compile(r"batches/[\w.-]+")
_OVER: Mapping[str, BatchState] = {
    "SUCCEEDED": "done",
    "FAILED": "failed",
    "CANCELLED": "failed",
    "EXPIRED": "failed",
}
_MOST_PAGES = 5
_PASSING = frozenset({4, 8, 10, 13, 14})
"""Codes of google.rpc that may pass: deadline, resources, aborted, internal, unavailable."""


class GeminiBatches:
    """`asyncBatchEmbedContent` with at most 20 MB inline; the hash of each text is its `metadata.key`."""

    name = "gemini"
    most_items = 1000
    most_bytes = 8_000_000

    def __init__(self, embedder: RemoteEmbedder, wire: GeminiWire) -> None:
        self._embedder = embedder
        self._asker = embedder.asker
        self._wire = wire

    @property
    def most_text_bytes(self) -> int:
        return self._embedder.limits.item_bytes or self.most_bytes

    def submit(self, texts: Mapping[str, str], token: str, cancel: threading.Event) -> str:
        requests = [{"request": self._wire.document(text), "metadata": {"key": name}} for name, text in texts.items()]
        batch = {
            "model": f"models/{self._wire.model}",
            "displayName": _display_name(token),
            "inputConfig": {"requests": {"requests": requests}},
        }
        request = Request(f"{self._wire.place}:asyncBatchEmbedContent", body({"batch": batch}))

        def post() -> str:
            seconds = self._embedder.seconds.documents
            reply = parsed(self._asker.send(request, timeout=seconds, most_bytes=REPLY_BYTES, cancel=cancel))
            name = reply.get("name") if isinstance(reply, dict) else None
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise EmbeddingError("gemini took a batch and named it not", retryable=reply is None)
            return name

        patience = DOCUMENT_PATIENCE_SECONDS
        return posted_once(self._asker, post, lambda: self.find(token, cancel), patience=patience, cancel=cancel)

    def find(self, token: str, cancel: threading.Event) -> str | None:
        after = ""
        for _ in range(_MOST_PAGES):
            most = REPLY_BYTES + self.most_items * REPLY_BYTES_FOR_EACH  # batches that are done hold their vectors
            page = self._ask(Request("/batches", method="GET", query=f"pageSize=20{after}"), most, cancel)
            listed = page.get("operations")
            for operation in listed if isinstance(listed, list) else ():
                metadata = operation.get("metadata") if isinstance(operation, dict) else None
                if isinstance(metadata, dict) and metadata.get("displayName") == _display_name(token):
                    return _checked(str(operation.get("name")))
            more = page.get("nextPageToken")
            if not more:
                break
            after = f"&pageToken={quote(str(more), safe='')}"
        return None

    def abandon(self, token: str, cancel: threading.Event) -> None:
        """Nothing stays but a batch: the texts come with it."""

    def look(self, batch_id: str, cancel: threading.Event) -> BatchLook:
        operation = self._operation(batch_id, cancel)
        state: BatchState = _OVER.get(_state(operation), "running")
        error = operation.get("error")
        if isinstance(error, dict):
            return BatchLook("failed", self._asker.to.cleaned(str(error.get("message") or error.get("code"))))
        if state == "running" and operation.get("done") is True:
            state = "done"
        return BatchLook(state, _state(operation))

    def results(self, batch_id: str, look: BatchLook, cancel: threading.Event) -> dict[str, Vector | EmbeddingError]:
        found: dict[str, Vector | EmbeddingError] = {}
        for item in _responses(self._operation(batch_id, cancel)):
            metadata = item.get("metadata") if isinstance(item, dict) else None
            name = metadata.get("key") if isinstance(metadata, dict) else None
            if isinstance(name, str) and name not in found:
                self._take(name, item, found)
        return found

    def discard(self, batch_id: str, look: BatchLook | None, cancel: threading.Event) -> None:
        look = look or self.look(batch_id, cancel)
        if look.state == "running":
            self._ask(Request(f"/{_checked(batch_id)}:cancel"), REPLY_BYTES, cancel)
        self._ask(Request(f"/{_checked(batch_id)}", method="DELETE"), REPLY_BYTES, cancel)

    def _operation(self, batch_id: str, cancel: threading.Event) -> dict[str, object]:
        most = REPLY_BYTES + self.most_items * REPLY_BYTES_FOR_EACH
        return self._ask(Request(f"/{_checked(batch_id)}", method="GET"), most, cancel)

    def _ask(self, request: Request, most_bytes: int, cancel: threading.Event) -> dict[str, object]:
        value = self._asker.ask(
            request,
            lambda reply: reply,
            timeout=self._embedder.seconds.documents,
            most_bytes=most_bytes,
            patience=DOCUMENT_PATIENCE_SECONDS,
            cancel=cancel,
        )
        if not isinstance(value, dict):
            raise EmbeddingError("gemini answered about a batch in an unknown way")
        return value

    def _take(self, name: str, item: dict[str, object], found: dict[str, Vector | EmbeddingError]) -> None:
        """The outcome of one text; none where a later request may do better."""
        error = item.get("error")
        if isinstance(error, dict):
            if error.get("code") not in _PASSING:
                words = self._asker.to.cleaned(str(error.get("message") or ""))
                found[name] = EmbeddingError(f"gemini rejects the text ({error.get('code')}): {words}")
            return
        try:
            found[name] = self._embedder.vectors(self._wire.rows(item.get("response"), 1))[0]
        except BadReply as problem:
            found[name] = BadVector(str(problem))


def _display_name(token: str) -> str:
    return f"memdeck-{token}"


def _checked(batch_id: str) -> str:
    if not _NAME.fullmatch(batch_id):
        raise EmbeddingError("this is no name of a gemini batch")
    return batch_id


def _state(operation: dict[str, object]) -> str:
    """The state without the word before it: PENDING, RUNNING, SUCCEEDED… from wherever the reply has it."""
    for holder in (operation, operation.get("metadata"), operation.get("response")):
        state = holder.get("state") if isinstance(holder, dict) else None
        if isinstance(state, str):
            return state.rpartition("STATE_")[2]
    return ""


def _responses(operation: dict[str, object]) -> list[dict[str, object]]:
    """The inline replies, which stand in the operation's response or in the output of its batch."""
    response, metadata = operation.get("response"), operation.get("metadata")
    holders = [response, operation.get("output")]
    holders += [holder.get("output") for holder in (response, metadata) if isinstance(holder, dict)]
    for holder in holders:
        inlined = holder.get("inlinedResponses") if isinstance(holder, dict) else None
        if isinstance(inlined, dict):
            inlined = inlined.get("inlinedResponses")
        if isinstance(inlined, list):
            return [item for item in inlined if isinstance(item, dict)]
    return []
