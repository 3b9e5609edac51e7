"""Documents by the paths that people and agents name: which one is meant, and what may be read of it."""

from __future__ import annotations

import errno
import os
import threading
import unicodedata
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from core.backends.readers import ReaderPool
from core.errors import NotAllowed, NotIndexed, StoreError, StoreMissing, Undecodable
from core.settings.model import Settings
from core.types import Citation, GetResult

# A search pays for no more than it uses.
if TYPE_CHECKING:
    from core.sessions import Sessions
    from core.sources.transcripts.view import SessionView
    from core.text.lines import LineSource

_SESSIONS = "sessions/"


class Forgotten(FileNotFoundError):
    """A document that was forgotten: for whoever reads it is not there; `strerror` says how to undo that."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ENOENT, f"it was forgotten; memdeck forget --undo {quote(path)} lets it come back", path)


class ByPath:
    """One memory's documents by their paths; reads nothing that was forgotten."""

    def __init__(
        self,
        settings: Settings,
        readers: ReaderPool,
        sessions: Callable[[], Sessions | None],
        *,
        workspace: Path,
        home: Path,
    ) -> None:
        self._settings = settings
        self._readers = readers
        self._find_sessions = sessions
        self._workspace = workspace
        self._base = os.path.abspath(workspace)  # noqa: PTH100
        self._home = home

    # -- reading

    def get(self, path: str, from_line: int | None, lines: int | None) -> GetResult:
        """Lines of a document that may be read; never raises for a bad path or range."""
        from core.sources.reading import read_range

        for name, value in (("from", from_line), ("lines", lines)):
            if value is not None and value < 1:
                return GetResult(path, "not_allowed", error=f"{name} counts from 1; got {value}")
        try:
            if (session := self._session(path)) is not None:
                return session[0].get(session[1], from_line, lines)
            with self.lines(path) as source:
                return replace(read_range(source, from_line, lines), path=path)
        except NotAllowed as error:
            return GetResult(path, "not_allowed", error=str(error))
        except Forgotten as error:
            return GetResult(path, "missing", error=error.strerror)
        except FileNotFoundError:
            return GetResult(path, "missing", error="there is no such file")
        except PermissionError:
            return GetResult(path, "denied", error="the file may not be read by this user")
        except Undecodable as error:
            return GetResult(path, "denied", error=str(error))
        except OSError as error:
            return GetResult(path, "denied", error=error.strerror or str(error))

    def lines(self, path: str) -> LineSource:
        """The document's lines, for a viewer. Raises NotAllowed, OSError, Undecodable."""
        if (session := self._session(path)) is not None:
            return session[0].lines(session[1])
        from core.sources.rules import media_kind
        from core.sources.workspace import open_readable
        from core.text.lines import LineSource

        absolute = self.absolute(path)
        self._refuse_forgotten(self._document_path(os.fspath(absolute)))
        values = self._settings
        descriptor = open_readable(
            path,
            workspace=self._workspace,
            extra_paths=values.extra_paths,
            home=self._home,
            multimodal=values.multimodal if values.multimodal.enabled else None,
        )
        kind = media_kind(path)
        if kind is not None:
            os.close(descriptor)
            return LineSource.from_text(f"{kind.capitalize()} file: {path}\n")
        return LineSource.from_descriptor(descriptor, absolute)

    def session(self, path: str, near: int | None, cancel: threading.Event | None) -> SessionView:
        """A transcript, masked. Raises NotAllowed, OSError, Undecodable, SyncCancelled."""
        sessions = self._find_sessions()
        if sessions is None:
            raise NotAllowed("transcripts are not read", remedy="name their agents in the setting sessions.agents")
        self._refuse_forgotten(path)
        return sessions.view(path, near, cancel)

    def absolute(self, path: str) -> Path:
        """Where a document's path lies on disk. Raises NotAllowed, FileNotFoundError (transcripts)."""
        sessions = self._find_sessions() if path.startswith(_SESSIONS) else None
        if sessions is not None:
            return Path(sessions.reader.find(path).absolute)
        from core.sources.workspace import resolve_readable

        values = self._settings
        return resolve_readable(
            path,
            workspace=self._workspace,
            extra_paths=values.extra_paths,
            home=self._home,
            multimodal=values.multimodal if values.multimodal.enabled else None,
        )

    def _session(self, path: str) -> tuple[Sessions, str] | None:
        """The transcript that a path names, by its document path or by its file; None for what is no transcript.

        Raises Forgotten.
        """
        if not path.startswith((_SESSIONS, "/")):
            return None
        sessions = self._find_sessions()
        if sessions is None:
            return None
        if path.startswith("/"):
            try:
                self.absolute(path)
            except NotAllowed:
                found = sessions.documents_in(path)
                if not found:
                    return None
                if len(found) > 1:
                    raise _several(path, found) from None
                path = found[0]
            else:
                return None
        self._refuse_forgotten(path)
        return sessions, path

    def _refuse_forgotten(self, path: str) -> None:
        """Raises Forgotten. Where no index can be read, nothing is known to be forgotten."""
        from core.store.forgetting import is_forgotten

        try:
            with self._readers.lease() as reader:
                forgotten = is_forgotten(reader.database, path)
        except StoreError:
            return
        if forgotten:
            raise Forgotten(path)

    # -- naming

    def indexed(self, given: str) -> str:
        """The path of the document in the index, or forgotten before, that a spelling means.

        Spellings are those that `get` reads and a search prints: relative or absolute, with or without lines, in any
        Unicode form, the file of a transcript. Raises NotIndexed, NotAllowed for a folder, StoreError.
        """
        indexed, forgotten = self._known()
        found = self._meant(given, (*indexed, *forgotten))
        if found is None:
            raise NotIndexed(
                f"{given}: it is not in the index", remedy="memdeck search QUERY shows the paths there are."
            )
        return found

    def forgotten(self, given: str) -> str:
        """The path of the forgotten document that a spelling means. Raises NotIndexed, NotAllowed, StoreError."""
        found = self._meant(given, self._known()[1])
        if found is None:
            raise NotIndexed(f"{given}: it was not forgotten", remedy="memdeck index reads what is not indexed yet.")
        return found

    def _known(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The documents in the index, and those that were forgotten: path and where it lies, as far as is known."""
        from core.store.forgetting import forgotten

        try:
            with self._readers.lease() as reader:
                return reader.documents.places(), [(path, path) for _, path in forgotten(reader.database)]
        except StoreMissing:
            return [], []

    def _meant(self, given: str, known: Sequence[tuple[str, str]]) -> str | None:
        """The one of known documents that a spelling means; a path as it stands comes before path and lines."""
        paths: dict[str, str] = {}
        places: dict[str, list[str]] = {}
        for path, absolute in known:
            paths[self._key(path)] = path
            places.setdefault(self._key(absolute), []).append(path)
        cited = Citation.parse(given)
        for spelling in (given, *([cited.path] if cited is not None else [])):
            key = self._key(spelling)
            if key in paths:
                return paths[key]
            found = places.get(key) or self._transcripts(spelling, set(paths.values()))
            if len(found) > 1:
                raise _several(spelling, found)
            if found:
                return found[0]
            if os.path.isdir(key) or any(other.startswith(f"{key}/") for other in paths):  # noqa: PTH112
                raise NotAllowed(f"{spelling}: it is a folder", remedy="Name its documents one by one.")
        return None

    def _transcripts(self, spelling: str, known: Set[str]) -> list[str]:
        """Of the known documents those in a transcript's file."""
        sessions = self._find_sessions() if spelling.startswith("/") else None
        return [path for path in sessions.documents_in(spelling) if path in known] if sessions is not None else []

    def _key(self, path: str) -> str:
        """What all spellings of a path have in common."""
        from core.store.texts import storable

        whole = path if path.startswith("/") else f"{self._base}/{path}"
        if "//" in whole or "/." in whole or whole.endswith("/"):
            whole = "/" + "/".join(name for name in whole.split("/") if name not in ("", "."))
        return whole if whole.isascii() else unicodedata.normalize("NFC", storable(whole))

    def _document_path(self, absolute: str) -> str:
        """The path under which a file is indexed."""
        return absolute.removeprefix(f"{self._base}/")


def _several(path: str, documents: list[str]) -> NotAllowed:
    return NotAllowed(f"{path}: {len(documents)} documents lie in it", remedy=f"Name one of them: {documents[0]}")
