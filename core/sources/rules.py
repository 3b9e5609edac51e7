"""The rules of what is memory, by names alone: which files, which folders are never entered, what a name dates."""

# ruff: noqa: PTH100, PTH118, PTH122
# Paths stay strings: names on disk need not be text.

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

MEMORY_NAMES = ("MEMORY.md", "memory.md")
"""Names of the memory file in the workspace root; the first that is there counts."""
MEMORY_FOLDER = "memory"
IGNORED_FOLDERS = frozenset({".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__"})

MediaKind = Literal["image", "audio"]

_MEDIA: dict[str, MediaKind] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic", ".heif"), "image"),
    **dict.fromkeys((".mp3", ".wav", ".ogg", ".opus", ".m4a", ".aac", ".flac"), "audio"),
}


class Multimodal(Protocol):
    """The settings that say which images and audio files of extra paths count."""

    @property
    def modalities(self) -> Sequence[str]: ...

    @property
    def max_file_bytes(self) -> int: ...


def is_ignored(name: str) -> bool:
    """Whether folders of this name are never entered."""
    return name.casefold() in IGNORED_FOLDERS


def is_markdown(name: str) -> bool:
    return name.lower().endswith(".md")


def media_kind(name: str) -> MediaKind | None:
    """Image or audio, by the name's ending."""
    return _MEDIA.get(os.path.splitext(name)[1].lower())


def extra_root(extra: str, *, workspace: Path, home: Path) -> str | None:
    """An extra path as an absolute one: `~` is `home`, relative ones start at the workspace; None if it is blank."""
    written = extra.strip()
    if not written or "\0" in written:
        return None
    if written == "~" or written.startswith("~/"):
        written = os.path.join(home, written[2:])
    return os.path.abspath(os.path.join(workspace, written))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def shown(path: str) -> str:
    """A path as text: what is not valid UTF-8 becomes U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
