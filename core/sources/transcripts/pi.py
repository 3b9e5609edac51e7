"""pi: one JSONL file for each session, a tree of entries."""

from __future__ import annotations

from core.sources.transcripts.found import Found, Listing, is_folder
from core.sources.transcripts.places import Place
from core.sources.transcripts.tree import TreeParser


class PiParser(TreeParser):
    dialect = "pi"


def session_id(name: str) -> str:
    """The session that a file's name tells: what stands between the time stamp and `.jsonl`."""
    stem = name.partition(".jsonl")[0]
    return stem.rpartition("_")[2] or stem


def look(place: Place, into: Listing) -> None:
    """The sessions of all folders that pi ran in."""

    def walk(folder: str, depth: int) -> None:
        for entry in into.entries("pi", folder, optional=place.optional, top=depth == 0):
            if is_folder(entry):
                if depth < 3:
                    walk(entry.path, depth + 1)
            elif entry.name.endswith(".jsonl") and (stat := into.file_stat(entry)) is not None:
                into.found.append(Found("pi", session_id(entry.name), entry.path, stat, rank=(0, entry.path)))

    walk(place.path, 0)
