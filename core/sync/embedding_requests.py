"""What waits for a vector, made into requests: texts of like length together, images and sound by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from core.chunking import embedding_text
from core.embedding.base import Embedder
from core.records import record
from core.sources.rules import media_kind
from core.store.embedding_queue import QueuedChunk
from core.sync.embedding_pool import Embed

REQUEST_ROWS = 32
"""Texts per request to the pool: about two seconds of a local model, so that progress and cancel stay near."""
REQUEST_FILES = 4

Item = TypeVar("Item")

ReadMedia = Callable[[str], bytes]
"""The bytes of a document by its path. Raises OSError."""


@record(frozen=True, slots=True)
class Request:
    """Work for the pool: `embed` gives one outcome for each hash."""

    hashes: tuple[bytes, ...]
    embed: Embed


def is_media(queued: QueuedChunk) -> bool:
    """Whether the chunk stands for an image or a recording, whose text is only its label."""
    return media_kind(queued.path) is not None


def texts_of(rows: Sequence[QueuedChunk]) -> dict[bytes, str]:
    """What the embedder gets of the chunks that are text, by hash."""
    return {queued.embed_hash: embedding_text(queued.chunk) for queued in rows if not is_media(queued)}


def requests_of(
    rows: Sequence[QueuedChunk], embedder: Embedder, read_media: ReadMedia | None
) -> tuple[list[Request], dict[bytes, str]]:
    """Requests for these chunks, and by hash why some get no vector from this embedder."""
    texts = sorted(texts_of(rows).items(), key=lambda item: len(item[1]))
    size = min(REQUEST_ROWS, embedder.limits.batch_items)
    requests = [
        Request(tuple(key for key, _ in part), partial(embedder.embed_documents, [text for _, text in part]))
        for part in _parts(texts, size)
    ]
    files = {queued.embed_hash: queued for queued in rows if is_media(queued)}
    if not files:
        return requests, {}
    from core.embedding.multimodal import NO_MEDIA, MediaItem, media_embedder, mime_type_of

    media = media_embedder(embedder)
    if media is None or read_media is None:
        return requests, dict.fromkeys(files, NO_MEDIA)
    for part in _parts(list(files.items()), REQUEST_FILES):
        items = [
            MediaItem(
                queued.chunk.text,
                mime_type_of(queued.path) or "",
                queued.document_hash,
                partial(read_media, queued.path),
            )
            for _, queued in part
        ]
        requests.append(Request(tuple(key for key, _ in part), partial(media.embed_media, items)))
    return requests, {}


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
