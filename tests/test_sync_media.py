"""Images and sound of extra paths under the indexing worker: found by name, and by content where the provider can."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.embedding import asking
from core.embedding.multimodal import NO_MEDIA
from core.settings import settings_of
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities
from core.store.vectors import Vectors
from core.sync.intake import MemoryIntake
from tests.provider_server import Answer, ProviderServer, Seen, provider_server, remote, unit
from tests.workbench import COUNTER, Bench, WordEmbedder, selection_of

PICTURE = b"\x89PNG\r\n\x1a\nnot much of a picture"
SONG = b"ID3 not much of a song"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setattr(asking, "FIRST_BACKOFF_SECONDS", 0.01)
    with provider_server() as running:
        yield running


class Gallery(Bench):
    """A workspace with a folder of pictures and songs beside it."""

    def __init__(self, root: Path, embedder: object, standby: WordEmbedder | None = None, limit: int = 10_000) -> None:
        self.pictures = root / "pictures"
        self.pictures.mkdir(exist_ok=True)
        settings = settings_of(
            {"extra_paths": [str(self.pictures)], "multimodal": {"enabled": True, "max_file_bytes": limit}}
        )
        super().__init__(root, embedder, selection=selection_of(embedder, standby), settings=settings)  # type: ignore[arg-type]

    def put(self, name: str, data: bytes = PICTURE) -> Path:
        path = self.pictures / name
        path.write_bytes(data)
        return path

    def refused(self) -> dict[str, str]:
        with self.reading() as database:
            return {Path(chunk.path).name: chunk.error for chunk in EmbeddingQueue(database).refused()}

    def found(self, query: str) -> list[str]:
        """The paths of the nearest chunks."""
        with self.reading() as database:
            (row,) = Identities(database).live()
            near = Vectors(database, row).search(np.asarray(unit(query)), 1)
            return [
                str(
                    database.value(
                        "SELECT path FROM files JOIN chunks ON files.id = file_id WHERE chunks.id = ?", (key,)
                    )
                )
                for key, _ in near
            ]


@pytest.fixture
def gallery(server: ProviderServer, tmp_path: Path) -> Iterator[Callable[..., Gallery]]:
    made: list[Gallery] = []

    def make(embedder: object = "gemini", **more: object) -> Gallery:
        if embedder == "gemini":
            embedder = remote(server, "gemini", model="gemini-embedding-2-preview", output_dimensionality=8)
        made.append(Gallery(tmp_path, embedder, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.worker.stop()
        one.embedder.close()  # type: ignore[union-attr]


def media_of(seen: Seen) -> tuple[str, str, bytes] | None:
    """Label, type and bytes of a request about a file."""
    parts = seen.json.get("content", {}).get("parts", [])
    if len(parts) != 2:
        return None
    inline = parts[1]["inlineData"]
    return parts[0]["text"], inline["mimeType"], base64.b64decode(inline["data"])


def test_a_picture_and_a_song_get_vectors_of_their_content(
    server: ProviderServer, gallery: Callable[..., Gallery]
) -> None:
    here = gallery()
    here.write("MEMORY.md", "The cat sat on the mat.\n")
    cat, song = here.put("cat.png"), here.put("song.mp3", SONG)
    report = here.sync()

    assert (report.indexed, report.vectors_made, report.vectors_waiting) == (3, 3, 0)
    assert here.vectors() == [("gemini-embedding-2-preview", "active", 3)]
    sent = sorted(media for media in map(media_of, server.seen) if media is not None)
    assert sent == [(f"Audio file: {song}", "audio/mpeg", SONG), (f"Image file: {cat}", "image/png", PICTURE)]
    assert here.found(f"Image file: {cat}") == [str(cat)]
    alone = [text for seen in server.seen if media_of(seen) is None for text in seen.texts]
    assert [text for text in alone if "file:" in text] == [], "a label is never embedded as if it were the text"


def test_a_picture_is_one_chunk_that_words_find_by_name(gallery: Callable[..., Gallery]) -> None:
    here = gallery()
    here.put("harbour-at-dawn.png")
    here.sync()

    with here.reading() as database:
        assert database.rows("SELECT start_line, end_line FROM chunks") == [(1, 1)]
        assert database.count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'harbour'") == 1


def test_only_a_picture_that_changed_is_sent_again(server: ProviderServer, gallery: Callable[..., Gallery]) -> None:
    here = gallery()
    here.put("a.png", b"one")
    here.put("b.png", b"two")
    here.sync()
    server.seen.clear()
    here.put("b.png", b"three")
    here.sync()

    assert [media and media[2] for media in map(media_of, server.seen)] == [b"three"]
    assert here.vectors() == [("gemini-embedding-2-preview", "active", 2)]


def test_without_a_provider_that_can_the_reason_is_kept_with_the_file(gallery: Callable[..., Gallery]) -> None:
    embedder = WordEmbedder()
    here = gallery(embedder)
    here.write("MEMORY.md", "text\n")
    here.put("cat.png")
    report = here.sync()

    assert report.vectors_waiting == 0
    assert here.refused() == {"cat.png": NO_MEDIA}
    assert embedder.seen == ["text"]


def test_keyword_search_alone_needs_no_reason(tmp_path: Path) -> None:
    here = Gallery(tmp_path, None)
    try:
        here.put("cat.png")
        assert here.sync().indexed == 1
        assert here.refused() == {}
    finally:
        here.worker.stop()


def test_many_files_that_nobody_embeds_do_not_hide_the_text_behind_them(
    gallery: Callable[..., Gallery], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.sync.embedding_feed.SORT_ROWS", 4)
    embedder = WordEmbedder()
    here = gallery(embedder)
    note = here.write("MEMORY.md", "text\n")
    os.utime(note, (1, 1))
    for number in range(20):
        here.put(f"{number}.png", b"%d" % number)
    here.sync()

    assert embedder.seen == ["text"]
    assert len(here.refused()) == 20


def test_the_provider_that_can_gets_what_another_could_not(gallery: Callable[..., Gallery]) -> None:
    first = gallery(WordEmbedder())
    first.put("cat.png")
    first.sync()
    first.worker.stop()
    second = gallery()
    second.sync()

    assert second.refused() == {}
    assert second.vectors() == [("gemini-embedding-2-preview", "active", 1)]


def test_the_fallback_has_the_text_alone(server: ProviderServer, gallery: Callable[..., Gallery]) -> None:
    server.rule = lambda seen: Answer({"error": {"code": 401, "message": "no"}}, 401)
    here = gallery(standby=WordEmbedder("small", dims=4))
    here.write("MEMORY.md", "text\n")
    here.put("cat.png")
    here.sync()

    assert here.vectors() == [("small", "active", 1)]
    assert here.refused() == {"cat.png": NO_MEDIA}


@pytest.fixture
def intake(tmp_path: Path) -> MemoryIntake:
    here = Gallery(tmp_path, None, limit=len(PICTURE))
    here.put("cat.png")
    return MemoryIntake(here.workspace, here.settings, home=tmp_path, counter=COUNTER)


def test_a_picture_is_read_for_the_provider(intake: MemoryIntake, tmp_path: Path) -> None:
    assert intake.read_media(str(tmp_path / "pictures/cat.png")) == PICTURE


def test_a_picture_that_became_a_symlink_is_not_read(intake: MemoryIntake, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    picture = tmp_path / "pictures/cat.png"
    picture.unlink()
    picture.symlink_to(secret)

    with pytest.raises(PermissionError, match="symlink"):
        intake.read_media(str(picture))


def test_a_folder_that_became_a_symlink_is_not_entered(intake: MemoryIntake, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "dog.png").write_bytes(b"secret")
    (tmp_path / "pictures/sub").symlink_to(elsewhere)

    with pytest.raises(PermissionError, match="symlink"):
        intake.read_media(str(tmp_path / "pictures/sub/dog.png"))


def test_a_picture_that_grew_beyond_the_limit_is_not_read(intake: MemoryIntake, tmp_path: Path) -> None:
    picture = tmp_path / "pictures/cat.png"
    picture.write_bytes(PICTURE + b"!")

    with pytest.raises(OSError, match="larger than"):
        intake.read_media(str(picture))


def test_a_picture_outside_the_extra_paths_is_not_read(intake: MemoryIntake, tmp_path: Path) -> None:
    (tmp_path / "other.png").write_bytes(b"secret")

    with pytest.raises(PermissionError):
        intake.read_media(str(tmp_path / "other.png"))
