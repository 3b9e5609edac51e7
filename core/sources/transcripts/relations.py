"""Which files are the same session, and which repeat messages of another: archives, copies, forks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from core.records import record
from core.sources.transcripts.claude_code import DIALECT as CLAUDE
from core.sources.transcripts.found import Found, Origin
from core.sources.transcripts.pi import session_id
from core.sources.transcripts.records import unpacked

_FIRST_HEAD = 16 << 10
_WHOLE_HEAD = 512 << 10
_SESSION = re.compile(rb'"type"\s*:\s*"session"')
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,120})"')
_PARENT_SESSION = re.compile(rb'"parentSession"\s*:\s*"([^"\\]{1,1000})"')
_USER = re.compile(rb'"type"\s*:\s*"user"')
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,120})"')
_FORKED_FROM = re.compile(rb'"(?:forked_from_id|parent_thread_id)"\s*:\s*"([^"\\]{1,120})"')
_GEMINI_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,120})"')


@record(frozen=True, slots=True)
class Head:
    """What the first lines of a file tell: its own id, the session it comes from, the first message of a person."""

    id: str = ""
    parent: str = ""
    first: str = ""


class Relations:
    """Keeps the heads of files, so that each is read once."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, int, int], Head] = {}

    def settle(self, found: Iterable[Found]) -> list[Found]:
        """Each session once: the best file of each under its plain id, older parts of it under ids of their own.

        Files that repeat messages get their `origins`, and a stat key that changes when these do.
        """
        by_id: dict[tuple[str, str], list[Found]] = {}
        files: set[tuple[int, ...] | Origin] = set()
        for one in found:
            # Two names of one file; its device may be marked.
            same = (one.stat.inode, one.stat.size, one.stat.mtime_ns)
            identity = one.place if one.within else same
            if identity in files:
                continue
            files.add(identity)
            one = self._with_own_id(one)
            by_id.setdefault((one.dialect, one.id), []).append(one)
        settled: list[Found] = []
        for group in by_id.values():
            settled.extend(_one_each(group) if len(group) > 1 else group)
        linked = self._with_forks(settled)
        return sorted(linked, key=lambda one: one.path)

    def _with_own_id(self, one: Found) -> Found:
        """Names that are no ids: cold archives and Gemini's are told apart by what is in them."""
        if one.dialect == "gemini" or (one.dialect == "openclaw" and one.rank[0] == 9):
            head = self._head(one)
            return replace(one, id=head.id) if head.id else one
        return one

    def _with_forks(self, settled: list[Found]) -> list[Found]:
        by_id = {(one.dialect, one.id): one for one in settled}
        families: dict[tuple[str, str], list[Found]] = {}
        origins: dict[str, list[Origin]] = {}
        for one in settled:
            if one.dialect == CLAUDE and one.kind == "main":
                first = self._head(one).first
                if first:
                    families.setdefault((one.absolute.rpartition("/")[0], first), []).append(one)
            elif one.dialect in ("codex", "pi", "openclaw") and not one.within:
                parent = by_id.get((one.dialect, self._head(one).parent))
                if parent is not None and parent.path != one.path:
                    origins.setdefault(one.path, []).append(parent.place)
        for family in families.values():
            family.sort(key=lambda one: one.id)
            for number, one in enumerate(family[1:], 1):
                origins.setdefault(one.path, []).extend(other.place for other in family[:number])
        return [_with_origins(one, origins.get(one.path, ())) for one in settled]

    def _head(self, one: Found) -> Head:
        key = (one.absolute, one.stat.inode, 0)
        known = self._heads.get(key)
        if known is not None:
            return known
        try:
            head, is_whole = _read_head(one)
        except OSError:
            return Head()
        if is_whole:
            self._heads[key] = head
        return head


def _read_head(one: Found) -> tuple[Head, bool]:
    """The head, and whether more of the file would not change it."""
    read_heads: dict[str, Callable[[bytes], Head]] = {
        CLAUDE: _claude_head,
        "codex": _codex_head,
        "gemini": _gemini_head,
    }
    read_head = read_heads.get(one.dialect, _tree_head)
    with unpacked(one.absolute) as read:
        data = read(_FIRST_HEAD)
        head = read_head(data)
        while head == Head() and len(data) < _WHOLE_HEAD and (more := read(_WHOLE_HEAD - len(data))):
            data += more
            head = read_head(data)
    return head, (head != Head() and b"\n" in data) or len(data) >= _WHOLE_HEAD


def _claude_head(data: bytes) -> Head:
    for line in data.split(b"\n"):
        if _USER.search(line, 0, 4096):
            uuid = _UUID.search(line)
            if uuid is not None:
                return Head(first=_text(uuid))
    return Head()


def _codex_head(data: bytes) -> Head:
    line = data.partition(b"\n")[0]
    own = _ID.search(line)
    return Head(id=_text(own), parent=_text(_FORKED_FROM.search(line))) if own is not None else Head()


def _tree_head(data: bytes) -> Head:
    line = data.partition(b"\n")[0]
    if _SESSION.search(line, 0, 4096) is None:
        return Head()
    parent = _text(_PARENT_SESSION.search(line)).rpartition("/")[2]
    return Head(id=_text(_ID.search(line)), parent=session_id(parent) if parent else "")


def _gemini_head(data: bytes) -> Head:
    return Head(id=_text(_GEMINI_ID.search(data)))


def _text(found: re.Match[bytes] | None) -> str:
    return found[1].decode("utf-8", "replace") if found is not None else ""


def _one_each(group: list[Found]) -> list[Found]:
    """Files of one session: the best keeps the id, mere copies go, the others repeat what better ones hold."""
    group.sort(key=lambda one: one.rank)
    best = group[0]
    kept = [best]
    for one in group[1:]:
        if any(one.variant and one.variant == other.variant for other in kept):
            continue
        if one.alike and one.kind != "subagent":
            continue
        name = one.variant or _short(one.absolute)
        kept.append(replace(one, id=f"{one.id}.{name}"))
    if best.kind == "subagent":  # short ids that met by chance
        return kept
    return [_with_origins(one, [other.place for other in kept[:number]]) for number, one in enumerate(kept)]


def _with_origins(one: Found, origins: Iterable[Origin]) -> Found:
    extra = tuple(origin for origin in dict.fromkeys(origins) if origin not in one.origins)
    if not extra:
        return one
    return replace(one, origins=(*one.origins, *extra)).marked(extra)


def _short(path: str) -> str:
    """A short name for a file, from the folder it lies in."""
    parts = path.split("/")
    name = parts[-3] if len(parts) > 2 and parts[-2] == "subagents" else parts[-2] if len(parts) > 1 else "copy"
    return re.sub(r"[^A-Za-z0-9-]", "-", name)[-40:].strip("-") or "copy"
