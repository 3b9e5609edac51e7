"""Images and sound: what the intake hands over, and the one provider that can embed it beside text."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal, Protocol, runtime_checkable

from core.embedding.base import Embedder, Vector, normalised
from core.embedding.failures import Rejected
from core.embedding.gemini import DOCUMENT_TASK, GeminiWire
from core.embedding.http import Request
from core.embedding.openai import body
from core.embedding.remote import DOCUMENT_PATIENCE_SECONDS, REPLY_BYTES, RemoteEmbedder
from core.embedding.threads import raise_if_cancelled
from core.errors import EmbeddingError, InputTooLarge
from core.records import record
from core.settings import Settings

MOST_MEDIA_BYTES = 14_000_000
"""A request may have 20 MB, and base64 makes four bytes of three."""

NO_MEDIA = 'images and sound need provider = "gemini" and model = "gemini-embedding-2-preview"; their names are found'
"""What is said of a file that the embedder in force does not take."""

MIME_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".opus": "audio/opus",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".flac": "audio/flac",
}


@record(frozen=True, slots=True)
class MediaItem:
    """A file to embed. `label` is its chunk's text; `sha256` (hex) is of the bytes that were indexed.

    `read` gives the bytes again, on the thread that embeds; it raises OSError.
    """

    label: str
    mime_type: str
    sha256: str
    read: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def key(self) -> bytes:
        """The embedding hash of the file's chunk."""
        return media_hash(self.label, self.mime_type, self.sha256)


@runtime_checkable
class MediaEmbedder(Protocol):
    """An embedder that takes images and sound too."""

    def embed_media(
        self, items: Sequence[MediaItem], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        """Like `embed_documents`, for files."""
        ...


def media_label(kind: Literal["image", "audio"], path: str) -> str:
    """The text of a file's one chunk: what words find of it."""
    return f"{kind.capitalize()} file: {path}"


def media_hash(label: str, mime_type: str, sha256: str) -> bytes:
    """The embedding hash of a file: sha256 of label, type and content, never that of a text."""
    return hashlib.sha256("\0".join(("media", label, mime_type, sha256)).encode("utf-8", "surrogatepass")).digest()


def mime_type_of(path: str) -> str | None:
    """The type of an image or a recording by the name's ending."""
    name = path.rpartition("/")[2]
    return MIME_TYPES.get(f".{name.rpartition('.')[2].lower()}") if "." in name else None


def media_embedder(embedder: Embedder | None) -> MediaEmbedder | None:
    """The embedder itself if it takes files."""
    return embedder if isinstance(embedder, MediaEmbedder) else None


def media_problem(settings: Settings, embedder: Embedder | None) -> str | None:
    """Why files are not embedded although `multimodal.enabled` is set; None if they are, or are not wanted."""
    if not settings.multimodal.enabled:
        return None
    if media_embedder(embedder) is None:
        return NO_MEDIA
    if settings.fallback != "none":
        return f"images and sound have no fallback: without gemini, {settings.fallback} would embed text alone"
    return None


class GeminiMediaEmbedder(RemoteEmbedder):
    """A Gemini model whose vectors of images, sound and text lie in one space."""

    wire: GeminiWire

    def embed_media(
        self, items: Sequence[MediaItem], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        """One request a file: its label and its bytes. Raises EmbeddingError when the provider failed."""
        outcomes: list[Vector | EmbeddingError] = []
        made: dict[str, Vector | EmbeddingError] = {}
        try:
            for item in items:
                raise_if_cancelled(cancel)
                name = f"\0media {item.key.hex()}"
                kept = self._take_kept([name]).get(name)
                made[name] = kept if kept is not None else self._embed_file(item, cancel)
                outcomes.append(made[name])
        except EmbeddingError:
            self._keep(made)
            raise
        return outcomes

    def _embed_file(self, item: MediaItem, cancel: threading.Event | None) -> Vector | EmbeddingError:
        try:
            data = item.read()
        except OSError as error:
            return EmbeddingError(f"cannot be read: {error.strerror or error}")
        if len(data) > MOST_MEDIA_BYTES:
            return InputTooLarge(f"{len(data)} bytes are more than {self.asker.to.name} takes ({MOST_MEDIA_BYTES})")
        if hashlib.sha256(data).hexdigest() != item.sha256:
            return EmbeddingError("the file changed after it was indexed")
        content = {"mimeType": item.mime_type, "data": base64.b64encode(data).decode()}
        value = self.wire.request([{"text": item.label}, {"inlineData": content}], DOCUMENT_TASK)
        try:
            rows = self.asker.ask(
                Request(f"{self.wire.place}:embedContent", body(value)),
                lambda reply: self.wire.rows(reply, 1),
                timeout=self.seconds.documents,
                most_bytes=REPLY_BYTES,
                patience=DOCUMENT_PATIENCE_SECONDS,
                cancel=cancel,
            )
            return normalised(rows[0], self._dims)
        except Rejected as error:
            return InputTooLarge(str(error)) if error.about_size else EmbeddingError(str(error))
        except EmbeddingError as error:
            if error.retryable or type(error) is not EmbeddingError:
                raise
            return error
