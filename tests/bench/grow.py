"""Grow a workspace: `grow.py SRC OUT --files 3000 --mb 22` makes a larger one from the Markdown of a real one.

The source's files come first, as they are. The rest are new documents whose paragraphs are drawn from all of them, so
that words, headings and languages are as frequent as in the source while hardly a chunk is twice there. The same
arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_PARAGRAPHS = re.compile(r"\n(?:[ \t]*\n)+")
_FOLDERS = ("", "projects/", "people/", "reading/", "projects/archive/", "howto/")
_PARAGRAPH_BYTES = 20_000


def markdown_files(root: Path) -> list[Path]:
    """All Markdown files below `root`, in a fixed order."""
    return sorted(path for path in root.rglob("*.md") if path.is_file() and not path.is_symlink())


def paragraphs(files: list[Path]) -> list[str]:
    """Paragraphs of all files, each once, without very long ones."""
    seen: dict[str, None] = {}
    for path in files:
        for part in _PARAGRAPHS.split(path.read_text("utf-8", "replace")):
            if part.strip() and len(part) <= _PARAGRAPH_BYTES:
                seen.setdefault(part.strip("\n"))
    return list(seen)


def grown_document(stock: list[str], target_bytes: int, chance: random.Random) -> str:
    """A document of about `target_bytes` bytes under a heading of its own."""
    words = chance.choice(stock).split()[:6]
    parts = [f"# {' '.join(words)[:80].lstrip('#> -*')}".rstrip()]
    held = len(parts[0].encode())
    while held < target_bytes:
        part = chance.choice(stock)
        parts.append(part)
        held += len(part.encode()) + 2
    return "\n\n".join(parts) + "\n"


def names(chance: random.Random) -> Iterator[str]:
    """Paths below memory/: dated notes in a few folders, none twice."""
    day = datetime.date(2024, 1, 1)
    number = 0
    while True:
        number += 1
        if chance.random() < 0.6:
            day += datetime.timedelta(days=chance.randrange(3))
        yield f"memory/grown/{chance.choice(_FOLDERS)}{day.isoformat()}-{number:05}.md"


def grow(source: Path, target: Path, *, files: int, size: int, seed: int) -> dict[str, int]:
    """Fill `target` with `files` Markdown files of `size` bytes in all (both at least); returns what it holds."""
    originals = markdown_files(source)
    if not originals:
        raise SystemExit(f"grow.py: no Markdown in {source}")
    chance = random.Random(seed)
    stock = paragraphs(originals)
    written = held = 0
    for path in originals[:files]:
        relative = path.relative_to(source)
        inside = relative.parts[0] == "memory" or str(relative) in ("MEMORY.md", "memory.md")
        copy = target / (relative if inside else Path("memory") / relative)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        copy.write_bytes(data)
        written += 1
        held += len(data)
    for name in names(chance):
        if written >= files:
            break
        mean = max(200, (size - held) // (files - written))
        text = grown_document(stock, int(mean * chance.uniform(0.4, 1.4)), chance)
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        written += 1
        held += len(text.encode())
    return {"files": written, "bytes": held, "copied": min(len(originals), files), "paragraphs": len(stock)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--mb", type=float, default=22.0, help="megabytes in all (10^6 bytes)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.target.exists() and any(options.target.iterdir()):
        parser.error(f"{options.target} is not empty")
    made = grow(options.source, options.target, files=options.files, size=int(options.mb * 1e6), seed=options.seed)
    if options.json:
        print(json.dumps(made))
    else:
        print(f"{made['files']:,} files, {made['bytes'] / 1e6:.1f} MB ({made['copied']:,} copied)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
