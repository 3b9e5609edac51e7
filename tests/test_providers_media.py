"""Images and sound beside text: what the Gemini model is sent, and which files it does not take."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.embedding.multimodal import (
    MOST_MEDIA_BYTES,
    MediaItem,
    media_embedder,
    media_hash,
    media_label,
    media_problem,
    mime_type_of,
)
from core.errors import EmbeddingError, InputTooLarge, ProviderUnavailable
from core.settings import Settings, settings_of
from tests.provider_server import Answer, ProviderServer, provider_server, remote, unit
from tests.workbench import WordEmbedder

PICTURE = b"\x89PNG\r\n\x1a\nnot much of a picture"


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider_server() as running:
        yield running


def item_of(path: Path, data: bytes = PICTURE) -> MediaItem:
    path.write_bytes(data)
    label = media_label("image", path.name)
    return MediaItem(label, "image/png", hashlib.sha256(data).hexdigest(), path.read_bytes)


def gemini(server: ProviderServer) -> object:
    return remote(server, "gemini", model="gemini-embedding-2-preview", output_dimensionality=8)


def test_a_picture_is_sent_with_its_label(server: ProviderServer, tmp_path: Path) -> None:
    embedder = media_embedder(gemini(server))  # type: ignore[arg-type]
    assert embedder is not None
    (made,) = embedder.embed_media([item_of(tmp_path / "cat.png")])
    embedder.close()  # type: ignore[attr-defined]

    (seen,) = server.seen
    data = base64.b64encode(PICTURE).decode()
    assert seen.path == "/v1beta/models/gemini-embedding-2-preview:embedContent"
    assert seen.body.decode() == (
        '{"model":"models/gemini-embedding-2-preview","content":{"parts":[{"text":"Image file: cat.png"},{"inlineData":'
        f'{{"mimeType":"image/png","data":"{data}"}}}}]}},"outputDimensionality":8}}'
    )
    np.testing.assert_allclose(made, unit("Image file: cat.png"), atol=1e-6)


def test_a_file_that_cannot_be_had_is_refused_alone(server: ProviderServer, tmp_path: Path) -> None:
    embedder = media_embedder(gemini(server))  # type: ignore[arg-type]
    assert embedder is not None
    gone = item_of(tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    changed = item_of(tmp_path / "changed.png")
    (tmp_path / "changed.png").write_bytes(b"another picture")
    huge = item_of(tmp_path / "huge.png", b"x" * (MOST_MEDIA_BYTES + 1))
    outcomes = embedder.embed_media([gone, changed, huge, item_of(tmp_path / "cat.png")])
    embedder.close()  # type: ignore[attr-defined]

    assert "cannot be read: No such file" in str(outcomes[0])
    assert "changed after it was indexed" in str(outcomes[1])
    assert isinstance(outcomes[2], InputTooLarge)
    assert isinstance(outcomes[3], np.ndarray)
    assert len(server.seen) == 1


def test_a_kind_that_the_provider_does_not_take_is_refused_alone(server: ProviderServer, tmp_path: Path) -> None:
    server.then(Answer({"error": {"message": "Unsupported MIME type: image/heic"}}, 400))
    embedder = media_embedder(gemini(server))  # type: ignore[arg-type]
    assert embedder is not None
    outcomes = embedder.embed_media([item_of(tmp_path / "a.heic"), item_of(tmp_path / "b.png")])
    embedder.close()  # type: ignore[attr-defined]

    assert isinstance(outcomes[0], EmbeddingError)
    assert "Unsupported MIME type" in str(outcomes[0])
    assert isinstance(outcomes[1], np.ndarray)


def test_files_made_before_a_failure_are_not_sent_again(server: ProviderServer, tmp_path: Path) -> None:
    server.then(lambda seen: None, Answer({"error": {"message": "no"}}, 401))
    embedder = media_embedder(gemini(server))  # type: ignore[arg-type]
    assert embedder is not None
    items = [item_of(tmp_path / "a.png", b"one"), item_of(tmp_path / "b.png", b"two")]
    with pytest.raises(ProviderUnavailable):
        embedder.embed_media(items)
    outcomes = embedder.embed_media(items)
    embedder.close()  # type: ignore[attr-defined]

    assert [seen.texts[0] for seen in server.seen] == [items[0].label, items[1].label, items[1].label]
    assert not [outcome for outcome in outcomes if isinstance(outcome, EmbeddingError)]


def test_a_files_hash_covers_name_type_and_content() -> None:
    base = ("Image file: a.png", "image/png", "00")
    others = [("Image file: b.png", *base[1:]), (base[0], "image/gif", base[2]), (*base[:2], "01")]

    assert len({media_hash(*base), *(media_hash(*other) for other in others)}) == 4
    assert media_hash(*base) != hashlib.sha256(base[0].encode()).digest()


@pytest.mark.parametrize(
    ("path", "mime"),
    [("/x/a.PNG", "image/png"), ("b.jpeg", "image/jpeg"), ("c.m4a", "audio/mp4"), ("d.md", None), ("png", None)],
)
def test_types_follow_the_names_ending(path: str, mime: str | None) -> None:
    assert mime_type_of(path) == mime


def test_only_one_family_of_models_takes_files(server: ProviderServer) -> None:
    first = remote(server, "gemini")

    assert media_embedder(first) is None
    assert media_embedder(WordEmbedder()) is None
    assert media_embedder(None) is None


def test_why_files_are_not_embedded_is_said(server: ProviderServer) -> None:
    wanted = settings_of({"multimodal": {"enabled": True}, "fallback": "none"})
    standby = settings_of({"multimodal": {"enabled": True}, "fallback": "local"})
    good = gemini(server)

    assert media_problem(Settings(), None) is None
    assert media_problem(wanted, good) is None  # type: ignore[arg-type]
    assert "gemini-embedding-2-preview" in (media_problem(wanted, WordEmbedder()) or "")
    assert "fallback" in (media_problem(standby, good) or "")  # type: ignore[arg-type]
