"""Files as a tree of folders that open and close; it changes where entries change; rows are made of what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from core import record
from tui.file_entries import FileEntry

OPEN_ALL = 200
"""Up to so many files every folder is open at first."""


class FolderCounts(NamedTuple):
    """What lies below a folder."""

    files: int = 0
    chunks: int = 0
    waiting: int = 0
    failed: int = 0
    left_out: int = 0


class TreeRow(NamedTuple):
    """A row of the tree. `key` is the document's path, or that of a folder with a `/` at its end.

    `entry` is None for a folder; `name` may be several folders that lie alone in one another.
    """

    key: str
    name: str
    depth: int
    entry: FileEntry | None
    counts: FolderCounts
    is_open: bool = False


_NOTHING = FolderCounts()


@record(slots=True, eq=False)
class _Folder:
    key: str
    name: str
    parent: _Folder | None
    tally: list[int] = field(default_factory=lambda: [0] * len(_NOTHING))
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    sorted_folders: list[_Folder] | None = None
    sorted_files: list[FileEntry] | None = None
    drawn: tuple[int, int, list[TreeRow]] | None = None

    def folders_by_name(self) -> list[_Folder]:
        if self.sorted_folders is None:
            self.sorted_folders = [self.folders[name] for name in sorted(self.folders, key=_rank)]
        return self.sorted_folders

    def files_by_name(self) -> list[FileEntry]:
        if self.sorted_files is None:
            self.sorted_files = [self.files[name] for name in sorted(self.files, key=_rank)]
        return self.sorted_files

    def file_rows(self, depth: int, start: int) -> list[TreeRow]:
        """The rows of its files, made once for a place in the tree."""
        if self.drawn is None or self.drawn[:2] != (depth, start):
            self.drawn = depth, start, _rows_of(self.files_by_name(), depth, start)
        return self.drawn[2]

    def count(self, entry: FileEntry, sign: int) -> None:
        """Count an entry more or, with `sign` -1, less, here and in every folder above."""
        amounts = [sign * amount for amount in _amounts(entry)]
        folder: _Folder | None = self
        while folder is not None:
            folder.tally = [had + amount for had, amount in zip(folder.tally, amounts, strict=True)]
            folder = folder.parent


@record(frozen=True, slots=True)
class _Match:
    """What of a folder is seen: all of it, or the files that match and what lies below."""

    tallies: Mapping[str, Sequence[int]]
    files: Mapping[str, list[FileEntry]]


class FileTree:
    """Built from entries; `open` are the keys of the folders that are open and stays as it is when entries change."""

    def __init__(self, entries: Mapping[str, FileEntry], opened: Iterable[str] | None = None) -> None:
        self.entries: dict[str, FileEntry] = {}
        self._root = _Folder("", "", None)
        self._folders: dict[str, _Folder] = {"": self._root}
        self.open: set[str] = set(opened) if opened is not None else set()
        self.change(entries.items())
        if opened is None:
            few = len(entries) <= OPEN_ALL
            self.open = set(self._folders if few else self._chain(self._root.folders.values()))

    @staticmethod
    def _chain(folders: Iterable[_Folder]) -> list[str]:
        """The keys of folders, and of those that lie alone in them."""
        keys = []
        for folder in folders:
            keys.append(folder.key)
            while len(folder.folders) == 1 and not folder.files:
                folder = next(iter(folder.folders.values()))
                keys.append(folder.key)
        return keys

    # Changing

    def change(self, changes: Iterable[tuple[str, FileEntry | None]]) -> None:
        """Put entries in the place of others; None takes one out, and the folders that it leaves empty."""
        for path, entry in changes:
            before = self.entries.pop(path, None)
            folder = self._folder_of(path)
            folder.sorted_files = folder.drawn = None
            if before is not None:
                folder.count(before, -1)
            if entry is not None:
                self.entries[path] = entry
                folder.files[path] = entry
                folder.count(entry, 1)
            else:
                folder.files.pop(path, None)
                self._prune(folder)

    def _folder_of(self, path: str) -> _Folder:
        """The folder that holds a path, made where it is missing."""
        known = self._folders.get(path[: path.rfind("/") + 1])
        if known is not None:
            return known
        parent, key = self._root, ""
        for part in path.split("/")[:-1]:
            key += part + "/"
            folder = parent.folders.get(part)
            if folder is None:
                folder = parent.folders[part] = self._folders[key] = _Folder(key, part, parent)
                parent.sorted_folders = None
            parent = folder
        return parent

    def _prune(self, folder: _Folder) -> None:
        while folder.parent is not None and not folder.files and not folder.folders:
            del folder.parent.folders[folder.name]
            del self._folders[folder.key]
            self.open.discard(folder.key)
            folder = folder.parent
            folder.sorted_folders = None

    # Opening

    def toggle(self, key: str, is_open: bool | None = None) -> bool:
        """Open or close a folder; whether it is open now."""
        folder = self._folders.get(key)
        if folder is None:
            return False
        wanted = key not in self.open if is_open is None else is_open
        if wanted:
            self.open.update(self._chain([folder]))
        else:
            self.open.discard(key)
        return wanted

    def toggle_all(self) -> bool:
        """Close all folders if every one is open, else open all; whether they are open now."""
        opens = any(key not in self.open for key in self._folders if key)
        self.open = set(self._folders) if opens else set()
        return opens

    def reveal(self, path: str) -> bool:
        """Open every folder above a path; False when nothing is known of it."""
        if path not in self.entries and path not in self._folders:
            return False
        key = ""
        for part in path.rstrip("/").split("/")[:-1]:
            key += part + "/"
            self.open.add(key)
        return True

    def counts(self, key: str = "") -> FolderCounts:
        """What lies below a folder; "" is everything."""
        folder = self._folders.get(key)
        return FolderCounts(*folder.tally) if folder is not None else _NOTHING

    def is_folder(self, key: str) -> bool:
        return key in self._folders

    # Rows

    def make_rows(self) -> None:
        """Make the rows of all folders, so that they are at hand when one is opened."""
        opened, self.open = self.open, set(self._folders)
        self.rows()
        self.open = opened

    def rows(self, words: Sequence[str] = (), shown: str = "all") -> list[TreeRow]:
        """The rows that are seen: of open folders, or with `words` or another `shown` all that match, in their folders.

        On the first level files come first, below it folders.
        """
        match = self._matching(words, shown) if words or shown != "all" else None
        rows: list[TreeRow] = []
        pile: list[tuple[_Folder, int, int, bool]] = []
        self._spread(self._root, 0, match, rows, pile)
        while pile:
            folder, depth, start, is_folder = pile.pop()
            if not is_folder:
                rows += self._file_rows(folder, depth, start, match)
                continue
            while (alone := self._alone_in(folder, match)) is not None:
                folder = alone
            is_open = match is not None or folder.key in self.open
            tally = folder.tally if match is None else match.tallies[folder.key]
            rows.append(TreeRow(folder.key, folder.key[start:], depth, None, FolderCounts(*tally), is_open))
            if is_open:
                self._spread(folder, depth + 1, match, rows, pile)
        return rows

    def _spread(
        self,
        folder: _Folder,
        depth: int,
        match: _Match | None,
        rows: list[TreeRow],
        pile: list[tuple[_Folder, int, int, bool]],
    ) -> None:
        """Put what a folder holds on the pile, the first of it on top; files of the first level are rows at once."""
        start = len(folder.key)
        if folder is self._root:
            rows += self._file_rows(folder, depth, start, match)
        else:
            pile.append((folder, depth, start, False))
        pile += [(one, depth, start, True) for one in reversed(self._seen_folders(folder, match))]

    @staticmethod
    def _file_rows(folder: _Folder, depth: int, start: int, match: _Match | None) -> list[TreeRow]:
        if match is None:
            return folder.file_rows(depth, start)
        return _rows_of(match.files.get(folder.key, ()), depth, start)

    @staticmethod
    def _seen_folders(folder: _Folder, match: _Match | None) -> list[_Folder]:
        folders = folder.folders_by_name()
        return folders if match is None else [one for one in folders if one.key in match.tallies]

    def _alone_in(self, folder: _Folder, match: _Match | None) -> _Folder | None:
        """The folder that is all there is to see in a folder."""
        if folder.files if match is None else match.files.get(folder.key):
            return None
        seen = self._seen_folders(folder, match)
        return seen[0] if len(seen) == 1 else None

    def _matching(self, words: Sequence[str], shown: str) -> _Match:
        tallies: dict[str, list[int]] = {}
        files: dict[str, list[FileEntry]] = {}
        for folder in self._folders.values():
            found = folder.files_by_name()
            if shown != "all":
                found = [entry for entry in found if entry.is_shown(shown)]
            for word in words:
                found = [entry for entry in found if word in entry.plain]
            if not found:
                continue
            files[folder.key] = found
            whole = len(found) == len(folder.files) and not folder.folders
            amounts = folder.tally if whole else [sum(column) for column in zip(*map(_amounts, found), strict=True)]
            above: _Folder | None = folder
            while above is not None:
                had = tallies.get(above.key, _NOTHING)
                tallies[above.key] = [one + amount for one, amount in zip(had, amounts, strict=True)]
                above = above.parent
        return _Match(tallies, files)


def _amounts(entry: FileEntry) -> tuple[int, ...]:
    """What an entry adds to the counts of its folders."""
    return (
        entry.document is not None,
        entry.chunks,
        entry.waiting,
        entry.state == "failed",
        entry.state in ("skipped", "ignored"),
    )


def _rows_of(entries: Iterable[FileEntry], depth: int, start: int) -> list[TreeRow]:
    return [TreeRow(entry.path, entry.path[start:], depth, entry, _NOTHING) for entry in entries]


def _rank(name: str) -> tuple[str, str]:
    return name.casefold(), name
