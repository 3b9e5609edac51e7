"""How a source's files become documents and chunks: scan, read, chunk. One intake for each source."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from core.errors import NotAllowed
from core.identity import CHUNKING_VERSION
from core.records import record
from core.sources.rules import MEMORY_FOLDER, MEMORY_NAMES, extra_root, is_ignored, is_markdown, media_kind
from core.sources.workspace import open_readable, read_document, scan_paths, scan_workspace
from core.text.analysis import ANALYSIS_VERSION
from core.types import Chunk, Document, Scan, ScannedFile, Source

# A search scans; what reads, cuts and watches is imported where it begins.
if TYPE_CHECKING:
    from core.settings.model import Settings
    from core.store.document_reader import StoredDocument
    from core.sync.watching import WatchRoot
    from core.text.tokens import TokenCounter


@record(frozen=True, slots=True)
class Prepared:
    """A document ready to be written: its chunks, and for each the sha256 of what the embedder will get.

    The first `kept` chunks stay as they are in the index, where the document's hash is `base`; these come after them.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    embed_hashes: tuple[bytes, ...]
    kept: int = 0
    base: str = ""


class Intake(Protocol):
    """One source. `build` names everything that shapes its rows besides the text, so that a change is noticed."""

    @property
    def source(self) -> Source: ...

    @property
    def build(self) -> str: ...

    @property
    def scope(self) -> str:
        """Whose documents they are, in words, where the settings name somebody; else ""."""
        ...

    def watch_roots(self) -> list[WatchRoot]:
        """Where changes of this source can be noticed."""
        ...

    def scan(self, cancel: threading.Event | None = None) -> Scan:
        """All files of the source."""
        ...

    def scan_paths(self, paths: Iterable[str]) -> Scan:
        """Only the given absolute paths, or what lies below them; what is not there is left out."""
        ...

    def read(self, file: ScannedFile, fresh: bool = False) -> Document:
        """`fresh` goes on from no earlier reading. Raises OSError, Undecodable."""
        ...

    def prepare(self, document: Document) -> Prepared: ...

    def warm_up(self) -> None:
        """Load what preparing documents needs, in a moment when nobody waits. Raises MemdeckError."""
        ...

    def kept_places(self) -> tuple[str, ...]:
        """Absolute paths of files and folders whose documents stay in the index when their file is gone."""
        ...


@runtime_checkable
class KeepsText(Protocol):
    """An intake whose documents may outlive their file."""

    @property
    def build(self) -> str: ...

    def renew(self, document: StoredDocument, chunks: Sequence[Chunk]) -> Prepared:
        """A document whose file is gone, built anew from its chunks as the settings are now."""
        ...


@runtime_checkable
class ReadsMedia(Protocol):
    """An intake among whose documents may be images and sound."""

    def read_media(self, path: str) -> bytes:
        """The bytes of such a document, for the provider that embeds it. Called on its threads; raises OSError."""
        ...


class MemoryIntake:
    """Markdown of the workspace and of the extra paths; images and sound of these where they are wanted."""

    source: Source = "memory"
    scope = ""

    def __init__(self, workspace: Path, settings: Settings, *, home: Path, counter: TokenCounter) -> None:
        self._workspace = workspace
        self._extra_paths = settings.extra_paths
        self._multimodal = settings.multimodal if settings.multimodal.enabled else None
        self._tokens = settings.chunking.tokens
        self._overlap = settings.chunking.overlap
        self._home = home
        self._counter = counter

    @property
    def build(self) -> str:
        return build_key("memory", self._tokens, self._overlap)

    def watch_roots(self) -> list[WatchRoot]:
        from core.sync.watching import WatchRoot

        workspace = str(self._workspace.absolute())
        roots = [
            WatchRoot(workspace, False, MEMORY_NAMES.__contains__, _enters_none),
            WatchRoot(f"{workspace}/{MEMORY_FOLDER}", True, is_markdown, _enters),
        ]
        for extra in self._extra_paths:
            path = extra_root(extra, workspace=self._workspace, home=self._home)
            if path is None:
                continue
            if is_markdown(path) and not Path(path).is_dir():
                name = Path(path).name
                roots.append(WatchRoot(str(Path(path).parent), False, partial(eq, name), _enters_none))
            else:
                roots.append(WatchRoot(path, True, self._counts, _enters))
        return roots

    def _counts(self, name: str) -> bool:
        return is_markdown(name) or (self._multimodal is not None and media_kind(name) is not None)

    def scan(self, cancel: threading.Event | None = None) -> Scan:
        return scan_workspace(
            self._workspace, self._extra_paths, home=self._home, multimodal=self._multimodal, cancel=cancel
        )

    def scan_paths(self, paths: Iterable[str]) -> Scan:
        return scan_paths(self._workspace, self._extra_paths, paths, home=self._home, multimodal=self._multimodal)

    def read(self, file: ScannedFile, fresh: bool = False) -> Document:
        return read_document(file)

    def prepare(self, document: Document) -> Prepared:
        from core.chunking import chunk_document, embedding_hash, embedding_text

        if media_kind(document.path) is not None:
            return _prepared_media(document)
        chunks = chunk_document(document.text, tokens=self._tokens, overlap=self._overlap, counter=self._counter)
        hashes = tuple(embedding_hash(embedding_text(chunk)) for chunk in chunks)
        return Prepared(document, tuple(chunks), hashes)

    def warm_up(self) -> None:
        self._counter.load()

    def kept_places(self) -> tuple[str, ...]:
        return ()

    def read_media(self, path: str) -> bytes:
        """The bytes of an image or a recording, by no symlink and within the size limit. Raises OSError."""
        try:
            descriptor = open_readable(
                path,
                workspace=self._workspace,
                extra_paths=self._extra_paths,
                home=self._home,
                multimodal=self._multimodal,
            )
        except NotAllowed as error:
            raise PermissionError(errno.EACCES, str(error)) from error
        limit = self._multimodal.max_file_bytes if self._multimodal is not None else 0
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit} bytes")
        return data


def _prepared_media(document: Document) -> Prepared:
    """The one chunk of an image or a recording: its text names it, its hash is that of the content."""
    from core.embedding.multimodal import media_hash, mime_type_of

    chunk = Chunk(0, 1, 1, document.text)
    return Prepared(document, (chunk,), (media_hash(document.text, mime_type_of(document.path) or "", document.hash),))


def _enters(name: str) -> bool:
    return not is_ignored(name)


def _enters_none(name: str) -> bool:
    return False


def build_key(source: Source, tokens: int, overlap: int, *extra: str) -> str:
    """What shapes the rows of a source: budget and overlap in tokens, and a hash that covers the rest."""
    parts = (source, str(tokens), str(overlap), str(CHUNKING_VERSION), str(ANALYSIS_VERSION), *extra)
    return f"{tokens}/{overlap} {hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:8]}"
